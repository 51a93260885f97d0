"""Checks of dtypes and types, all while the graph is built: `tf.assert_type`, `tf.assert_integer`, …"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor, is_tensor
from tensorfleet.ops.control_flow.control import no_op


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Any:
    """Checks a tensor's dtype at once (`tf.assert_type`); raises TypeError."""
    wanted = dtypes.as_dtype(tf_type)
    with framework.name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base is not wanted:
            prefix = f"{message}.  " if message else ""
            raise TypeError(f"{prefix}{tensor.name} must be of type {wanted!r}; got {tensor.dtype!r}")
        return no_op("statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Checks at once that a tensor has an integer dtype (`tf.assert_integer`); raises TypeError."""
    with framework.name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            prefix = f"{message}.  " if message else ""
            raise TypeError(f'{prefix}Expected "x" to be integer type.  Found: {x.name} of dtype {x.dtype}')
        return no_op("statically_determined_was_integer")


def assert_proper_iterable(values: Any) -> None:
    """Checks that `values` is an iterable other than a tensor, array or string
    (`tf.assert_proper_iterable`); raises TypeError."""
    unintended = (Tensor, np.ndarray, bytes, str)
    if isinstance(values, unintended) or is_tensor(values) or not isinstance(values, Iterable):
        raise TypeError(f"Expected argument 'values' to be an iterable of tensors. Found: {type(values)}")


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether `tensor` is a tensor of numbers (`tf.is_numeric_tensor`)."""
    return isinstance(tensor, Tensor) and (
        tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex
    )


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """The one floating point dtype that all tensors have (`tf.assert_same_float_dtype`).

    Args:
        tensors: tensors; None is ignored.
        dtype: the expected dtype. Without tensors it is the result, float32 by default.

    Raises:
        ValueError: the dtypes differ, or are not floating point.
    """
    expected = None if dtype is None else dtypes.as_dtype(dtype).base
    for tensor in tensors or ():
        if tensor is None:
            continue
        found = tensor.dtype.base
        if expected is None:
            expected = found
        elif found is not expected:
            raise ValueError(
                f"Tensor type mismatch: {getattr(tensor, 'name', tensor)} must be of type {expected!r}; "
                f"got {found!r}"
            )
    expected = expected or dtypes.float32
    if not expected.is_floating:
        raise ValueError(f"Expected floating point type, got {expected.name}.")
    return expected
