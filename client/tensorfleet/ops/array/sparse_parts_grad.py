"""Gradients of `sparse_tensor` and `sparse_parts`."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

not_differentiable("SparseConcat")
no_rule("SparseSplit", "SparseReshape", "SparseSliceGrad", "SparseFillEmptyRowsGrad")


@gradient("SparseSlice")
def _sparse_slice(op: Operation, _: Any, grad: Tensor, __: Any) -> list[Tensor | None]:
    indices, _values, _shape, start, _size = op.inputs
    found = apply_one("SparseSliceGrad", grad, indices, start, op.outputs[0])
    return [None, found, None, None, None]


@gradient("SparseFillEmptyRows")
def _sparse_fill_empty_rows(op: Operation, *grads: Any) -> list[Tensor | None]:
    values, default = apply_op("SparseFillEmptyRowsGrad", op.outputs[3], grads[1])
    return [None, values, None, default]
