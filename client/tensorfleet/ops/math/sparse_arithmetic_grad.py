"""Gradients of `sparse_arithmetic`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, ints, like, rank_of, shape_of

not_differentiable("SparseAddGrad")
no_rule("SparseReduceMax", "SparseReduceMaxSparse", "SparseReduceSumSparse")


def _column(indices: Tensor, at: int) -> Tensor:
    return apply_one("GatherV2", indices, at, 1)


@gradient("SparseAdd")
def _sparse_add(op: Operation, _: Any, grad: Tensor, __: Any) -> list[Tensor | None]:
    a, b = apply_op("SparseAddGrad", grad, op.inputs[0], op.inputs[3], op.outputs[0])
    return [None, a, None, None, b, None, None]


@gradient("SparseTensorDenseAdd")
def _sparse_tensor_dense_add(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, apply_one("GatherNd", grad, op.inputs[0]), None, grad]


@gradient("SparseReduceSum")
def _sparse_reduce_sum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices, _values, shape, axes = op.inputs
    kept = _kept_shape(shape, axes)
    grad = apply_one("Reshape", grad, kept)
    # The coordinates in the sum, which are 0 along the summed dimensions.
    places = indices // (shape // apply_one("Maximum", kept, like(1, kept)))
    return [None, apply_one("GatherNd", grad, places), None, None]


def _kept_shape(shape: Tensor, axes: Tensor) -> Tensor:
    """The shape of a sum that keeps its dimensions, as an int64 vector."""
    dims, known = static_dims(shape), static_value(axes)
    if dims is not None and None not in dims and known is not None:
        kept = np.array(dims, np.int64)
        kept[known.reshape(-1)] = 1
        return apply_one("Identity", kept)
    rank: Any = apply_one("Size", shape)
    axes = apply_one("Reshape", axes, ints([-1]))
    axes = apply_one("FloorMod", axes + rank, rank)
    ones = apply_one("OnesLike", apply_one("Cast", axes, DstT=np.int64))
    return apply_one("DynamicStitch", [apply_one("Range", 0, rank, 1), axes], [shape, ones])


@gradient("SparseSoftmax")
def _sparse_softmax(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices, result, shape = op.inputs[0], op.outputs[0], op.inputs[2]
    total = apply_one("SparseReduceSum", indices, result * grad, shape, ints([-1]), keep_dims=True)
    return [None, apply_one("SparseDenseCwiseAdd", indices, grad, shape, -total) * result, None]


@gradient("SparseSparseMaximum", "SparseSparseMinimum")
def _sparse_extremum(op: Operation, _: Any, grad: Tensor) -> list[Tensor | None]:
    # The input that has the extreme gets the gradient; where both are equal, each gets half of it.
    a_indices, a, a_shape, b_indices, b, b_shape = op.inputs
    places, values = op.outputs
    of_a, of_b = apply_op("SparseAddGrad", values, a_indices, b_indices, places)
    chosen_a = apply_one("Cast", apply_one("Equal", a, of_a), DstT=grad.dtype.base)
    chosen_b = apply_one("Cast", apply_one("Equal", b, of_b), DstT=grad.dtype.base)
    number = apply_op("SparseAdd", a_indices, chosen_a, a_shape, b_indices, chosen_b, b_shape, like(0, grad))[
        1
    ]
    share = grad / apply_one("Maximum", number, like(1, number))
    grad_a, grad_b = apply_op("SparseAddGrad", share, a_indices, b_indices, places)
    return [None, grad_a * chosen_a, None, None, grad_b * chosen_b, None]


def _beside(op: Operation) -> tuple[Tensor, Tensor]:
    """The elements of the broadcast tensor that each sparse element was combined with: their coordinates and
    values.
    """
    indices, _values, shape, dense = op.inputs
    dense_shape = shape_of(dense, np.int64)
    missing: Any = apply_one("Size", shape) - rank_of(dense)
    ones = apply_one("Fill", apply_one("ExpandDims", missing, 0), np.int64(1))
    sizes = apply_one("ConcatV2", [ones, dense_shape], 0)
    places = indices // apply_one("Maximum", shape // sizes, np.int64(1))
    begin = apply_one("Pack", [ints(0), missing])
    places = apply_one("Slice", places, begin, ints([-1, -1]))
    return places, apply_one("GatherNd", dense, places)


@gradient("SparseDenseCwiseMul")
def _times_dense(op: Operation, grad: Tensor) -> list[Tensor | None]:
    places, beside = _beside(op)
    return [None, grad * conj(beside), None, _scattered(op, places, grad * conj(op.inputs[1]))]


@gradient("SparseDenseCwiseDiv")
def _by_dense(op: Operation, grad: Tensor) -> list[Tensor | None]:
    places, beside = _beside(op)
    by_dense = grad * conj(-op.inputs[1] / (beside * beside))
    return [None, grad / conj(beside), None, _scattered(op, places, by_dense)]


def _scattered(op: Operation, places: Tensor, values: Tensor) -> Tensor:
    dense = op.inputs[3]
    return apply_one("SparseTensorDenseAdd", places, values, shape_of(dense, np.int64), zeros_like(dense))


@gradient("SparseDenseCwiseAdd")
def _plus_dense(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, grad, None, _scattered(op, _beside(op)[0], grad)]


@gradient("SparseTensorDenseMatMul")
def _sparse_matmul(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices, values, shape, b = op.inputs
    adjoint_a, adjoint_b = op.attrs["adjoint_a"], op.attrs["adjoint_b"]
    b_grad = apply_one("SparseTensorDenseMatMul", indices, values, shape, grad, adjoint_a=not adjoint_a)
    if adjoint_b:
        b_grad = conj(apply_one("Transpose", b_grad, ints([1, 0])))
    rows, columns = _column(indices, 0), _column(indices, 1)
    if adjoint_a:
        rows, columns = columns, rows
    by_row = apply_one("Transpose", b, ints([1, 0])) if adjoint_b else conj(b)
    products = apply_one("GatherV2", grad, rows, 0) * apply_one("GatherV2", by_row, columns, 0)
    values_grad = apply_one("Sum", products, ints(1))
    return [None, conj(values_grad) if adjoint_a else values_grad, None, b_grad]


@gradient("SparseMatMul")
def _sparse_hinted_matmul(op: Operation, grad: Tensor) -> list[Tensor]:
    a, b = op.inputs
    sparse = {a: op.attrs["a_is_sparse"], b: op.attrs["b_is_sparse"], grad: False}

    def product(x: Tensor, y: Tensor, of: Tensor, transpose_x: bool, transpose_y: bool) -> Tensor:
        found = apply_one(
            "SparseMatMul",
            x,
            y,
            transpose_a=transpose_x,
            transpose_b=transpose_y,
            a_is_sparse=sparse[x],
            b_is_sparse=sparse[y],
        )
        return apply_one("Cast", found, DstT=of.dtype.base) if of.dtype.base is not found.dtype else found

    match op.attrs["transpose_a"], op.attrs["transpose_b"]:
        case False, False:
            return [product(grad, b, a, False, True), product(a, grad, b, True, False)]
        case False, True:
            return [product(grad, b, a, False, False), product(grad, a, b, True, False)]
        case True, False:
            return [product(b, grad, a, False, True), product(a, grad, b, False, False)]
    return [product(b, grad, a, True, True), product(grad, a, b, True, True)]
