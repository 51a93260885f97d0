"""`tensorflow.python.ops.gradient_checker_v2`: derivatives of functions, by gradients and by differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.autodiff.gradient_checker import compute_gradient as jacobians
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import placeholder

Array = np.ndarray[Any, Any]
_DELTA = 1.0 / 1024


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """The Jacobians of `f` at `x`, by backpropagation and by central differences, in the default session.

    Args:
        f: a function of as many tensors as `x` has values, to one tensor.
        x: a list of values, or of tensors.
        delta: the step of the differences; by default 1/1024.

    Returns:
        (by backpropagation, by differences), for each value a matrix of as many rows as the result has
        elements, and as many columns as the value has; complex elements count as two, the real part first.

    Raises:
        ValueError: `x` is no list, or there is no default session.
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(
            "`x` must be a list or tuple of values convertible to a Tensor (arguments to `f`), not a "
            f"{type(x)}"
        )
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: use `with session.as_default():`.")
    tensors = [convert_to_tensor(value) for value in x]
    values: list[Array] = session.run(tensors)
    inputs: list[Any] = [
        placeholder(tensor.dtype.base, value.shape) for tensor, value in zip(tensors, values, strict=True)
    ]
    y: Tensor = convert_to_tensor(f(*inputs))
    shape = session.run(y, dict(zip(inputs, values, strict=True))).shape
    pairs = jacobians(
        inputs,
        [value.shape for value in values],
        *(y, shape, values, _DELTA if delta is None else delta),
    )
    return tuple(pair[0].T for pair in pairs), tuple(pair[1].T for pair in pairs)


def max_error(grad1: Sequence[Array], grad2: Sequence[Array]) -> float:
    """The greatest difference between two lists of Jacobians."""
    return float(
        max((np.abs(one - other).max(initial=0) for one, other in zip(grad1, grad2, strict=True)), default=0)
    )
