"""Objects of Keras as configurations, and back; names of custom objects."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

_C = TypeVar("_C", bound=Any)
_CUSTOM: dict[str, Any] = {}


def get_custom_objects() -> dict[str, Any]:
    """The custom objects by name, which configurations may name; a dict that programs may change."""
    return _CUSTOM


@contextlib.contextmanager
def custom_object_scope(*args: Any) -> Iterator[None]:
    """A `with` block in which configurations may name these custom objects, dicts of them by name."""
    before = dict(_CUSTOM)
    for objects in args:
        _CUSTOM.update(objects)
    try:
        yield
    finally:
        _CUSTOM.clear()
        _CUSTOM.update(before)


CustomObjectScope = custom_object_scope
_REGISTERED_NAMES: dict[Any, str] = {}


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable[[_C], _C]:
    """A decorator by which configurations name a class or function `package>name`, and find it again
    (`tf.keras.utils.register_keras_serializable`).

    Args:
        name: by default that of the class or function.

    Raises:
        ValueError: the name is taken, or a class has no `get_config`.
    """

    def register(arg: _C) -> _C:
        registered = f"{package}>{arg.__name__ if name is None else name}"
        if inspect.isclass(arg) and not hasattr(arg, "get_config"):
            raise ValueError("Cannot register a class that does not have a get_config() method.")
        if registered in _CUSTOM:
            raise ValueError(f"{registered} has already been registered to {_CUSTOM[registered]}")
        if arg in _REGISTERED_NAMES:
            raise ValueError(f"{arg} has already been registered to {_REGISTERED_NAMES[arg]}")
        _CUSTOM[registered] = arg
        _REGISTERED_NAMES[arg] = registered
        return arg

    return register


def get_registered_name(obj: Any) -> Any:
    """The name under which a class or function is registered, else its own name."""
    try:
        return _REGISTERED_NAMES[obj]
    except (KeyError, TypeError):
        return obj.__name__


def get_registered_object(name: str, custom_objects: Any = None, module_objects: Any = None) -> Any:
    """The class or function that has a name, registered or in one of the dicts; None if there is none."""
    for objects in (_CUSTOM, custom_objects or {}, module_objects or {}):
        if name in objects:
            return objects[name]
    return None


def serialize_keras_object(instance: Any) -> Any:
    """The class name and configuration of an object; of a function, its name."""
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": get_registered_name(type(instance)), "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return get_registered_name(instance)
    raise ValueError(f"Cannot serialize {instance}")


def deserialize_keras_object(
    identifier: Any,
    module_objects: Any = None,
    custom_objects: Any = None,
    printable_module_name: str = "object",
) -> Any:
    """The object of a configuration, or the function or class of a name.

    Raises:
        ValueError: a name that is not known.
    """
    if identifier is None:
        return None
    known = {**(module_objects or {}), **_CUSTOM, **(custom_objects or {})}
    if isinstance(identifier, dict):
        if "class_name" not in identifier or "config" not in identifier:
            raise ValueError(f"Improper config format: {identifier}")
        cls = _find(identifier["class_name"], known, printable_module_name)
        config = identifier["config"]
        if hasattr(cls, "from_config"):
            if "custom_objects" in inspect.signature(cls.from_config).parameters:
                return cls.from_config(config, custom_objects={**_CUSTOM, **(custom_objects or {})})
            with custom_object_scope(custom_objects or {}):
                return cls.from_config(config)
        return cls(**config)
    if isinstance(identifier, str):
        found = _find(identifier, known, printable_module_name)
        return found() if inspect.isclass(found) else found
    return identifier


def _find(name: str, known: dict[str, Any], kind: str) -> Any:
    found = known.get(name)
    if found is None:
        raise ValueError(
            f"Unknown {kind}: {name}. A class or function of your own is found if it is given in "
            "custom_objects, or in a tf.keras.utils.custom_object_scope."
        )
    return found


def plain(value: Any) -> Any:
    """A value as JSON knows it: arrays as lists, tuples too, dtypes and functions by name.

    Raises:
        NotImplementedError: a function without a name.
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "as_list"):
        return value.as_list()
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if hasattr(value, "as_numpy_dtype"):
        return value.name
    if hasattr(value, "get_config"):
        return serialize_keras_object(value)
    if callable(value):
        if getattr(value, "__name__", "<lambda>") == "<lambda>":
            raise NotImplementedError(
                "A lambda has no configuration that can be written. Give the layer a function with a "
                "name, and the function in custom_objects when the configuration is read."
            )
        return get_registered_name(value)
    raise TypeError(f"Not JSON Serializable: {value}")
