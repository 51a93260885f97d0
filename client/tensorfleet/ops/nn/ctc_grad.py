"""Gradients of `ctc`."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

not_differentiable("CTCGreedyDecoder", "CTCBeamSearchDecoder")


@gradient("CTCLoss")
def _ctc_loss(op: Operation, grad: Tensor, _: Any) -> list[Tensor | None]:
    # The kernel computes the gradient together with the loss, and has none of the gradient itself.
    message = "ctc_loss has no second derivative"
    scale = apply_one("ExpandDims", grad, -1)
    gradient_of_inputs = apply_one("PreventGradient", op.outputs[1], message=message)
    return [apply_one("Mul", scale, gradient_of_inputs), None, None, None]
