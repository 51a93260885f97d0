"""`tensorflow.python.framework.registry`: objects by names that are given once."""

from __future__ import annotations

import inspect
from collections.abc import KeysView
from typing import Any


class Registry:
    """Objects of one kind by their names."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._registry: dict[str, tuple[Any, str]] = {}

    def register(self, candidate: Any, name: str | None = None) -> None:
        """Adds an object, by its `__name__` if there is no name.

        Raises:
            KeyError: the name is taken.
        """
        name = name or candidate.__name__
        if name in self._registry:
            raise KeyError(
                f"Registering two {self._name} with name '{name}'! "
                f"(Previous registration was in {self._registry[name][1]})"
            )
        caller = inspect.stack(context=0)[1]
        self._registry[name] = candidate, f"{caller.function} {caller.filename}:{caller.lineno}"

    def list(self) -> KeysView[str]:
        """The names."""
        return self._registry.keys()

    def lookup(self, name: Any) -> Any:
        """The object of a name.

        Raises:
            LookupError: there is none.
        """
        text = name.decode() if isinstance(name, bytes) else name
        if text not in self._registry:
            raise LookupError(f"{self._name} registry has no entry for: {text}")
        return self._registry[text][0]
