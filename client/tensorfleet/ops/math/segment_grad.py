"""Gradients of `segment`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, like, rank_of, shape_of, where

_FLOATS = (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64)


def _gather(rows: Tensor, ids: Tensor) -> Tensor:
    return apply_one("GatherV2", rows, ids, 0)


def _beside(ids: Tensor, data: Tensor) -> Tensor:
    """`ids` with further dimensions of size 1, so that it is broadcast to `data`."""
    if ids.ndim is not None and ids.ndim == data.ndim:
        return ids
    ones = apply_one("Fill", apply_one("ExpandDims", rank_of(data) - rank_of(ids), 0), 1)
    return apply_one("Reshape", ids, apply_one("ConcatV2", [shape_of(ids), ones], 0))


def _gather_or_zero(rows: Tensor, ids: Tensor) -> Tensor:
    """The rows that `ids` name; zeros for negative ids, which belong to no segment."""
    found = _gather(rows, apply_one("Maximum", ids, like(0, ids)))
    inside = apply_one("GreaterEqual", ids, like(0, ids))
    return where(_beside(inside, found), found, like(0, found))


def _total(op: Operation, values: Tensor) -> Tensor:
    """The sum of values over each segment of the operation."""
    if op.type.startswith("Unsorted"):
        return apply_one("UnsortedSegmentSum", values, op.inputs[1], op.inputs[2])
    return apply_one("SegmentSum", values, op.inputs[1])


def _spread(op: Operation, rows: Tensor) -> Tensor:
    """For each element the row of its segment."""
    return (_gather_or_zero if op.type.startswith("Unsorted") else _gather)(rows, op.inputs[1])


def _only_data(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [grad] + [None] * (len(op.inputs) - 1)


@gradient("SegmentSum", "UnsortedSegmentSum")
def _segment_sum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return _only_data(op, _spread(op, grad))


@gradient("SegmentMean")
def _segment_mean(op: Operation, grad: Tensor) -> list[Tensor | None]:
    data, ids = op.inputs
    ones = _beside(apply_one("Fill", shape_of(ids), like(1, data)), data)
    return _only_data(op, _gather(grad / apply_one("SegmentSum", ones, ids), ids))


@gradient("SegmentMin", "SegmentMax", "UnsortedSegmentMin", "UnsortedSegmentMax")
def _segment_extremum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    # Equal extremes share the gradient.
    data = op.inputs[0]
    chosen = apply_one("Equal", data, _spread(op, op.outputs[0]))
    if op.type.startswith("Unsorted"):
        inside = apply_one("GreaterEqual", op.inputs[1], like(0, op.inputs[1]))
        chosen = apply_one("LogicalAnd", chosen, _beside(inside, data))
    number = _total(op, apply_one("Cast", chosen, DstT=grad.dtype.base))
    return _only_data(op, where(chosen, _spread(op, grad / number), like(0, data)))


@gradient("SegmentProd", "UnsortedSegmentProd")
def _segment_prod(op: Operation, grad: Tensor) -> list[Tensor | None]:
    # The product of the other elements is the product divided by the element. Where the element is zero,
    # it is the product of the non-zero ones, or zero if another element is zero too.
    data = op.inputs[0]
    is_zero = apply_one("Equal", data, like(0, data))
    zeros = _total(op, apply_one("Cast", is_zero, DstT=np.int32))
    grad = where(zeros > ints(1), zeros_like(grad), grad)
    others = apply_one(op.type, where(is_zero, like(1, data), data), *op.inputs[1:])
    quotient = _spread(op, op.outputs[0]) / data
    return _only_data(op, _spread(op, grad) * where(is_zero, _spread(op, others), quotient))


_SPARSE = tuple(
    f"SparseSegment{name}{suffix}" for name in ("Sum", "Mean", "SqrtN") for suffix in ("", "WithNumSegments")
)


@gradient(*_SPARSE)
def _sparse_segment(op: Operation, grad: Tensor) -> list[Any]:
    data, indices, ids = op.inputs[:3]
    kind = op.type.removesuffix("WithNumSegments")
    rows = apply_one("GatherV2", shape_of(data), 0, 0)
    found: Any
    if kind == "SparseSegmentSum" and data.dtype.base not in _FLOATS:
        found = apply_one("UnsortedSegmentSum", _gather(grad, ids), indices, rows)
    elif op.attrs["sparse_gradient"]:
        values, places = apply_op(f"{kind}GradV2", grad, indices, ids, rows)
        found = IndexedSlices(values, places, shape_of(data))
    else:
        found = apply_one(f"{kind}Grad", grad, indices, ids, rows)
    return [found] + [None] * (len(op.inputs) - 1)


no_rule(*(f"SparseSegment{name}Grad{suffix}" for name in ("Sum", "Mean", "SqrtN") for suffix in ("", "V2")))
