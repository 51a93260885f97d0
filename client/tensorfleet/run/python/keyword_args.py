"""`tensorflow.python.util.keyword_args`: functions that take keywords only."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tensorfleet.api.decorators import make_decorator


def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of functions that take keywords only.

    Calls with positional arguments raise ValueError.
    """

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"The function {func.__name__} only accepts keyword arguments: got {args}")
        return func(**kwargs)

    return make_decorator(func, call, "keyword_args_only")
