"""`arg_scope`: default arguments of functions, within a block (`tf.contrib.framework`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Scope = dict[str, dict[str, Any]]

# One value for each thread, as several threads may build graphs.
_current: ContextVar[Scope | None] = ContextVar("arg_scope", default=None)
_known: dict[str, tuple[str, ...]] = {}


def add_arg_scope(func: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function take defaults from `arg_scope` (`tf.contrib.framework.add_arg_scope`)."""
    key = f"{func.__module__}.{func.__qualname__}@{id(func)}"

    @functools.wraps(func)
    def with_defaults(*args: Any, **kwargs: Any) -> Any:
        defaults = (_current.get() or {}).get(key)
        return func(*args, **({**defaults, **kwargs} if defaults else kwargs))

    with_defaults._key_op = key  # type: ignore[attr-defined]
    code = func.__code__ if hasattr(func, "__code__") else None
    count = code.co_argcount + code.co_kwonlyargcount if code else 0
    _known[key] = code.co_varnames[:count] if code else ()
    return with_defaults


def arg_scope_func_key(op: Any) -> str:
    """The key of a function in scopes."""
    return getattr(op, "_key_op", str(op))


def has_arg_scope(func: Any) -> bool:
    """Whether a function takes defaults from scopes."""
    return arg_scope_func_key(func) in _known


def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """The names of the arguments of a function that takes defaults from scopes."""
    assert has_arg_scope(func), f"{func} is not decorated with @add_arg_scope"
    return _known[arg_scope_func_key(func)]


def current_arg_scope() -> Scope:
    """The current defaults, by the keys of functions."""
    return dict(_current.get() or {})


@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Scope]:
    """Gives functions default arguments within a block (`tf.contrib.framework.arg_scope`).

    Args:
        list_ops_or_scope: functions with `add_arg_scope`; or the result of an earlier `arg_scope`, to enter
            it again.
        kwargs: the defaults, which take precedence over those of outer blocks.

    Raises:
        TypeError: `list_ops_or_scope` is neither a list or tuple nor a scope.
        ValueError: a function lacks `add_arg_scope`, or a scope is given with defaults.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by suppling a dictionary, kwargs must be empty."
            )
        scope = dict(list_ops_or_scope)
    elif isinstance(list_ops_or_scope, (list, tuple)):
        scope = current_arg_scope()
        for op in list_ops_or_scope:
            if not has_arg_scope(op):
                raise ValueError(f"{op} is not decorated with @add_arg_scope")
            key = arg_scope_func_key(op)
            scope[key] = {**scope.get(key, {}), **kwargs}
    else:
        raise TypeError(
            "list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict), "
            f"not {type(list_ops_or_scope).__name__}"
        )
    token = _current.set(scope)
    try:
        yield scope
    finally:
        _current.reset(token)
