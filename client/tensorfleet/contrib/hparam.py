"""`tf.contrib.training.HParams`: the hyperparameters of a model, by name and with types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)(?:\[\s*(?P<index>\d+)\s*\])?\s*=\s*(?:\[(?P<list>[^\]]*)\]|(?P<value>[^,\[]*))\s*(?:,|$)"
)


def parse_values(values: str, type_map: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Hyperparameters from a text such as `rate=0.1,sizes=[1,2],names[1]=x`.

    Args:
        type_map: the type of each hyperparameter; for a list that of its elements.

    Returns:
        Values by name; for single elements of a list a dict of values by index.

    Raises:
        ValueError: the text has another form, a name is unknown or repeated, or a value has another type.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name, index = match["name"], match["index"]
        if name not in type_map:
            raise ValueError(f"Unknown hyperparameter type for {name}")
        kind = type_map[name]
        if match["list"] is not None:
            if index is not None or name in found:
                raise ValueError(f"Malformed or repeated hyperparameter {name} in {values}")
            found[name] = [_typed(name, kind, v.strip()) for v in match["list"].split(",") if v.strip()]
        elif index is None:
            if name in found:
                raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
            found[name] = _typed(name, kind, match["value"].strip())
        else:
            elements = found.setdefault(name, {})
            if not isinstance(elements, dict) or int(index) in elements:
                raise ValueError(f"Multiple assignments to variable '{name}[{index}]' in {values}")
            elements[int(index)] = _typed(name, kind, match["value"].strip())
    return found


def _typed(name: str, kind: Callable[[Any], Any], text: str) -> Any:
    try:
        if kind is bool:
            known = {"true": True, "1": True, "false": False, "0": False}
            return known[text.lower()]
        return kind(text)
    except (ValueError, KeyError):
        wanted = getattr(kind, "__name__", kind)
        raise ValueError(
            f"Could not parse hyperparameter '{name}' of type '{wanted}' with value '{text}'"
        ) from None


class HParams:
    """Hyperparameters as attributes, with the types of their first values (`HParams`).

    Args:
        hparam_def, model_structure: must be None.
        kwargs: names and values: numbers, bools, strings, or lists of one of these.
    """

    _hparam_types: dict[str, tuple[Any, bool]]

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None or model_structure is not None:
            raise NotImplementedError("HParams take names and values; hparam_def is not part of TensorFleet.")
        self._hparam_types = {}
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a hyperparameter. Raises ValueError if the attribute exists, or for an empty list."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Sets a hyperparameter. Raises KeyError for an unknown name; ValueError for a list instead of a
        single value, or the reverse.
        """
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list) != is_list:
            wanted = "pass a list for multi" if is_list else "not pass a list for single"
            raise ValueError(f"Must {wanted}-valued parameter: {name}")
        setattr(self, name, [_cast(name, kind, v) for v in value] if is_list else _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Removes a hyperparameter."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Sets hyperparameters from a text such as `rate=0.1,sizes=[1,2]`; returns the object itself."""
        types = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Sets hyperparameters; elements of lists by a dict from indices. Returns the object itself."""
        for name, value in values_dict.items():
            if isinstance(value, dict):
                elements = list(getattr(self, name))
                for index, element in value.items():
                    elements[index] = element
                value = elements
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Sets hyperparameters from a JSON object; returns the object itself."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """All hyperparameters as a JSON object."""
        plain = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(plain, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """All hyperparameters by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """A hyperparameter; `default` if there is none of this name."""
        return getattr(self, key) if key in self._hparam_types else default

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def _cast(name: str, kind: Any, value: Any) -> Any:
    """The value in the hyperparameter's type. Raises ValueError if information would be lost."""
    if kind is type(None) or isinstance(value, kind):
        return value
    loses = (
        (issubclass(kind, str) != isinstance(value, (str, bytes)))
        or (issubclass(kind, bool) != isinstance(value, bool))
        or (issubclass(kind, int) and not isinstance(value, int))
    )
    if loses:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)
