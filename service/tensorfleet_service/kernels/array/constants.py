"""Const, and tensors made of nothing but a shape or a range."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes, string_arrays
from tensorfleet.ops.array.constants import range_size
from tensorfleet_service.kernels import variants
from tensorfleet_service.kernels.registry import Expression, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    array_kernel,
    check_vector,
    ints,
    invalid,
    shape_text,
)
from tensorfleet_service.kernels.variant_messages import from_messages
from tensorfleet_service.threads.running import check as check_step


@kernel("Const")
def const(node: KernelNode) -> Expression:
    value = np.asarray(node.attrs["value"])
    if node.output_types[0] is dtypes.variant:
        found = from_messages(value)
        return Expression("value", {"value": found})
    if not value.dtype.hasobject:
        # Values of rank 0 are NumPy scalars, which are quicker to compute with.
        value = value[()] if node.xp is np else node.xp.asarray(value)
    return Expression("value", {"value": value})


@array_kernel("Fill")
def fill(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0].np

    def run(dims: Any, value: Any) -> Any:
        check_vector(dims, "dims")
        if value.ndim:
            raise invalid(f"value must represent a scalar, got shape {shape_text(value.shape)}")
        shape = ints(dims)
        if shape and min(shape) < 0:
            raise invalid(f"Dimension {min(shape)} must be >= 0")
        return xp.full(shape, value, dtype)

    def strings(dims: Any, value: Any) -> Any:
        return string_arrays.filled(ints(dims), value.item(), check_step)

    return strings if node.output_types[0] is dtypes.string else run


@array_kernel("ZerosLike")
def zeros_like(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0].np
    if node.output_types[0] is dtypes.string:
        return lambda x: string_arrays.filled(x.shape, b"")
    if node.output_types[0] is dtypes.variant:
        return lambda x: variants.zeros_like(x, xp)
    return lambda x: xp.zeros(x.shape, dtype)


@kernel("OnesLike")
def ones_like(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0].np
    return lambda x: xp.ones(x.shape, dtype)


@kernel("Range")
def range_(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0]
    np_dtype = dtype.np

    def integers(*arguments: Any) -> Any:
        first, end, step = map(int, _scalars(arguments))
        _size(first, end, step)
        return xp.arange(first, end, step, dtype=np_dtype)

    def floats(*arguments: Any) -> Any:
        start, limit, delta = _scalars(arguments)
        size = _size(float(start), float(limit), float(delta))
        return (start + xp.arange(size).astype(np_dtype) * delta).astype(np_dtype, copy=False)

    return integers if dtype.is_integer else floats


def _scalars(arguments: tuple[Any, ...]) -> list[Any]:
    """The values of `start`, `limit` and `delta`; a vector of one element counts as a scalar."""
    for name, value in zip(("start", "limit", "delta"), arguments, strict=True):
        if value.ndim > 1 or value.size != 1:
            raise invalid(f"{name} must be a scalar, not shape {shape_text(value.shape)}")
    return [value.reshape(()) if value.ndim else value for value in arguments]


def _size(start: Any, limit: Any, delta: Any) -> int:
    try:
        return range_size(start, limit, delta)
    except ValueError as e:
        raise invalid(str(e)) from None
