"""Gradients of `logging`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices

not_differentiable("Assert", "PrintV2", "StringFormat", "Timestamp")


@gradient("Print", slices=True)
def _print(op: Operation, grad: Tensor | IndexedSlices) -> list[Tensor | IndexedSlices | None]:
    return [grad] + [None] * (len(op.inputs) - 1)
