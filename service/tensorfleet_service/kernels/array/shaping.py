"""Shapes: Shape, Size, Rank, Reshape, ExpandDims, Squeeze, broadcasting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    array_kernel,
    check_vector,
    ints,
    invalid,
    results,
    shape_text,
)


def _dims(shape: tuple[int, ...], dtype: Any) -> Any:
    try:
        return np.array(shape, dtype)
    except OverflowError:
        at = next(i for i, size in enumerate(shape) if size > np.iinfo(dtype).max)
        raise invalid(f"Shape output type is 32-bit but dim {at} is {shape[at]}") from None


@array_kernel("Shape")
def shape(node: KernelNode) -> Kernel:
    dtype = node.output_types[0].np
    return lambda x: _dims(x.shape, dtype)


@array_kernel("ShapeN")
def shape_n(node: KernelNode) -> Kernel:
    dtype = node.output_types[0].np
    return lambda *values: results([_dims(x.shape, dtype) for x in values])


@array_kernel("Size")
def size(node: KernelNode) -> Kernel:
    scalar = np.int64 if node.output_types[0].size == 8 else np.int32

    def run(x: Any) -> Any:
        try:
            return scalar(x.size)
        except OverflowError:
            raise invalid("Number of elements was larger than representable by 32-bit output type") from None

    return run


@array_kernel("Rank")
def rank(node: KernelNode) -> Kernel:
    return lambda x: np.int32(x.ndim)


@array_kernel("Reshape")
def reshape(node: KernelNode) -> Kernel:
    def run(x: Any, shape: Any) -> Any:
        wanted = ints(shape)
        try:
            if x.size and min(wanted, default=0) >= -1:
                return x.reshape(wanted)
        except (ValueError, TypeError):
            raise _reshape_error(x, shape) from None
        return _reshape_empty(x, shape)

    return run


_MOST_DIMENSIONS = 254
"""The number of dimensions from which on TensorFlow has no shapes."""


def _reshape_empty(x: Any, shape: Any) -> Any:
    """Reshapes an array without elements. Any size would do for -1 beside a 0: TensorFlow derives it from the
    other dimensions.
    """
    if x.size or shape.ndim > 1:
        raise _reshape_error(x, shape)
    wanted = ints(shape)
    if min(wanted, default=0) < -1 or wanted.count(-1) > 1 or math.prod(wanted) > 0:
        raise _reshape_error(x, shape)
    missing = 0
    if 0 in wanted:
        missing = math.prod(d for d in x.shape if d) // math.prod(d for d in wanted if d > 0)
    return x.reshape([missing if d == -1 else d for d in wanted])


def _reshape_error(x: Any, shape: Any) -> Exception:
    if shape.ndim > 1:
        return invalid(f"sizes input must be 1-D, not {shape_text(shape.shape)}")
    wanted = ints(shape)
    if len(wanted) >= _MOST_DIMENSIONS:
        return invalid(
            f"too many dimensions: must be < {_MOST_DIMENSIONS}, but received {len(wanted)}; tensors have up "
            "to 64 here"
        )
    unknown = [i for i, d in enumerate(wanted) if d == -1]
    if len(unknown) > 1:
        return invalid(f"Only one input size may be -1, not both {unknown[0]} and {unknown[1]}")
    for i, d in enumerate(wanted):
        if d < -1:
            return invalid(f"Size {i} must be non-negative, not {d}")
    known = math.prod(d for d in wanted if d != -1)
    if known >= 2**63:
        return invalid(f"Shape {shape_text(wanted)} has too many elements")
    if unknown and known:
        return invalid(
            f"Input to reshape is a tensor with {x.size} values, but the requested shape requires a multiple "
            f"of {known}"
        )
    return invalid(f"Input to reshape is a tensor with {x.size} values, but the requested shape has {known}")


@array_kernel("ExpandDims")
def expand_dims(node: KernelNode) -> Kernel:
    def run(x: Any, dim: Any) -> Any:
        if dim.size != 1:
            raise invalid("'dim' must be a tensor with a single value")
        axis, rank = int(dim.reshape(())), x.ndim
        if not -rank - 1 <= axis <= rank:
            raise invalid(f"Tried to expand dim index {axis} for tensor with {rank} dimensions.")
        axis += rank + 1 if axis < 0 else 0
        return x.reshape((*x.shape[:axis], 1, *x.shape[axis:]))

    return run


@array_kernel("Squeeze")
def squeeze(node: KernelNode) -> Kernel:
    axes = node.attrs["squeeze_dims"]

    def all_ones(x: Any) -> Any:
        return x.reshape([d for d in x.shape if d != 1])

    def some(x: Any) -> Any:
        rank = x.ndim
        for axis in axes:
            if not -rank <= axis < rank:
                raise invalid(f"Tried to squeeze dim index {axis} for tensor with {rank} dimensions.")
            if x.shape[axis] != 1:
                raise invalid(
                    f"Can not squeeze dim[{axis % rank}], expected a dimension of 1, got {x.shape[axis]}"
                )
        dropped = {axis % rank for axis in axes}
        return x.reshape([d for axis, d in enumerate(x.shape) if axis not in dropped])

    return some if axes else all_ones


SMALL = 10_000
"""Number of elements up to which a copy is quicker than a view by NumPy's `broadcast_to`."""


def spread(xp: Any, x: Any, wanted: list[int]) -> Any:
    """`x` broadcast to a shape, as a copy or a view. Raises ValueError where the shapes do not fit."""
    if xp is np and x.ndim <= len(wanted) and 0 <= math.prod(wanted) <= SMALL:
        result = np.empty(wanted, x.dtype)
        result[...] = x
        return result
    return xp.broadcast_to(x, wanted)


@array_kernel("BroadcastTo")
def broadcast_to(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(x: Any, shape: Any) -> Any:
        if shape.ndim != 1:
            raise invalid(f"shape must be a vector of {{int32,int64}}, got shape {shape_text(shape.shape)}")
        wanted = ints(shape)
        if min(wanted, default=0) < 0:
            raise invalid(f"Dimension {min(wanted)} must be >= 0")
        try:
            return spread(xp, x, wanted)
        except ValueError:
            if x.ndim > len(wanted):
                raise invalid(
                    f"Rank of input ({x.ndim}) must be no greater than rank of output shape ({len(wanted)})."
                ) from None
            raise invalid(f"Incompatible shapes: {shape_text(x.shape)} vs. {shape_text(wanted)}") from None

    return run


@kernel("BroadcastArgs")
def broadcast_args(node: KernelNode) -> Kernel:
    dtype = node.output_types[0].np

    def run(a: Any, b: Any) -> Any:
        check_vector(a, "In[0]")
        check_vector(b, "In[1]")
        try:
            return np.array(np.broadcast_shapes(ints(a), ints(b)), dtype)
        except ValueError:
            raise _incompatible(a, b) from None

    return run


@kernel("BroadcastGradientArgs")
def broadcast_gradient_args(node: KernelNode) -> Kernel:
    """The axes along which each operand's gradient is summed: those that broadcasting repeated it along."""
    dtype = node.output_types[0].np

    def run(a: Any, b: Any) -> Any:
        check_vector(a, "In[0]")
        check_vector(b, "In[1]")
        first, second = ints(a), ints(b)
        if first == second:
            # Sums along dimensions of size 1 change nothing, but TensorFlow lists them.
            return empty, empty
        rank = max(len(first), len(second))
        first = [1] * (rank - len(first)) + first
        second = [1] * (rank - len(second)) + second
        if any(x != y and 1 not in (x, y) for x, y in zip(first, second, strict=True)):
            raise _incompatible(a, b)
        return (
            np.array([i for i, d in enumerate(first) if d == 1], dtype),
            np.array([i for i, d in enumerate(second) if d == 1], dtype),
        )

    empty = np.array([], dtype)
    return run


def _incompatible(a: Any, b: Any) -> Exception:
    return invalid(f"Incompatible shapes: {shape_text(ints(a))} vs. {shape_text(ints(b))}")
