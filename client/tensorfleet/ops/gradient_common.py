"""Common parts of gradient rules: static shapes where they are known, sums over broadcast axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph.convert import constant_node, convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one


def shape_of(tensor: Tensor, dtype: Any = np.int32) -> Tensor:
    """The shape as an integer vector: a constant where it is known."""
    dims = tensor.dims
    if dims is not None and None not in dims:
        return constant_node(np.array(dims, dtype), "Shape")
    return apply_one("Shape", tensor, out_type=dtype)


def rank_of(tensor: Tensor) -> Tensor:
    """The rank, an int32: a constant where it is known."""
    return apply_one("Rank", tensor) if tensor.dims is None else ints(len(tensor.dims), "Rank")


def size_of(tensor: Tensor) -> Tensor:
    """The number of elements, an int32: a constant where it is known."""
    dims = tensor.dims
    if dims is not None and None not in dims:
        return ints(int(np.prod([size or 0 for size in dims], dtype=np.int64)), "Size")
    return apply_one("Size", tensor)


def ints(value: Any, name: str = "Const") -> Tensor:
    """An int32 constant."""
    array = np.array(value, np.int32)
    return constant_node(array if array.ndim else array[()], name)


def like(value: float, tensor: Tensor) -> Tensor:
    """A constant of rank 0 in the tensor's dtype."""
    return convert_to_tensor(value, tensor.dtype.base, "Const")


def conj(tensor: Tensor) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    return apply_one("Conj", tensor) if tensor.dtype.base.is_complex else tensor


def reshape_like(tensor: Tensor, model: Tensor) -> Tensor:
    """`tensor` in the shape of `model`."""
    if tensor.dims is not None and tensor.dims == model.dims and None not in tensor.dims:
        return tensor
    return apply_one("Reshape", tensor, shape_of(model))


def zeros_like(tensor: Tensor) -> Tensor:
    return apply_one("ZerosLike", tensor)


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """x where the condition holds, else y, with broadcasting."""
    return apply_one("SelectV2", condition, x, y)


def reduced(op: Operation, x_grad: Tensor, y_grad: Tensor) -> list[Tensor]:
    """The gradients of a broadcasting op's two inputs: each summed over the axes along which its input was
    repeated.

    Equal static shapes need no op, static axes one Sum; else BroadcastGradientArgs finds the axes in the run.
    """
    x, y = op.inputs
    x_axes, y_axes = _repeated_axes(x, y), _repeated_axes(y, x)
    if x_axes is None or y_axes is None:
        shapes = shape_of(x), shape_of(y)
        found = apply_one("BroadcastGradientArgs", *shapes)
        return [
            apply_one("Reshape", apply_one("Sum", grad, axes), shape)
            for grad, axes, shape in zip((x_grad, y_grad), found, shapes, strict=True)
        ]
    return [_summed(x_grad, x_axes, x, y), _summed(y_grad, y_axes, y, x)]


def summed_to(grad: Tensor, result: Tensor, x: Tensor) -> Tensor:
    """A gradient of a result summed over the axes along which x was broadcast to the result's shape."""
    axes = _repeated_axes(x, result)
    if axes is not None:
        return _summed(grad, axes, x, result)
    shape = shape_of(x)
    found = apply_one("BroadcastGradientArgs", shape, shape_of(result))[0]
    return apply_one("Reshape", apply_one("Sum", grad, found), shape)


def _repeated_axes(x: Tensor, other: Tensor) -> list[int] | None:
    """The axes of the result along which x was, or may harmlessly count as, repeated; None if unknown."""
    if x is other:
        return []
    if x.dims is None or other.dims is None:
        return None
    rank = max(len(x.dims), len(other.dims))
    added = rank - len(x.dims)
    axes = list(range(added))
    others = (1,) * (rank - len(other.dims)) + other.dims
    for axis, size in enumerate(x.dims, added):
        if size is None and others[axis] != 1:
            return None
        if size == 1 and others[axis] != 1:
            axes.append(axis)
    return axes


def _summed(grad: Tensor, axes: list[int], x: Tensor, other: Tensor) -> Tensor:
    if not axes:
        return grad
    assert x.dims is not None
    assert other.dims is not None
    added = len(other.dims) - len(x.dims)
    if added <= 0:
        return apply_one("Sum", grad, ints(axes), keep_dims=True)
    total = apply_one("Sum", grad, ints(axes))
    return total if len(axes) == added else apply_one("Reshape", total, shape_of(x))
