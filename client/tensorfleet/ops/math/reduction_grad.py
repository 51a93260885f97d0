"""Gradients of `reduction`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.dims import num_elements
from tensorfleet.graph import hints
from tensorfleet.graph.convert import constant_node
from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array import constants
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, ints, rank_of, shape_of, size_of

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
    axes = cast(op.inputs[1], np.int32)
    if axes.ndim != 1:
        axes = apply_one("Reshape", axes, [-1])
    rank = size_of(shape_of(op.inputs[0]))
    return apply_one("FloorMod", axes + rank, rank, name="mod")


def _kept_shape(op: Operation) -> Any:
    """The shape of the output, with the reduced axes kept as size 1."""
    x, axes = op.inputs[0], _static_axes(op)
    if axes is not None:
        assert x.dims is not None
        sizes = [1 if axis in axes else size for axis, size in enumerate(x.dims)]
        if None not in sizes:
            return np.array(sizes, np.int32)
    shape = shape_of(x)
    reduced = _axes(op)
    size = size_of(shape)
    everything = constants.range(0, size)
    ones = constants.fill(shape_of(reduced), constant_node(np.int32(1), "ones/Const"), "ones")
    return apply_one("DynamicStitch", [everything, reduced], [shape, ones])


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
    return apply_one("Reshape", value, _kept_shape(op))


def _spread(op: Operation, grad: Tensor) -> Tensor:
    """The gradient of the output, repeated along the reduced axes; the node is named as TensorFlow's Tile."""
    x, axes = op.inputs[0], _static_axes(op)
    if axes is None or (None in (x.dims or ()) and len(axes) != x.ndim):
        # A BroadcastTo, as the multiples of TensorFlow's Tile would have to be computed in the run.
        return apply_one("BroadcastTo", _kept(op, grad), shape_of(x), name="Tile")
    assert x.dims is not None
    if len(axes) == x.ndim:
        ones = apply_one("Reshape", grad, np.ones(x.ndim, np.int32))
        shape = ints(x.dims) if None not in x.dims else apply_one("Shape", x)
        return apply_one("Tile", ones, shape)
    kept = [1 if axis in axes else size for axis, size in enumerate(x.dims)]
    multiples = [size if axis in axes else 1 for axis, size in enumerate(x.dims)]
    ones = apply_one("Reshape", grad, np.array(kept, np.int32))
    return apply_one("Tile", ones, np.array(multiples, np.int32))


@gradient("Sum")
def _sum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [_spread(op, grad), None]


@gradient("Mean")
def _mean(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, result = op.inputs[0], op.outputs[0]
    total = _spread(op, grad)
    sizes = num_elements(x.dims), num_elements(result.dims)
    if sizes[0] is not None and sizes[1] is not None:
        count: Any = constant_node(
            np.array(sizes[0] // max(sizes[1], 1)).astype(total.dtype.base.np)[()], "Const"
        )
    else:
        before, after = (_product(shape_of(tensor)) for tensor in (x, result))
        count = cast(before // apply_one("Maximum", after, 1), total.dtype.base)
    quotient = total / count
    return [hints.scaled(quotient), None]


def _product(sizes: Tensor) -> Any:
    """The product of a vector of sizes."""
    return apply_one("Prod", sizes, ints([0]))


@gradient("Max", "Min")
def _extremum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    # Equal extremes share the gradient equally.
    x = op.inputs[0]
    shape = _kept_shape(op)
    result, spread = (apply_one("Reshape", tensor, shape) for tensor in (op.outputs[0], grad))
    indicators = cast(apply_one("Equal", result, x), grad.dtype.base)
    number = apply_one("Reshape", apply_one("Sum", indicators, op.inputs[1]), shape)
    return [indicators / number * spread, None]


@gradient("EuclideanNorm")
def _euclidean_norm(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [op.inputs[0] / _kept(op, op.outputs[0]) * _kept(op, grad), None]


@gradient("Prod")
def _prod(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """The product of the other elements, from running products on both sides, which also holds for zeros.

    The reduced axes are moved to the front and joined into one.
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
