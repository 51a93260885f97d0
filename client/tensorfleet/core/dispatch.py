"""Functions of tensors that also take objects of other classes, which bring versions of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_versions: dict[Any, list[tuple[type, Callable[..., Any]]]] = {}
_sources: list[Callable[[], object]] = []


def takes_composites(function: Callable[P, R]) -> Callable[P, R]:
    """Lets a class have its own version of a function, which is called where the function refuses its
    arguments, and an object of the class is among these, alone or in a list."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            while _sources:
                _sources.pop()()
            for kind, version in _versions.get(call, ()):
                if _contains(kind, (*args, *kwargs.values())):
                    result: R = version(*args, **kwargs)
                    return result
            raise

    return call


def register_version(function: Callable[..., Any], kind: type, version: Callable[..., Any]) -> None:
    """Registers what is called in place of a function, with the same arguments, for objects of a class."""
    if not hasattr(function, "__wrapped__"):
        raise ValueError(f"{function.__module__}.{function.__qualname__} takes no composites")
    _versions.setdefault(function, []).append((kind, version))


def versions_from(load: Callable[[], object]) -> None:
    """Lets `load` register versions, once a function refuses its arguments."""
    _sources.append(load)


def _contains(kind: type, values: Any) -> bool:
    return any(
        isinstance(value, kind) or (isinstance(value, (list, tuple)) and _contains(kind, value))
        for value in values
    )
