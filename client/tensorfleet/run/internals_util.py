"""The utilities of `tensorflow.python.util` that programs import: decorators, inspection, lazy imports."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSet
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from tensorfleet.api.decorators import (
    TFDecorator as TFDecorator,
    make_decorator as make_decorator,
    rewrap as rewrap,
    unwrap as unwrap,
)

F = TypeVar("F")

# `tf_inspect` has the functions of Python's module, for functions that decorators wrap as well.
from inspect import (  # noqa: E402
    currentframe as currentframe,
    getdoc as getdoc,
    getfile as getfile,
    getmembers as getmembers,
    getmodule as getmodule,
    getmro as getmro,
    getsource as getsource,
    getsourcefile as getsourcefile,
    getsourcelines as getsourcelines,
    isbuiltin as isbuiltin,
    isclass as isclass,
    isfunction as isfunction,
    isgenerator as isgenerator,
    isgeneratorfunction as isgeneratorfunction,
    ismethod as ismethod,
    ismodule as ismodule,
    isroutine as isroutine,
    stack as stack,
)


class ArgSpec(NamedTuple):
    """A function's positional arguments, as `tf_inspect.getargspec` gives them."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _target(obj: Any) -> Any:
    return unwrap(obj)[1]


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """`inspect.getfullargspec` of the function within decorators."""
    target = _target(obj)
    if inspect.isclass(target) or inspect.isroutine(target):
        return inspect.getfullargspec(target)
    return inspect.getfullargspec(target.__call__ if callable(target) else target)


def getargspec(obj: Any) -> ArgSpec:
    """The positional arguments of a function; arguments that are by name alone are left out."""
    found = getfullargspec(obj)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def getcallargs(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The values that a call gives to the arguments of the function within decorators."""
    return inspect.getcallargs(_target(function), *args, **kwargs)


def signature(obj: Any) -> inspect.Signature:
    """`inspect.signature` of the function within decorators."""
    return inspect.signature(_target(obj))


def fn_args(function: Any) -> tuple[str, ...]:
    """The names of a function's arguments, without `self` (`tensorflow.python.estimator.util.fn_args`)."""
    target = getattr(function, "func", function)
    bound = {*getattr(function, "keywords", ())}
    found = getfullargspec(target)
    names = [*found.args, *found.kwonlyargs]
    if inspect.ismethod(target) or not (inspect.isroutine(target) or inspect.isclass(target)):
        names = names[1:]
    given = len(getattr(function, "args", ()))
    return tuple(name for name in names[given:] if name not in bound)


def contextmanager(target: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
    """`contextlib.contextmanager`, as a decorator that `unwrap` knows."""
    return make_decorator(target, contextlib.contextmanager(target), "contextmanager")


def _unchanged(*_: Any, **__: Any) -> Callable[[F], F]:
    """A decorator that leaves a function or class as it is: there are no warnings of what is deprecated."""

    def decorate(decorated: F) -> F:
        return decorated

    return decorate


deprecated = deprecated_args = deprecated_arg_values = deprecated_endpoints = _unchanged
tf_export = estimator_export = keras_export = _unchanged


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of a renamed argument, given by its new or its old name.

    Raises:
        ValueError: both are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


def deprecated_alias(deprecated_name: str, name: str, func_or_class: F, warn_once: bool = True) -> F:
    """What an older name stands for."""
    return func_or_class


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """A context without warnings of what is deprecated; there are none."""
    yield


def make_all(module_name: str, doc_string_modules: Iterable[Any] | None = None) -> list[str]:
    """The public names of a module (`all_util.make_all`)."""
    return [name for name in dir(import_module(module_name)) if not name.startswith("_")]


def remove_undocumented(module_name: str, *_: Any, **__: Any) -> None:
    """Hides nothing: modules of programs keep all of their names (`all_util.remove_undocumented`)."""


class LazyLoader(types.ModuleType):
    """A module that is imported at its first use (`lazy_loader.LazyLoader`).

    Args:
        local_name: the name in `parent_module_globals`, where the module then takes this object's place.
    """

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str) -> None:
        super().__init__(name)
        self.__dict__["_place"] = (local_name, parent_module_globals)

    def __getattr__(self, name: str) -> Any:
        local_name, around = self.__dict__["_place"]
        module = around[local_name] = import_module(self.__name__)
        return getattr(module, name)


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are the same if they are one object."""

    def __init__(self) -> None:
        self._items: dict[int, tuple[Any, Any]] = {}

    def __getitem__(self, key: Any) -> Any:
        return self._items[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._items[id(key)] = key, value

    def __delitem__(self, key: Any) -> None:
        del self._items[id(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self._items.values()])

    def __len__(self) -> int:
        return len(self._items)


class ObjectIdentitySet(MutableSet[Any]):
    """A set whose elements are the same if they are one object."""

    def __init__(self, *args: Iterable[Any]) -> None:
        self._items = {id(element): element for given in args for element in given}

    def __contains__(self, key: Any) -> bool:
        return id(key) in self._items

    def add(self, key: Any) -> None:
        """Adds an object."""
        self._items[id(key)] = key

    def discard(self, key: Any) -> None:
        """Removes an object, if it is there."""
        self._items.pop(id(key), None)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)
