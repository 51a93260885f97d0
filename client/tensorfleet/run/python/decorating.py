"""Small modules below `tensorflow.python.util`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import wraps
from typing import Any

from tensorfleet.api.decorators import make_decorator


def contextmanager(target: Callable[..., Any]) -> Callable[..., Any]:
    """`contextlib.contextmanager` (`tf_contextlib`), whose wrapper `tf_inspect` sees through."""
    return make_decorator(target, contextlib.contextmanager(target), "contextmanager")


def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of functions that take keywords only (`keyword_args`).

    Calls with positional arguments raise ValueError.
    """

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"The function {func.__name__} only accepts keyword arguments: got {args}")
        return func(**kwargs)

    return make_decorator(func, call, "keyword_args_only")


def should_use_result(
    fn: Callable[..., Any] | None = None, warn_in_eager: bool = False, error_in_function: bool = False
) -> Any:
    """A decorator of functions whose result should be used (`tf_should_use`); it is returned as it is."""
    return (lambda f: f) if fn is None else fn


def must_use_result_or_fatal(fn: Callable[..., Any]) -> Callable[..., Any]:
    """As `should_use_result`."""
    return fn
