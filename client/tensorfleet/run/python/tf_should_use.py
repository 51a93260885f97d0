"""`tensorflow.python.util.tf_should_use`: functions whose result should be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def should_use_result(
    fn: Callable[..., Any] | None = None, warn_in_eager: bool = False, error_in_function: bool = False
) -> Any:
    """A decorator of functions whose result should be used; it is returned as it is."""
    return (lambda f: f) if fn is None else fn


def must_use_result_or_fatal(fn: Callable[..., Any]) -> Callable[..., Any]:
    """As `should_use_result`."""
    return fn
