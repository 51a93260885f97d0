"""Gradients of `bessel`."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import like, reduced, summed_to, where

no_rule("IgammaGradA")


def _over(y: Tensor, x: Tensor, at_zero: float) -> Tensor:
    """y / x, with its limit where x is 0."""
    is_zero = apply_one("Equal", x, like(0, x))
    return where(is_zero, like(at_zero, x), y / where(is_zero, like(1, x), x))


def _exp(x: Tensor) -> Tensor:
    return apply_one("Exp", x)


def _angle(x: Tensor) -> Tensor:
    return like(math.pi / 2, x) * apply_one("Square", x)


def _spence(x: Tensor) -> Tensor:
    is_one = apply_one("Equal", x, like(1, x))
    rest = where(is_one, like(1, x), like(1, x) - x)
    return where(is_one, like(-1, x), apply_one("Log", x) / rest)


_SLOPES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "BesselI0": lambda x, y: apply_one("BesselI1", x),
    "BesselI0e": lambda x, y: apply_one("BesselI1e", x) - apply_one("Sign", x) * y,
    "BesselI1": lambda x, y: apply_one("BesselI0", x) - _over(y, x, 0.5),
    "BesselI1e": lambda x, y: apply_one("BesselI0e", x) - apply_one("Sign", x) * y - _over(y, x, 0.5),
    "BesselK0": lambda x, y: -apply_one("BesselK1", x),
    "BesselK0e": lambda x, y: y - apply_one("BesselK1e", x),
    "BesselK1": lambda x, y: -apply_one("BesselK0", x) - y / x,
    "BesselK1e": lambda x, y: y * (like(1, x) - apply_one("Reciprocal", x)) - apply_one("BesselK0e", x),
    "BesselJ0": lambda x, y: -apply_one("BesselJ1", x),
    "BesselJ1": lambda x, y: apply_one("BesselJ0", x) - _over(y, x, 0.5),
    "BesselY0": lambda x, y: -apply_one("BesselY1", x),
    "BesselY1": lambda x, y: apply_one("BesselY0", x) - y / x,
    "Dawsn": lambda x, y: like(1, x) - like(2, x) * x * y,
    "Expint": lambda x, y: _exp(x) / x,
    "FresnelCos": lambda x, y: apply_one("Cos", _angle(x)),
    "FresnelSin": lambda x, y: apply_one("Sin", _angle(x)),
    "Spence": lambda x, y: _spence(x),
}


@gradient(*_SLOPES)
def _of_one(op: Operation, grad: Tensor) -> Tensor:
    return grad * _SLOPES[op.type](op.inputs[0], op.outputs[0])


def _incomplete_gamma(op: Operation, grad: Tensor, sign: float) -> list[Tensor]:
    a, x = op.inputs
    grad = grad * like(sign, grad)
    density = _exp((a - like(1, a)) * apply_one("Log", x) - x - apply_one("Lgamma", a))
    return reduced(op, grad * apply_one("IgammaGradA", a, x), grad * density)


@gradient("Igamma")
def _igamma(op: Operation, grad: Tensor) -> list[Tensor]:
    return _incomplete_gamma(op, grad, 1)


@gradient("Igammac")
def _igammac(op: Operation, grad: Tensor) -> list[Tensor]:
    return _incomplete_gamma(op, grad, -1)


@gradient("Betainc")
def _betainc(op: Operation, grad: Tensor) -> list[Tensor | None]:
    a, b, x = op.inputs
    one = like(1, a)
    logarithm = apply_one("Lgamma", a) + apply_one("Lgamma", b) - apply_one("Lgamma", a + b)
    density = _exp(apply_one("Xlog1py", b - one, -x) + apply_one("Xlogy", a - one, x) - logarithm)
    # As in TensorFlow, only x gets one.
    return [None, None, summed_to(grad * density, op.outputs[0], x)]
