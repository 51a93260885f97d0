"""`tensorflow.python.util.tf_inspect`: Python's `inspect`, which sees through TensorFlow's decorators."""

from __future__ import annotations

import functools
import inspect
from inspect import (
    FullArgSpec as FullArgSpec,
    Parameter as Parameter,
    currentframe as currentframe,
    isbuiltin as isbuiltin,
    iscode as iscode,
    isframe as isframe,
    istraceback as istraceback,
    stack as stack,
)
from typing import Any, NamedTuple

from tensorfleet.api.decorators import unwrap


class ArgSpec(NamedTuple):
    """What Python 2's `inspect.getargspec` returned."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _target(value: Any) -> Any:
    return unwrap(value)[1]


def getfullargspec(obj: Any) -> FullArgSpec:
    """The arguments of a callable as its outermost decorator declares them, else as it has them."""
    decorators, target = unwrap(obj)
    for decorator in decorators:
        if decorator.decorator_argspec is not None:
            args, varargs, keywords, defaults, *rest = decorator.decorator_argspec
            return FullArgSpec(args, varargs, keywords, defaults, *(rest or ([], None, {})))
    if _is_ours(target):
        return _as_of_version_1(inspect.getfullargspec(inspect.unwrap(target)))
    if isinstance(target, functools.partial) or inspect.isclass(target) or inspect.isroutine(target):
        return inspect.getfullargspec(target)
    return inspect.getfullargspec(target.__call__)


def _is_ours(target: Any) -> bool:
    return inspect.isfunction(target) and target.__module__.partition(".")[0] == "tensorfleet"


def _as_of_version_1(spec: FullArgSpec) -> FullArgSpec:
    """The arguments as libraries of TensorFlow 1.15's time compare them with those of functions of their own:
    without annotations, and without the last one of DTensors, which came later."""
    if spec.args and spec.args[-1] == "layout" and spec.defaults:
        spec = spec._replace(args=spec.args[:-1], defaults=spec.defaults[:-1])
    return spec._replace(annotations={})


def getargspec(obj: Any) -> ArgSpec:
    """The arguments of a callable, without those that go by keyword only."""
    spec = getfullargspec(obj)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def signature(obj: Any, *, follow_wrapped: bool = True) -> inspect.Signature:
    """The signature of what the decorators wrap."""
    return inspect.signature(_target(obj), follow_wrapped=follow_wrapped)


def getcallargs(*func_and_positional: Any, **named: Any) -> dict[str, Any]:
    """The values that a call would give to each argument."""
    func, *positional = func_and_positional
    spec = getfullargspec(func)
    values = named.copy()
    if inspect.ismethod(func):
        positional.insert(0, func.__self__)
    values.update(zip(spec.args, positional, strict=False))
    defaults = spec.defaults or ()
    for name, default in zip(spec.args[len(spec.args) - len(defaults) :], defaults, strict=True):
        values.setdefault(name, default)
    return values


def getmembers(obj: Any, predicate: Any = None) -> list[tuple[str, Any]]:
    """Names and values of an object's attributes."""
    return inspect.getmembers(obj, predicate)


def getdoc(obj: Any) -> str | None:
    """The documentation of an object."""
    return inspect.getdoc(obj)


def getfile(obj: Any) -> str:
    """The file that defines an object."""
    return inspect.getfile(_target(obj))


def getsource(obj: Any) -> str:
    """The source of an object."""
    return inspect.getsource(_target(obj))


def getsourcefile(obj: Any) -> str | None:
    """The file with the source of an object."""
    return inspect.getsourcefile(_target(obj))


def getsourcelines(obj: Any) -> tuple[list[str], int]:
    """The lines of an object's source, and the number of the first."""
    return inspect.getsourcelines(_target(obj))


def getmodule(obj: Any) -> Any:
    """The module that defines an object."""
    return inspect.getmodule(obj)


def getmro(cls: type) -> tuple[type, ...]:
    """A class and its bases, in the order of look-ups."""
    return inspect.getmro(cls)


def isclass(obj: Any) -> bool:
    """Whether what the decorators wrap is a class."""
    return inspect.isclass(_target(obj))


def isfunction(obj: Any) -> bool:
    """Whether what the decorators wrap is a function of Python."""
    return inspect.isfunction(_target(obj))


def ismethod(obj: Any) -> bool:
    """Whether what the decorators wrap is a bound method."""
    return inspect.ismethod(_target(obj))


def isanytargetmethod(obj: Any) -> bool:
    """Whether one of the decorated functions is a bound method."""
    decorators, target = unwrap(obj)
    return any(map(inspect.ismethod, (target, *(d.decorated_target for d in decorators))))


def isgenerator(obj: Any) -> bool:
    """Whether what the decorators wrap is a generator."""
    return inspect.isgenerator(_target(obj))


def isgeneratorfunction(obj: Any) -> bool:
    """Whether what the decorators wrap is a function of a generator."""
    return inspect.isgeneratorfunction(_target(obj))


def ismodule(obj: Any) -> bool:
    """Whether what the decorators wrap is a module."""
    return inspect.ismodule(_target(obj))


def isroutine(obj: Any) -> bool:
    """Whether what the decorators wrap is a function or method, of Python or of C."""
    return inspect.isroutine(_target(obj))
