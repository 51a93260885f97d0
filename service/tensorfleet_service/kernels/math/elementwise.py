"""Kernels of `tensorfleet.ops.math.elementwise`: functions of one input."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet_service.kernels.common import SMALL_FLOATS, through_float32, unary
from tensorfleet_service.kernels.math.formulas import formula_expression, formula_function, rounded_formula
from tensorfleet_service.kernels.registry import Expression, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid

_UFUNCS = {
    "Tan": "tan",
    "Asin": "arcsin",
    "Acos": "arccos",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Asinh": "arcsinh",
    "Acosh": "arccosh",
    "Atanh": "arctanh",
    "IsNan": "isnan",
    "IsInf": "isinf",
    "IsFinite": "isfinite",
}
"""Ops that are one ufunc, and in no fused group; the last three give bools."""


@kernel(*_UFUNCS)
def _ufunc(node: KernelNode) -> Expression:
    return unary(getattr(node.xp, _UFUNCS[node.op]))


@kernel(
    *("Neg", "Abs", "Sign", "Square", "Sqrt", "Reciprocal", "Inv", "Exp", "Expm1", "Log", "Log1p"),
    *("Sin", "Cos", "Tanh", "Atan", "Ceil", "Floor", "Rint"),
)
def _one_operation(node: KernelNode) -> Expression:
    return formula_expression(node.op, node.xp, node.input_types[0])


@kernel("Round")
def _round(node: KernelNode) -> Expression:
    dtype = node.input_types[0]
    return Expression("{0}") if dtype.is_integer else formula_expression(node.op, node.xp, dtype)


@kernel("Rsqrt")
def _rsqrt(node: KernelNode) -> Expression:
    return rounded_formula(node.op, node.xp, node.input_types[0])


@kernel("Sigmoid")
def _sigmoid(node: KernelNode) -> Expression:
    if node.input_types[0].is_complex:
        return Expression("1 / (1 + exp(-{0}))", {"exp": node.xp.exp})
    return rounded_formula(node.op, node.xp, node.input_types[0])


@kernel("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad")
def _from_output(node: KernelNode) -> Kernel:
    """The gradient of a function from its output y and the gradient dy that arrives there."""
    xp = node.xp
    dtype = node.input_types[0]
    is_complex = dtype.is_complex
    # The gradient functions of the other two conjugate, as in TensorFlow.
    conjugates = is_complex and node.op not in ("TanhGrad", "SigmoidGrad")

    def sqrt_grad(y: Any, dy: Any) -> Any:
        # A gradient of 0 stays 0, even where the slope is infinite.
        return xp.where(dy == 0, dy, y.dtype.type(0.5) * dy / y)

    def rsqrt_grad(y: Any, dy: Any) -> Any:
        return xp.where(dy == 0, dy, y.dtype.type(-0.5) * (dy * y) * (y * y))

    # A small float is computed in float32.
    computed_in = dtypes.float32 if dtype in SMALL_FLOATS else dtype
    functions = {"SqrtGrad": sqrt_grad, "RsqrtGrad": rsqrt_grad}
    function = functions.get(node.op) or formula_function(node.op, xp, computed_in)

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
