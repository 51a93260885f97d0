"""The nested namespaces of the public API: `tf.math`, `tf.nn`, `tf.train`, …

The modules that define ops and classes say in `NAMESPACES` which of their names belong where; here the
namespaces are put together, as modules that can be imported from.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_PACKAGE = "tensorfleet"


def make(name: str, **more: Any) -> ModuleType:
    """The namespace `name` with its names, and `more`; a module of the package of that name is extended."""
    full_name = f"{_PACKAGE}.{name}"
    namespace = sys.modules.get(full_name)
    if namespace is None:
        namespace = sys.modules[full_name] = ModuleType(full_name, f"TensorFlow's names under `tf.{name}`.")
    for module in list(sys.modules.values()):
        for key, names in _declared(module).items():
            if key == name:
                for item in names:
                    # A dict says under which other name the module has it.
                    setattr(
                        namespace, item, getattr(module, names[item] if isinstance(names, dict) else item)
                    )
    for item, value in more.items():
        setattr(namespace, item, value)
    return namespace


def declared() -> set[str]:
    """The namespaces that the imported modules put names into."""
    return {key for module in list(sys.modules.values()) for key in _declared(module)}


def _declared(module: ModuleType) -> dict[str, list[str] | dict[str, str]]:
    # None stands for a module that a program does not want to be imported.
    if not getattr(module, "__name__", "").startswith(_PACKAGE + "."):
        return {}
    declared: dict[str, list[str] | dict[str, str]] = module.__dict__.get("NAMESPACES", {})
    return declared
