"""Gradients of random ops with a state, and of stateless ones: only gamma samples have one."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

no_rule(
    *("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniformFullInt"),
    *("StatefulUniformInt", "NonDeterministicInts", "RngReadAndSkip", "RngSkip", "StatelessShuffle"),
)
not_differentiable("StatelessRandomPoisson")


@gradient("StatelessRandomGammaV2", "StatelessRandomGammaV3")
def _gamma(op: Operation, grad: Tensor) -> list[Any]:
    """By the derivative of a sample at its alpha, whose shape is the end of the samples' shape."""
    alpha = op.inputs[-1]
    slopes = apply_one("RandomGammaGrad", alpha, op.outputs[0])
    extra = apply_one("Rank", op.outputs[0]) - apply_one("Rank", alpha)
    summed = apply_one("Sum", grad * slopes, apply_one("Range", 0, extra, 1))
    return [*[None] * (len(op.inputs) - 1), apply_one("Reshape", summed, apply_one("Shape", alpha))]
