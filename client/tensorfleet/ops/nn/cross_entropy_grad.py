"""Gradients of `cross_entropy`."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints


def _is_used(grad: Any) -> bool:
    """Whether a gradient is not just the zeros that stand for no gradient."""
    if grad is None or grad.op.type == "ZerosLike":
        return False
    value = static_value(grad.op.inputs[1] if grad.op.type == "Fill" else grad)
    return value is None or bool(value.any())


@gradient("SoftmaxCrossEntropyWithLogits")
def _softmax_cross_entropy(op: Operation, grad: Any, backprop_grad: Any) -> list[Any]:
    logits = op.inputs[0]
    to_logits: Any = apply_one("ExpandDims", grad, -1) * op.outputs[1]
    if _is_used(backprop_grad):
        # The backprop output is softmax - labels; second derivatives need its derivative.
        softmax: Any = apply_one("Softmax", logits)
        mean = apply_one("Sum", backprop_grad * softmax, ints([-1]), keep_dims=True)
        to_logits = to_logits + (backprop_grad - mean) * softmax
    to_labels = apply_one("ExpandDims", grad, -1) * -apply_one("LogSoftmax", logits)
    return [to_logits, to_labels]


@gradient("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_softmax_cross_entropy(op: Operation, grad: Any, backprop_grad: Any) -> list[Any]:
    to_logits: Any = apply_one("ExpandDims", grad, -1) * op.outputs[1]
    if _is_used(backprop_grad):
        softmax: Any = apply_one("Softmax", op.inputs[0])
        mean = apply_one("Sum", backprop_grad * softmax, ints([-1]), keep_dims=True)
        to_logits = to_logits + (backprop_grad - mean) * softmax
    return [to_logits, None]
