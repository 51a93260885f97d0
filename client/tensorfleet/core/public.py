"""What public namespaces have in common: modules and names that are imported at their first use, and what
is said about a name that TensorFlow has and this library lacks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module, resources
from types import ModuleType
from typing import Any

_ROOT = "tensorfleet"
_MISSING = "missing_names.txt"


class _NoNames:
    """The object of an AttributeError to whose message Python shall add no guess ("Did you mean: …?")."""

    def __dir__(self) -> list[str]:
        return []


def namespace(
    name: str, modules: tuple[str, ...] = (), names: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a public namespace.

    Args:
        name: the module that is the namespace.
        modules: the namespaces in it; those that it does not import itself are imported at their first use.
        names: names in it that are imported at their first use, with the modules that define them.
    """
    lazy = dict(names or {})
    own = vars(sys.modules[name])

    def getattribute(attribute: str) -> Any:
        if attribute in modules:
            return import_module(f"{name}.{attribute}")
        if attribute in lazy:
            value = own[attribute] = getattr(import_module(lazy[attribute]), attribute)
            return value
        raise _no_attribute(name, attribute)

    def directory() -> list[str]:
        # Beside these lie the modules of the implementation.
        listed = {key for key, value in own.items() if not isinstance(value, ModuleType) and _is_listed(key)}
        return sorted({*listed, *modules, *lazy})

    return getattribute, directory


def _is_listed(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name not in ("__getattr__", "__dir__"))


def _no_attribute(namespace: str, attribute: str) -> AttributeError:
    full_name = f"{namespace}.{attribute}".removeprefix(_ROOT + ".")
    if not attribute.startswith("_") and full_name in missing_names():
        return AttributeError(
            f"tf.{full_name} is not part of TensorFleet; see docs/missing.md", name=attribute, obj=_NoNames()
        )
    # Python itself adds the name, and a guess.
    return AttributeError(f"module {namespace!r} has no attribute {attribute!r}")


@cache
def missing_names() -> frozenset[str]:
    """The names of TensorFlow that this library lacks, such as `keras` and `nn.ctc_loss`.

    Of a namespace that is absent as a whole there is only its own name.
    """
    return frozenset(resources.files(__package__).joinpath(_MISSING).read_text().split())
