"""Gradients of `reduction`."""

from __future__ import annotations

import numpy as np

from tensorfleet.graph.convert import constant_node
from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, ints, rank_of, shape_of

not_differentiable("All", "Any")


def _static_axes(op: Operation) -> list[int] | None:
    """The reduced axes, counted from the front, if they and the rank are known."""
    dims = op.inputs[0].dims
    axes = static_value(op.inputs[1])
    if dims is None or axes is None:
        return None
    return sorted({int(axis) % len(dims) for axis in axes.ravel()}) if dims else []


def _axes(op: Operation) -> Tensor:
    """The reduced axes as an int32 vector, counted from the front."""
    static = _static_axes(op)
    if static is not None:
        return ints(static)
    axes = apply_one("Reshape", apply_one("Cast", op.inputs[1], DstT=np.int32), [-1])
    rank = rank_of(op.inputs[0])
    return apply_one("FloorMod", axes + rank, rank)


def _kept(op: Operation, value: Tensor) -> Tensor:
    """A value of the output's shape, with the reduced axes put back in with size 1."""
    if op.attrs["keep_dims"]:
        return value
    x, axes = op.inputs[0], _static_axes(op)
    if axes is not None:
        assert x.dims is not None
        if not axes:
            return value
        sizes = [1 if i in axes else size for i, size in enumerate(x.dims)]
        if None not in sizes:
            return apply_one("Reshape", value, ints(sizes))
        if len(axes) == 1:
            return apply_one("ExpandDims", value, ints(axes[0]))
    shape = shape_of(x)
    reduced = _axes(op)
    ones = apply_one("Fill", apply_one("Shape", reduced), 1)
    everything = apply_one("Range", 0, apply_one("Size", shape), 1)
    sizes_in_run = apply_one("DynamicStitch", [everything, reduced], [shape, ones])
    return apply_one("Reshape", value, sizes_in_run)


def _spread(op: Operation, grad: Tensor) -> Tensor:
    """The gradient of the output, repeated along the reduced axes."""
    x, axes = op.inputs[0], _static_axes(op)
    if axes is None or len(axes) != x.ndim:  # else it is a scalar, which can be repeated as it is
        grad = _kept(op, grad)
    return apply_one("BroadcastTo", grad, shape_of(x))


@gradient("Sum")
def _sum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [_spread(op, grad), None]


def _count(op: Operation) -> Tensor:
    """The number of elements in each mean, in the input's dtype."""
    x, axes = op.inputs[0], _static_axes(op)
    dtype = x.dtype.base
    if axes is not None:
        assert x.dims is not None
        sizes = [x.dims[i] for i in axes]
        if None not in sizes:
            count = np.array(np.prod([size or 0 for size in sizes], dtype=np.int64))
            return constant_node(count.astype(dtype.np)[()], "Const")
        if len(axes) == len(x.dims):
            return apply_one("Cast", apply_one("Size", x), DstT=dtype)
    sizes_in_run = apply_one("GatherV2", apply_one("Shape", x), _axes(op), 0)
    return apply_one("Cast", apply_one("Prod", sizes_in_run, [0]), DstT=dtype)


@gradient("Mean")
def _mean(op: Operation, grad: Tensor) -> list[Tensor | None]:
    # Dividing before repeating divides fewer numbers.
    return [_spread(op, grad / _count(op)), None]


@gradient("Max", "Min")
def _extremum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    # Equal extremes share the gradient.
    x = op.inputs[0]
    chosen = apply_one("Equal", _kept(op, op.outputs[0]), x)
    indicators = apply_one("Cast", chosen, DstT=grad.dtype.base)
    number = apply_one("Sum", indicators, op.inputs[1], keep_dims=True)
    return [indicators / number * _kept(op, grad), None]


@gradient("EuclideanNorm")
def _euclidean_norm(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [op.inputs[0] / _kept(op, op.outputs[0]) * _kept(op, grad), None]


@gradient("Prod")
def _prod(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """The product of the other elements, from running products on both sides, so that zeros are no trouble.

    The reduced axes are brought to the front and made one.
    """
    x = op.inputs[0]
    shape, axes = shape_of(x), _axes(op)
    spread = apply_one("BroadcastTo", _kept(op, grad), shape)
    everything = apply_one("Range", 0, rank_of(x), 1)
    others = apply_one("ListDiff", everything, axes)[0]
    reduced = apply_one("ListDiff", everything, others)[0]
    perm = apply_one("ConcatV2", [reduced, others], 0)

    def number(of: Tensor) -> Tensor:
        return apply_one("Prod", apply_one("GatherV2", shape, of, 0), [0])

    permuted = apply_one("Transpose", x, perm)
    flat = apply_one("Reshape", permuted, apply_one("Pack", [number(reduced), number(others)], axis=0))
    before = apply_one("Cumprod", flat, 0, exclusive=True)
    after = apply_one("Cumprod", flat, 0, exclusive=True, reverse=True)
    rest = apply_one("Reshape", conj(before * after), apply_one("Shape", permuted))
    return [spread * apply_one("Transpose", rest, apply_one("InvertPermutation", perm)), None]
