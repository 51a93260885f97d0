"""Gradients of `sparse_tensor`."""

from __future__ import annotations

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import size_of

no_rule("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap")
no_rule("SerializeSparse", "SerializeManySparse", "DeserializeSparse", "DeserializeManySparse")


@gradient("SparseReorder")
def _sparse_reorder(op: Operation, _: Tensor | None, grad: Tensor) -> list[Tensor | None]:
    indices, values, shape = op.inputs
    places = apply_one("Range", 0, size_of(values), 1)
    _, order = apply_op("SparseReorder", indices, places, shape)
    return [None, apply_one("GatherV2", grad, apply_one("InvertPermutation", order), 0), None]
