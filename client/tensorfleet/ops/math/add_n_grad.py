"""Gradients of `add_n`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor


@gradient("AddN", "AccumulateNV2")
def _add_n(op: Operation, grad: Tensor) -> list[Tensor]:
    return [grad] * len(op.inputs)
