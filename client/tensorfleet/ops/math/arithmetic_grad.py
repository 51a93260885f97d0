"""Gradients of `arithmetic`."""

from __future__ import annotations

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import constant
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array import constants
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, like, reduced, where


@gradient("Add", "AddV2")
def _add(op: Operation, grad: Tensor) -> list[Tensor]:
    return reduced(op, grad, grad)


@gradient("Sub")
def _sub(op: Operation, grad: Tensor) -> list[Tensor]:
    return reduced(op, grad, -grad)


@gradient("Mul")
def _mul(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    same = x.dims == y.dims == grad.dims and x.dims is not None and None not in x.dims
    if same and grad.dtype.base in (dtypes.float32, dtypes.int32):
        return [apply_one("Mul", grad, y), apply_one("Mul", grad, x)]
    return reduced(op, apply_one("Mul", grad, conj(y)), apply_one("Mul", conj(x), grad))


@gradient("MulNoNan")
def _mul_no_nan(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    return reduced(op, apply_one("MulNoNan", grad, y), apply_one("MulNoNan", x, grad))


@gradient("Div", "RealDiv")
def _div(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    x, y = conj(x), conj(y)
    first = apply_one("RealDiv", grad, y)
    return reduced(op, first, grad * apply_one("RealDiv", apply_one("RealDiv", -x, y), y))


@gradient("DivNoNan")
def _div_no_nan(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    x, y = conj(x), conj(y)
    first = apply_one("DivNoNan", grad, y, name="div_no_nan")
    quotient = apply_one("DivNoNan", -x, y, name="div_no_nan")
    return reduced(op, first, grad * apply_one("DivNoNan", quotient, y, name="div_no_nan"))


@gradient("FloorDiv", "TruncateDiv")
def _integer_quotient(op: Operation, grad: Tensor) -> list[None]:
    return [None, None]


@gradient("FloorMod")
def _floor_mod(op: Operation, grad: Tensor) -> list[Tensor]:
    return reduced(op, grad, grad * -apply_one("FloorDiv", *op.inputs))


@gradient("Mod", "TruncateMod")
def _truncate_mod(op: Operation, grad: Tensor) -> list[Tensor]:
    return reduced(op, grad, grad * -apply_one("TruncateDiv", *op.inputs))


@gradient("Pow")
def _pow(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    z = conj(op.outputs[0])
    x, y = conj(x), conj(y)
    x_grad = grad * y * apply_one("Pow", x, y - 1)
    # The logarithm is taken only where it is finite, as a zero gradient times infinity would be NaN.
    exists = apply_one("NotEqual", x, 0) if x.dtype.base.is_complex else x > 0
    logarithm = apply_one("Log", apply_one("Select", exists, x, constants.ones_like(x)))
    logarithm = apply_one("Select", exists, logarithm, zeros_like(x))
    return reduced(op, x_grad, grad * z * logarithm)


@gradient("SquaredDifference")
def _squared_difference(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    doubled = apply_one("Mul", constant(2, grad.dtype.base, name="scalar"), grad)
    x_grad = doubled * (x - y)
    return reduced(op, x_grad, -x_grad)


@gradient("Maximum", "Minimum")
def _extremum(op: Operation, grad: Tensor) -> list[Tensor]:
    # Where both are equal, x gets the gradient.
    zero = zeros_like(grad)
    x_wins = apply_one("GreaterEqual" if op.type == "Maximum" else "LessEqual", *op.inputs)
    return reduced(op, where(x_wins, grad, zero), where(x_wins, zero, grad))


@gradient("Atan2")
def _atan2(op: Operation, grad: Tensor) -> list[Tensor]:
    y, x = op.inputs
    # The square of y comes first, as in TensorFlow's graph.
    squares = apply_one("Square", y), apply_one("Square", x)
    scaled = grad / (squares[0] + squares[1])
    return reduced(op, x * scaled, -y * scaled)


@gradient("NextAfter")
def _next_after(op: Operation, grad: Tensor) -> list[Tensor]:
    x1, x2 = op.inputs
    return reduced(op, grad * apply_one("OnesLike", x1), grad * zeros_like(x2))


def _one_unless_zero(x: Tensor) -> Tensor:
    return apply_one("Cast", apply_one("NotEqual", x, like(0, x)), DstT=x.dtype.base)


@gradient("Xlogy")
def _xlogy(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    return reduced(op, grad * apply_one("Xlogy", _one_unless_zero(x), y), grad * apply_one("Xdivy", x, y))


@gradient("Xlog1py")
def _xlog1py(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    y_grad = apply_one("Xdivy", x, y + like(1, y))
    return reduced(op, grad * apply_one("Xlog1py", _one_unless_zero(x), y), grad * y_grad)


@gradient("Xdivy")
def _xdivy(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    y_grad = apply_one("Xdivy", -x, apply_one("Square", y))
    return reduced(op, grad * apply_one("Xdivy", _one_unless_zero(x), y), grad * y_grad)
