"""Gradients of `complex_numbers`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import like, reduced


@gradient("Conj")
def _conj(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("Conj", grad)


@gradient("Real")
def _real(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("Complex", grad, like(0, grad), Tout=op.inputs[0].dtype.base)


@gradient("Imag")
def _imag(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("Complex", like(0, grad), grad, Tout=op.inputs[0].dtype.base)


@gradient("Complex")
def _complex(op: Operation, grad: Tensor) -> list[Tensor]:
    part = op.inputs[0].dtype.base
    return reduced(op, apply_one("Real", grad, Tout=part), apply_one("Imag", grad, Tout=part))


@gradient("ComplexAbs")
def _complex_abs(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    return apply_one("Complex", grad, zeros_like(grad), Tout=x.dtype.base) * apply_one("Sign", x)


@gradient("Angle")
def _angle(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    part = grad.dtype.base
    real, imaginary = apply_one("Real", x, Tout=part), apply_one("Imag", x, Tout=part)
    inverse = apply_one("Reciprocal", apply_one("Complex", imaginary, real, Tout=x.dtype.base))
    return -inverse * apply_one("Complex", grad, zeros_like(grad), Tout=x.dtype.base)
