"""Gradients of `scan`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj


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
