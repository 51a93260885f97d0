"""`tensorflow.python.util.all_util`: which names of a module are public."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

_UNDERSCORE = re.compile("^_")
_KEPT = ("app", "__future__", "absolute_import", "division", "print_function")


def make_all(module_name: str, doc_string_modules: Iterable[ModuleType] | None = None) -> list[str]:
    """The module's public names that the docstrings mention by `@@name`.

    Args:
        module_name: a module that is imported.
        doc_string_modules: the modules with the docstrings; by default the module itself.
    """
    module = sys.modules[module_name]
    documented = [module] if doc_string_modules is None else doc_string_modules
    mentioned = {name for m in documented for name in re.findall(r"@@([\w.]+)", m.__doc__ or "")}
    return [name for name in dir(module) if not name.startswith("_") and name in mentioned]


def reveal_undocumented(symbol_name: str, target_module: Any = None) -> None:
    """Gives a module an attribute that `remove_undocumented` has removed.

    Raises:
        LookupError: it was not removed.
    """
    if symbol_name not in _HIDDEN:
        raise LookupError(f"Symbol {symbol_name} is not a hidden symbol")
    name = symbol_name.rpartition(".")[2]
    module, value = _HIDDEN[symbol_name]
    setattr(target_module or module, name, value)


# By "module.name": the module and the attribute that was taken from it.
_HIDDEN: dict[str, tuple[ModuleType, Any]] = {}


def remove_undocumented(
    module_name: str,
    allowed_exception_list: Iterable[str] | None = None,
    doc_string_modules: Iterable[ModuleType] | None = None,
    **renamed: Any,
) -> None:
    """Removes the attributes of a module that its docstring does not mention by `@@name`.

    Args:
        module_name: a module that is imported.
        allowed_exception_list: further names that stay.
        doc_string_modules: the modules with the docstrings; by default the module itself.
        **renamed: `allowed_exception_list` by its older names.
    """
    module = sys.modules[module_name]
    allowed = allowed_exception_list
    for old in renamed.values():
        allowed = old if allowed is None else allowed
    kept = {*make_all(module_name, doc_string_modules), *(allowed or ()), *_KEPT}
    for name in dir(module):
        if name in kept or _UNDERSCORE.match(name):
            continue
        _HIDDEN[f"{module_name}.{name}"] = module, getattr(module, name)
        delattr(module, name)
