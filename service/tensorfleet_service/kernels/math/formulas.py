"""The formulas of elementwise ops, each written once.

All that computes an op is derived from its formula: the expression or function that is its kernel
(`formula_expression`, `formula_function`), and the row of ufuncs that a fused group runs block by block
(`steps`). They apply the same ufuncs in the same order to the same elements, so their results agree bit by
bit.

A formula is Python over the inputs `{0}`, `{1}`, … with operators, `abs`, numbers, and names of NumPy's
ufuncs. It is a chain: of the operands of each operation at most one is itself computed. Numbers take the op's
dtype. Formulas hold for real numbers; where integers, complex numbers or small floats need something else,
the kernel of the op says so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet_service.kernels.common import SMALL_FLOATS, through_float32, unary
from tensorfleet_service.kernels.registry import Explain, Expression

FORMULAS = {
    "Add": "{0} + {1}",
    "AddV2": "{0} + {1}",
    "Sub": "{0} - {1}",
    "Mul": "{0} * {1}",
    "RealDiv": "{0} / {1}",
    "Div": "{0} / {1}",
    # The second input only where it is greater, or less: so a NaN counts if it comes first, and of two
    # zeros the first is taken (the second by each of NumPy's functions).
    "Maximum": "maximum(fmax({1}, {0}), {0})",
    "Minimum": "minimum(fmin({1}, {0}), {0})",
    "Pow": "power({0}, {1})",
    "SquaredDifference": "square({0} - {1})",
    "Neg": "-{0}",
    "Abs": "abs({0})",
    "Sign": "sign(fmin(fmax({0}, 0), {0}))",  # which is 0 for NaN
    "Square": "square({0})",
    "Sqrt": "sqrt({0})",
    "Rsqrt": "reciprocal(sqrt({0}))",
    "Reciprocal": "reciprocal({0})",
    "Inv": "reciprocal({0})",
    "Exp": "exp({0})",
    "Expm1": "expm1({0})",
    "Log": "log({0})",
    "Log1p": "log1p({0})",
    "Sin": "sin({0})",
    "Cos": "cos({0})",
    "Tanh": "tanh({0})",
    "Atan": "arctan({0})",
    "Atan2": "arctan2({0}, {1})",
    "Ceil": "ceil({0})",
    "Floor": "floor({0})",
    "Rint": "rint({0})",
    "Round": "rint({0})",
    # Where the exponential overflows, the quotient is 0, as it should be.
    "Sigmoid": "reciprocal(exp(-{0}) + 1)",
    "Relu": "maximum({0}, 0)",
    "Relu6": "minimum(maximum({0}, 0), 6)",
    # Of two zeros, minimum and maximum give the second.
    "Elu": "maximum(expm1(minimum(0, {0})), {0})",
    "Softplus": "logaddexp({0}, 0)",
    "Softsign": "{0} / (abs({0}) + 1)",
    "BiasAdd": "{0} + {1}",
    # Gradients that take the output y and its gradient dy …
    "TanhGrad": "({0} * {0} * -1 + 1) * {1}",
    "SigmoidGrad": "(1 - {0}) * {0} * {1}",
    "ReciprocalGrad": "-{0} * {1} * {0}",
    "InvGrad": "-{0} * {1} * {0}",
    # … and those that take dy first, with the input or, of Elu, the output.
    "ReluGrad": "{0} * greater({1}, 0)",
    # For floats only: x (6 - x) is positive just between 0 and 6, and does not underflow there.
    "Relu6Grad": "{0} * greater({1} * (6 - {1}), 0)",
    "EluGrad": "{0} * (fmin({1}, 0) + 1)",
    "SoftplusGrad": "{0} / (exp(-{1}) + 1)",
    "SoftsignGrad": "{0} / square(abs({1}) + 1)",
}

OUT = "out"
"""The operand of a step that is the result of the step before it."""

Operand = int | float | str
"""An input of the op (an int), a number (a float), or OUT."""

Steps = tuple[tuple[str, tuple[Operand, ...]], ...]
"""The names of NumPy's ufuncs in the order of computation, each with its operands."""

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.USub: "negative",
}

_SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
"""Ufuncs that are written as operators, which cost less on NumPy scalars."""


@cache
def steps(op: str) -> Steps:
    """The formula of an op type as a row of ufuncs.

    Raises:
        KeyError: the op type has no formula.
    """
    # Inputs become names, as braces are sets in Python.
    text = FORMULAS[op].replace("{", "x").replace("}", "")
    found: list[tuple[str, tuple[Operand, ...]]] = []

    def compute(node: ast.expr) -> Operand:
        match node:
            case ast.Constant(value=int() | float() as value):
                return float(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -float(value)
            case ast.Name(id=name):
                return int(name.removeprefix("x"))
            case ast.BinOp(left=left, op=operator, right=right):
                ufunc, operands = _OPERATORS[type(operator)], [left, right]
            case ast.UnaryOp(op=operator, operand=operand):
                ufunc, operands = _OPERATORS[type(operator)], [operand]
            case ast.Call(func=ast.Name(id=name), args=operands):
                ufunc = "absolute" if name == "abs" else name
            case _:
                raise ValueError(f"{ast.unparse(node)} has no place in a formula")
        before = len(found)
        values = tuple([compute(operand) for operand in operands])
        if values.count(OUT) > 1 or (OUT not in values and before):
            raise ValueError(f"The formula of {op} is no chain at {ast.unparse(node)}")
        found.append((ufunc, values))
        return OUT

    compute(ast.parse(text, mode="eval").body)
    return tuple(found)


@cache
def formula_expression(op: str, xp: ModuleType, dtype: DType, explain: Explain | None = None) -> Expression:
    """The formula of an op type as an expression, for arrays of `xp` and inputs of a dtype."""
    text = ""
    names: dict[str, Any] = {}
    for ufunc, operands in steps(op):
        own = [f"({text})" if x is OUT else _operand(x, dtype, names) for x in operands]
        if ufunc in _SYMBOLS:
            text = f" {_SYMBOLS[ufunc]} ".join(own)
        elif ufunc == "negative":
            text = f"-{own[0]}"
        elif ufunc == "absolute":
            text = f"abs({own[0]})"
        else:
            names[ufunc] = getattr(xp, ufunc)
            text = f"{ufunc}({', '.join(own)})"
    return Expression(text, names, explain)


def formula_function(op: str, xp: ModuleType, dtype: DType) -> Callable[..., Any]:
    """The formula of an op type as a function of inputs of a dtype, all of one shape.

    A step of two operands writes over the result of the one before it.
    """
    names: dict[str, Any] = {}
    lines = []
    count = 0
    for ufunc, operands in steps(op):
        count = max(count, *(x + 1 for x in operands if isinstance(x, int)), 0)
        own = [_operand(x, dtype, names) for x in operands]
        if ufunc in _SYMBOLS:
            if operands[0] is OUT:
                lines.append(f" out {_SYMBOLS[ufunc]}= {own[1]}")
            else:
                lines.append(f" out = {own[0]} {_SYMBOLS[ufunc]} {own[1]}")
        elif ufunc == "negative":
            lines.append(f" out = -{own[0]}")
        elif ufunc == "absolute":
            lines.append(f" out = abs({own[0]})")
        else:
            names[ufunc] = getattr(xp, ufunc)
            lines.append(f" out = {ufunc}({', '.join(own)})")
    name = f"{op}_{dtype.name}"
    inputs = [f"x{i}" for i in range(count)]
    text = "\n".join((f"def {name}({', '.join(inputs)}):", *lines, " return out"))
    exec(text.replace("{", "x").replace("}", ""), names)
    function: Callable[..., Any] = names[name]
    return function


def rounded_formula(op: str, xp: ModuleType, dtype: DType) -> Expression:
    """The formula of an op type of one input; small floats are computed in float32 and rounded at the end."""
    if dtype not in SMALL_FLOATS:
        return formula_expression(op, xp, dtype)
    return unary(through_float32(formula_function(op, xp, dtypes.float32), dtype))


def _operand(operand: Operand, dtype: DType, names: dict[str, Any]) -> str:
    """The text of an operand; adds what that needs to the names."""
    if operand is OUT:
        return OUT
    if isinstance(operand, int):
        return f"{{{operand}}}"
    assert isinstance(operand, float)
    assert dtype.np is not None
    name = f"number_{operand:g}_{dtype.name}".replace("-", "minus_").replace(".", "_")
    names[name] = dtype.np.type(operand)
    return name
