"""`tensorflow.python.util.lazy_loader`: modules that are imported at their first use."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class LazyLoader(ModuleType):
    """A stand-in for a module, which it imports when a name of it is asked for."""

    def __init__(
        self, local_name: str, parent_module_globals: dict[str, Any], name: str, warning: str | None = None
    ) -> None:
        self._local_name, self._parent_module_globals = local_name, parent_module_globals
        super().__init__(name)

    def _load(self) -> ModuleType:
        module = import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        self.__dict__.update(module.__dict__)
        return module

    def __getattr__(self, item: str) -> Any:
        return getattr(self._load(), item)

    def __dir__(self) -> list[str]:
        return dir(self._load())
