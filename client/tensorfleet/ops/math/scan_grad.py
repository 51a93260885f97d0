"""Gradients of `scan`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, like, where


@gradient("Cumsum")
def _cumsum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    attrs = op.attrs
    result = apply_one(
        "Cumsum", grad, op.inputs[1], exclusive=attrs["exclusive"], reverse=not attrs["reverse"]
    )
    return [result, None]


@gradient("Cumprod")
def _cumprod(op: Operation, grad: Tensor) -> list[Tensor | None]:
    attrs = op.attrs
    x, axis = op.inputs
    total = apply_one(
        "Cumsum",
        conj(op.outputs[0]) * grad,
        axis,
        exclusive=attrs["exclusive"],
        reverse=not attrs["reverse"],
    )
    return [total / conj(x), None]


@gradient("CumulativeLogsumexp")
def _cumulative_logsumexp(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, axis = op.inputs
    result = op.outputs[0]
    attrs = {"exclusive": op.attrs["exclusive"], "reverse": not op.attrs["reverse"]}

    def part(share: Tensor) -> Tensor:
        """The sum of gradients, given as their logarithms `share`, at each x."""
        total = apply_one("CumulativeLogsumexp", share - result, axis, **attrs)
        return apply_one("Exp", total + x)

    least = like(grad.dtype.base.min, grad)
    # Positive and negative gradients are summed separately, as their logarithms are.
    positive, negative = (
        where(chosen, apply_one("Log", where(chosen, value, like(1, grad))), least)
        for chosen, value in (
            (apply_one("Greater", grad, like(0, grad)), grad),
            (apply_one("Less", grad, like(0, grad)), -grad),
        )
    )
    return [part(positive) - part(negative), None]
