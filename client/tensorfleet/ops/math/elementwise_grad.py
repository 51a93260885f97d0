"""Gradients of `elementwise`. Those of complex functions are taken at the conjugate."""

from __future__ import annotations

from collections.abc import Callable

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, like

not_differentiable("IsNan", "IsInf", "IsFinite")


def _one_and_square(op_type: str, name: str, x: Tensor) -> Tensor:
    square = apply_one("Square", x)
    return apply_one(op_type, like(1, x), square, name=name)


def _root_of_one_less_square(x: Tensor) -> Tensor:
    return apply_one("Sqrt", _one_and_square("Sub", "Sub", x))


_OF_INPUT: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": lambda x: apply_one("Sign", x),
    "Expm1": lambda x: apply_one("Exp", x),
    "Log": lambda x: apply_one("Reciprocal", x),
    "Log1p": lambda x: apply_one("Reciprocal", 1 + x),
    "Sin": lambda x: apply_one("Cos", x),
    "Asin": lambda x: apply_one("Reciprocal", _root_of_one_less_square(x)),
    "Atan": lambda x: apply_one("Reciprocal", _one_and_square("AddV2", "Add", x)),
    "Sinh": lambda x: apply_one("Cosh", x),
    "Cosh": lambda x: apply_one("Sinh", x),
    "Atanh": lambda x: apply_one("Reciprocal", _one_and_square("Sub", "Sub", x)),
}
_OF_OUTPUT: dict[str, Callable[[Tensor], Tensor]] = {
    "Exp": lambda y: y,
    "Asinh": lambda y: apply_one("Reciprocal", apply_one("Cosh", y)),
    "Acosh": lambda y: apply_one("Reciprocal", apply_one("Sinh", y)),
}
_BY_GRAD_OP = ("Sqrt", "Rsqrt", "Tanh", "Sigmoid", "Reciprocal", "Inv")
_NOT_CONJUGATING = (
    "Tanh",
    "Sigmoid",
)  # the kernels of these gradients do not conjugate, as TensorFlow's do not


@gradient(*_OF_INPUT)
def _of_input(op: Operation, grad: Tensor) -> Tensor:
    return grad * _OF_INPUT[op.type](conj(op.inputs[0]))


@gradient("Square")
def _square(op: Operation, grad: Tensor) -> Tensor:
    x = conj(op.inputs[0])
    return apply_one("Mul", grad, apply_one("Mul", x, like(2, x)))


@gradient("Cos")
def _cos(op: Operation, grad: Tensor) -> Tensor:
    x = conj(op.inputs[0])
    return -grad * apply_one("Sin", x)


@gradient("Tan")
def _tan(op: Operation, grad: Tensor) -> Tensor:
    x = conj(op.inputs[0])
    return apply_one("Square", apply_one("Reciprocal", apply_one("Cos", x))) * grad


@gradient("Acos")
def _acos(op: Operation, grad: Tensor) -> Tensor:
    x = conj(op.inputs[0])
    return -grad * apply_one("Reciprocal", _root_of_one_less_square(x))


@gradient(*_OF_OUTPUT)
def _of_output(op: Operation, grad: Tensor) -> Tensor:
    return grad * _OF_OUTPUT[op.type](conj(op.outputs[0]))


@gradient(*_BY_GRAD_OP)
def _by_grad_op(op: Operation, grad: Tensor) -> Tensor:
    y = op.outputs[0]
    return apply_one(f"{op.type}Grad", conj(y) if op.type in _NOT_CONJUGATING else y, grad)


@gradient("Neg")
def _neg(op: Operation, grad: Tensor) -> Tensor:
    return -grad


@gradient("Sign")
def _sign(op: Operation, grad: Tensor) -> Tensor:
    return zeros_like(op.inputs[0])


@gradient("Round", "Rint", "Ceil", "Floor")
def _steps(op: Operation, grad: Tensor) -> None:
    return None


# Second derivatives: gradients of the ops that the rules above make, which take an output y and a gradient.


@gradient("TanhGrad")
def _tanh_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    y, dy = (conj(t) for t in op.inputs)
    return [grad * like(-2, y) * dy * y, apply_one("TanhGrad", y, grad)]


@gradient("SigmoidGrad")
def _sigmoid_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    y, dy = (conj(t) for t in op.inputs)
    slope = grad * dy
    return [slope - like(2, y) * slope * y, apply_one("SigmoidGrad", y, grad)]


@gradient("SqrtGrad")
def _sqrt_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    y = op.inputs[0]
    per_y = grad / conj(y)
    return [-per_y * conj(op.outputs[0]), like(0.5, y) * per_y]


@gradient("RsqrtGrad")
def _rsqrt_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    y, dy = (conj(t) for t in op.inputs)
    return [like(-1.5, y) * grad * dy * apply_one("Square", y), apply_one("RsqrtGrad", y, grad)]


@gradient("ReciprocalGrad", "InvGrad")
def _reciprocal_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    y, dy = (conj(t) for t in op.inputs)
    return [grad * like(-2, y) * dy * y, apply_one(op.type, y, grad)]
