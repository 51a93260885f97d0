"""Common parts of gradient rules: static shapes where they are known, sums over broadcast axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph import hints
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant_node, convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

_SMALL = 1_000
"""Number of elements up to which zeros are a constant in the graph."""


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


def given(op: Operation, names: tuple[str, ...]) -> dict[str, Any]:
    """The attributes of these names that an op has, to be handed to the ops of its gradient."""
    return {name: op.attrs[name] for name in names if name in op.attrs}


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """x where the condition holds, else y, with broadcasting."""
    return apply_one("SelectV2", condition, x, y)


def reduced(op: Operation, x_grad: Tensor, y_grad: Tensor) -> list[Tensor]:
    """The gradients of a broadcasting op's two inputs: each summed over the axes along which its input was
    repeated.

    Equal known shapes need no op; with other known shapes only the repeated input does. Otherwise
    BroadcastGradientArgs finds the axes in the run, and the master is told what partly known shapes imply.
    """
    x, y = op.inputs
    axes = _repeated_axes(x, y), _repeated_axes(y, x)
    found: Any = axes
    if not (_is_known(x) and _is_known(y)):
        shapes = [shape_of(x), shape_of(y)]
        found = _broadcast_args(shapes, axes)
    elif x.dims == y.dims == x_grad.dims:
        return [x_grad, y_grad]
    else:
        shapes = [constant_node(np.array(tensor.dims, np.int32), "Shape") for tensor in (x, y)]
    rank = None if x.dims is None or y.dims is None else max(len(x.dims), len(y.dims))
    result = []
    for tensor, grad, known, where_to_sum, shape in zip(
        (x, y), (x_grad, y_grad), axes, found, shapes, strict=True
    ):
        if found is axes and tensor.dims == grad.dims:
            result.append(grad)
        else:
            result.append(_put_back(grad, where_to_sum, shape, tensor, known, rank))
    return result


def summed_to(grad: Tensor, result: Tensor, x: Tensor) -> Tensor:
    """A gradient of a result summed over the axes along which x was broadcast to the result's shape."""
    if x is result or (_is_known(x) and x.dims == result.dims):
        return grad
    axes = _repeated_axes(x, result), _repeated_axes(result, x)
    shape = shape_of(x)
    found = _broadcast_args([shape, shape_of(result)], axes)
    return _put_back(grad, found[0], shape, x, axes[0], result.ndim)


def _is_known(tensor: Tensor) -> bool:
    return tensor.dims is not None and None not in tensor.dims


def _broadcast_args(shapes: list[Tensor], axes: tuple[list[int] | None, list[int] | None]) -> list[Tensor]:
    """The axes of the result along which each operand was repeated."""
    found: list[Tensor] = apply_op("BroadcastGradientArgs", *shapes)
    for tensor, known in zip(found, axes, strict=True):
        if known is not None:
            hints.known(tensor, known)
    return found


def _put_back(
    grad: Tensor, axes: Any, shape: Tensor, x: Tensor, known: list[int] | None, rank: int | None
) -> Tensor:
    """The sum over the axes, in the shape of x; `known` are the axes, `rank` the gradient's, where known."""
    if isinstance(axes, list):
        axes = np.array(axes, np.int32)
    result = apply_one("Reshape", apply_one("Sum", grad, axes), shape)
    # The sum has already removed the axes that x does not have.
    if known is not None and rank is not None and known == list(range(rank - len(x.dims or ()))):
        hints.unchanged(result)
    return result


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
