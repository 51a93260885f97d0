"""Kernels of `tensorfleet.ops.math.elementwise`: functions of one input."""

from __future__ import annotations

from typing import Any

from tensorfleet_service.kernels.common import SMALL_FLOATS, invalid, through_float32, unary
from tensorfleet_service.kernels.registry import Expression, Kernel, KernelNode, expression, kernel

BLOCKWISE_UFUNCS = {
    "Sign": "sign",
    "Square": "square",
    "Sqrt": "sqrt",
    "Exp": "exp",
    "Expm1": "expm1",
    "Log": "log",
    "Log1p": "log1p",
    "Sin": "sin",
    "Cos": "cos",
    "Tanh": "tanh",
    "Ceil": "ceil",
    "Floor": "floor",
    "Rint": "rint",
    "Reciprocal": "reciprocal",
    "Inv": "reciprocal",
}
"""Ops that are one ufunc of NumPy, by themselves and in the groups of `fusion`."""

_UFUNCS = {
    **BLOCKWISE_UFUNCS,
    # In no group; the last three give bools.
    "Tan": "tan",
    "Asin": "arcsin",
    "Acos": "arccos",
    "Atan": "arctan",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Asinh": "arcsinh",
    "Acosh": "arccosh",
    "Atanh": "arctanh",
    "IsNan": "isnan",
    "IsInf": "isinf",
    "IsFinite": "isfinite",
}

expression("Neg", "-{0}")
expression("Abs", "abs({0})")


@kernel(*_UFUNCS)
def _ufunc(node: KernelNode) -> Expression:
    return unary(getattr(node.xp, _UFUNCS[node.op]))


@kernel("Round")
def _round(node: KernelNode) -> Expression:
    return Expression("{0}") if node.input_types[0].is_integer else unary(node.xp.rint)


@kernel("Rsqrt")
def _rsqrt(node: KernelNode) -> Expression:
    xp = node.xp

    def rsqrt(x: Any) -> Any:
        return xp.reciprocal(xp.sqrt(x))

    return unary(through_float32(rsqrt, node.input_types[0]))


@kernel("Sigmoid")
def _sigmoid(node: KernelNode) -> Expression:
    xp = node.xp
    dtype = node.input_types[0]
    if dtype.is_complex:
        return Expression("1 / (1 + exp(-{0}))", {"exp": xp.exp})
    if dtype not in SMALL_FLOATS:
        # Where e⁻ˣ overflows, the quotient is 0, as it should be.
        return Expression("reciprocal(exp(-{0}) + 1)", {"exp": xp.exp, "reciprocal": xp.reciprocal})

    def sigmoid(x: Any) -> Any:
        return xp.reciprocal(xp.exp(-x) + 1)

    return unary(through_float32(sigmoid, dtype))


@kernel("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad")
def _from_output(node: KernelNode) -> Kernel:
    """The gradient of a function from its output y and the gradient dy that arrives there."""
    xp = node.xp
    dtype = node.input_types[0]
    is_complex = dtype.is_complex
    # The callers of the other two do it, as in TensorFlow.
    conjugates = is_complex and node.op not in ("TanhGrad", "SigmoidGrad")

    def tanh_grad(y: Any, dy: Any) -> Any:
        slope = y * y
        slope *= slope.dtype.type(-1)
        slope += slope.dtype.type(1)
        slope *= dy
        return slope

    def sigmoid_grad(y: Any, dy: Any) -> Any:
        slope = y.dtype.type(1) - y
        slope *= y
        slope *= dy
        return slope

    def sqrt_grad(y: Any, dy: Any) -> Any:
        # Nothing arrives, nothing goes on, not even through the infinite slope at 0.
        return xp.where(dy == 0, dy, y.dtype.type(0.5) * dy / y)

    def rsqrt_grad(y: Any, dy: Any) -> Any:
        return xp.where(dy == 0, dy, y.dtype.type(-0.5) * (dy * y) * (y * y))

    def reciprocal_grad(y: Any, dy: Any) -> Any:
        slope = -y
        slope *= dy
        slope *= y
        return slope

    functions = {
        "TanhGrad": tanh_grad,
        "SigmoidGrad": sigmoid_grad,
        "SqrtGrad": sqrt_grad,
        "RsqrtGrad": rsqrt_grad,
        "ReciprocalGrad": reciprocal_grad,
        "InvGrad": reciprocal_grad,
    }
    function = functions[node.op]

    def run(y: Any, dy: Any) -> Any:
        if y.shape != dy.shape:
            if y.size != dy.size:
                raise invalid(
                    "The two arguments to a cwise op must have same number of elements, "
                    f"got {y.size} and {dy.size}"
                )
            dy = dy.reshape(y.shape)
        return function(xp.conj(y) if conjugates else y, dy)

    return run if is_complex else through_float32(run, dtype)
