"""Gradients of `quantization`."""

from __future__ import annotations

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import like, summed_to, where

not_differentiable("FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVarsGradient")
not_differentiable("FakeQuantWithMinMaxVarsPerChannelGradient")


@gradient("FakeQuantWithMinMaxArgs")
def _args(op: Operation, grad: Tensor) -> Tensor:
    attrs = {key: op.attrs[key] for key in ("min", "max", "num_bits", "narrow_range")}
    return apply_one("FakeQuantWithMinMaxArgsGradient", grad, op.inputs[0], **attrs)


@gradient("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def _vars(op: Operation, grad: Tensor) -> list[Tensor]:
    attrs = {key: op.attrs[key] for key in ("num_bits", "narrow_range")}
    return list(apply_op(op.type + "Gradient", grad, *op.inputs, **attrs))


@gradient("ClipByValue")
def _clip(op: Operation, grad: Tensor) -> list[Tensor]:
    x, low, high = op.inputs
    zero = like(0, grad)
    below, above = apply_one("Less", x, low), apply_one("Greater", x, high)
    inside = where(apply_one("LogicalOr", below, above), zero, grad)
    result = op.outputs[0]
    return [
        summed_to(inside, result, x),
        summed_to(where(below, grad, zero), result, low),
        summed_to(where(above, grad, zero), result, high),
    ]
