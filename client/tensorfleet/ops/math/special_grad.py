"""Gradients of `special`."""

from __future__ import annotations

import math

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import like, reduced


@gradient("Erf", "Erfc")
def _erf(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    factor = 2 / math.sqrt(math.pi)
    scaled = grad * like(factor if op.type == "Erf" else -factor, x)
    return scaled * apply_one("Exp", -apply_one("Square", x))


@gradient("Erfinv")
def _erfinv(op: Operation, grad: Tensor) -> Tensor:
    y = op.outputs[0]
    return grad * like(math.sqrt(math.pi) / 2, y) * apply_one("Exp", apply_one("Square", y))


@gradient("Ndtri")
def _ndtri(op: Operation, grad: Tensor) -> Tensor:
    y = op.outputs[0]
    return grad * like(math.sqrt(2 * math.pi), y) * apply_one("Exp", apply_one("Square", y) / like(2, y))


@gradient("Lgamma")
def _lgamma(op: Operation, grad: Tensor) -> Tensor:
    return grad * apply_one("Digamma", op.inputs[0])


@gradient("Digamma")
def _digamma(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    return grad * apply_one("Polygamma", like(1, x), x)


@gradient("Polygamma")
def _polygamma(op: Operation, grad: Tensor) -> list[Tensor | None]:
    n, x = op.inputs
    return [None, reduced(op, grad, grad * apply_one("Polygamma", n + like(1, n), x))[1]]


@gradient("Zeta")
def _zeta(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, q = op.inputs
    return [None, reduced(op, grad, grad * (-x * apply_one("Zeta", x + like(1, x), q)))[1]]
