"""Gradients of `shaping`."""

from __future__ import annotations

from tensorfleet.graph import hints
from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import reshape_like, shape_of, summed_to

not_differentiable("Shape", "ShapeN", "Size", "Rank", "BroadcastArgs", "BroadcastGradientArgs")


@gradient("Reshape")
def _reshape(op: Operation, grad: Tensor) -> list[Tensor | None]:
    result = apply_one("Reshape", grad, shape_of(op.inputs[0]))
    if hints.UNCHANGED in op.attrs:
        hints.unchanged(result)
    return [result, None]


@gradient("ExpandDims")
def _expand_dims(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [reshape_like(grad, op.inputs[0]), None]


@gradient("Squeeze")
def _squeeze(op: Operation, grad: Tensor) -> Tensor:
    return reshape_like(grad, op.inputs[0])


@gradient("BroadcastTo")
def _broadcast_to(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [summed_to(grad, op.outputs[0], op.inputs[0]), None]
