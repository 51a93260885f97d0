"""`tensorflow.python.util.function_utils`: what callables take, and their names."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from tensorfleet.api.decorators import unwrap
from tensorfleet.run.python.tf_inspect import getfullargspec


def fn_args(fn: Any) -> tuple[str, ...]:
    """The names of a callable's arguments: without `self`, and without those that a partial has bound."""
    if isinstance(fn, functools.partial):
        names = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in names if name not in (fn.keywords or {}))
    if callable(fn) and inspect.ismethod(fn.__call__):
        fn = fn.__call__
    names = tuple(getfullargspec(fn).args)
    return names[1:] if inspect.ismethod(unwrap(fn)[1]) and names else names


def has_kwargs(fn: Any) -> bool:
    """Whether a callable takes any keyword.

    Raises:
        TypeError: `fn` is not callable.
    """
    if isinstance(fn, functools.partial):
        fn = fn.func
    elif not callable(fn):
        raise TypeError(f"Argument `fn` should be a callable. Received: fn={fn} (of type {type(fn)})")
    elif inspect.ismethod(fn.__call__):
        fn = fn.__call__
    return getfullargspec(fn).varkw is not None


def get_func_name(func: Any) -> str:
    """The name of a callable; a lambda's is its source's place.

    Raises:
        ValueError: `func` is not callable.
    """
    func = unwrap(func)[1]
    if not callable(func):
        raise ValueError(f"Argument `func` must be a callable. Received func={func} (of type {type(func)})")
    if isinstance(func, functools.partial):
        return f"{get_func_name(func.func)}_with_partial_args"
    return str(getattr(func, "__name__", type(func).__name__))


def get_func_code(func: Any) -> Any:
    """The code of a function of Python; None of other callables.

    Raises:
        ValueError: `func` is not callable.
    """
    func = unwrap(func)[1]
    if not callable(func):
        raise ValueError(f"Argument `func` must be a callable. Received func={func} (of type {type(func)})")
    return getattr(func, "__code__", None)
