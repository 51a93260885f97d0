"""Gradients of `scan`."""

from __future__ import annotations

from tensorfleet.gradient_registry import gradient
from tensorfleet.operation import Operation
from tensorfleet.ops.gradient_common import conj
from tensorfleet.ops.math_common import apply_one
from tensorfleet.tensor import Tensor


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
