"""Common parts of elementwise kernels: errors of broadcasting, calls as expressions, small floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dtypes import DType
from tensorfleet_service.kernels.registry import Explain, Expression
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.threads.running import check as check_step

SMALL_FLOATS = (dtypes.float16, dtypes.bfloat16)
"""Dtypes that are computed in float32, as a rounding at each step of a longer computation would show."""


def broadcast_error(error: Exception, x: Any, y: Any) -> errors.OpError | None:
    """The error of a binary op whose inputs cannot be broadcast; None if they can."""
    try:
        np.broadcast_shapes(np.shape(x), np.shape(y))
    except ValueError:
        return invalid(f"Incompatible shapes: {shape_text(np.shape(x))} vs. {shape_text(np.shape(y))}")
    return None


def unary(function: Callable[[Any], Any]) -> Expression:
    """The expression that calls a function of one input. Functions are told apart by `__name__`."""
    name = function.__name__
    return Expression(f"{name}({{0}})", {name: function})


def binary(function: Callable[[Any, Any], Any], explain: Explain | None = broadcast_error) -> Expression:
    """The expression that calls a function of two inputs. Functions are told apart by `__name__`."""
    name = function.__name__
    return Expression(f"{name}({{0}}, {{1}})", {name: function}, explain)


BLOCK = 8192
"""Number of elements of a block whose temporaries stay in the processor's cache."""


def in_blocks(function: Callable[..., Any], target: Any, *inputs: Any) -> Any:
    """An elementwise function in float64 of NumPy's arrays, which are broadcast.

    It is called with one block after the other, as such functions may take microseconds for an element. The
    result has dtype `target`.

    Raises:
        OpError: the step has ended.
    """
    shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
    size = math.prod(shape)
    if size <= BLOCK:
        return np.asarray(function(*(np.asarray(x, np.float64) for x in inputs))).astype(target)
    flat = [np.broadcast_to(x, shape).reshape(-1) if np.ndim(x) else x for x in inputs]
    result = np.empty(size, target)
    for begin in range(0, size, BLOCK):
        check_step()
        part = slice(begin, begin + BLOCK)
        result[part] = function(*(np.asarray(x[part] if np.ndim(x) else x, np.float64) for x in flat))
    return result.reshape(shape)


def through_float32(function: Callable[..., Any], dtype: DType) -> Callable[..., Any]:
    """`function` of arrays, for small floats computed in float32 and rounded once at the end."""
    if dtype not in SMALL_FLOATS:
        return function
    target = dtype.np

    def rounded(*inputs: Any) -> Any:
        return function(*[x.astype(np.float32) for x in inputs]).astype(target)

    rounded.__name__ = f"{function.__name__}_{dtype.name}"
    return rounded
