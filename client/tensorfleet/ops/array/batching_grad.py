"""Gradients of `batching` and `sorting`: the gradient of a block op is its inverse."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

_INVERSE = {
    "SpaceToBatch": "BatchToSpace",
    "BatchToSpace": "SpaceToBatch",
    "SpaceToBatchND": "BatchToSpaceND",
    "BatchToSpaceND": "SpaceToBatchND",
}

no_rule("LowerBound", "UpperBound", "UnravelIndex", "Bincount", "DenseBincount")


@gradient("SpaceToBatch", "BatchToSpace")
def _square(op: Operation, grad: Tensor) -> list[Tensor | None]:
    block = op.attrs["block_size"]
    return [apply_one(_INVERSE[op.type], grad, op.inputs[1], block_size=block), None]


@gradient("SpaceToBatchND", "BatchToSpaceND")
def _general(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [apply_one(_INVERSE[op.type], grad, *op.inputs[1:]), None, None]
