"""Groups of elementwise ops as one CUDA kernel, made of the formulas that CPUs compute (`formulas`).

The kernel's body is a row of assignments, of operators and calls of functions with one name in CUDA and here:

    t0 = (x0 * x1);
    t0 = maximum(t0, number(0.0));
    o0 = t0;

CuPy compiles it at its first use and keeps it on disk, and sees to broadcasting and strides. Sums of products
are not contracted, so that the results are the CPU's but for the last places of functions such as `exp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet_service.kernels.math.formulas import OUT
from tensorfleet_service.kernels.math.fusion import ALIKE, FusedOp

OPTIONS = ("--fmad=false",)

_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "greater": ">"}

_MAX_SHAPES = 1000
"""Limit on the remembered shapes of a group's inputs."""

_FUNCTIONS = """
{q} {t} number(double x) {{ return ({t})x; }}
{q} {t} negative({t} x) {{ return -x; }}
{q} {t} absolute({t} x) {{ return fabs(x); }}
{q} {t} square({t} x) {{ return x * x; }}
{q} {t} reciprocal({t} x) {{ return ({t})1 / x; }}
{q} {t} sign({t} x) {{ return x != x ? x : ({t})((x > 0) - (x < 0)); }}
{q} {t} maximum({t} x, {t} y) {{ return x > y || x != x ? x : y; }}
{q} {t} minimum({t} x, {t} y) {{ return x < y || x != x ? x : y; }}
{q} {t} arctan({t} x) {{ return atan(x); }}
{q} {t} arctan2({t} y, {t} x) {{ return atan2(y, x); }}
{q} {t} power({t} x, {t} y) {{ return pow(x, y); }}
{q} {t} logaddexp({t} x, {t} y) {{
  return x == y ? x + ({t})0.69314718055994530942 : maximum(x, y) + log1p(exp(-fabs(x - y)));
}}
"""
"""The functions of formulas that C has not, or not with NaNs as in NumPy. The other ones are C's."""

FUNCTIONS = frozenset(
    (
        *("negative", "absolute", "square", "reciprocal", "sign", "maximum", "minimum", "arctan", "arctan2"),
        *(
            "power",
            "logaddexp",
            "sqrt",
            "exp",
            "expm1",
            "log",
            "log1p",
            "sin",
            "cos",
            "tanh",
            "ceil",
            "floor",
        ),
        *("rint", "fmax", "fmin", *_OPERATORS),
    )
)
"""The functions of NumPy that a body may call."""


def c_type(dtype: Any) -> str:
    return {"float32": "float", "float64": "double"}[np.dtype(dtype).name]


def preamble(dtype: Any, qualifier: str = "__device__ inline") -> str:
    """The functions that a body calls, in CUDA or, with another qualifier, in C."""
    return _FUNCTIONS.format(q=qualifier, t=c_type(dtype))


def call(ufunc: str, operands: Sequence[str]) -> str:
    """The expression for a function of NumPy."""
    symbol = _OPERATORS.get(ufunc)
    return f"({operands[0]} {symbol} {operands[1]})" if symbol else f"{ufunc}({', '.join(operands)})"


def body(ops: Sequence[FusedOp], outputs: Sequence[int], dtype: Any) -> str:
    """The assignments of `o0`, `o1`, … from `x0`, `x1`, …, for one element."""
    lines = []
    for i, op in enumerate(ops):
        inputs = [f"x{j}" if is_input else f"t{j}" for is_input, j in op.sources]
        for turn, (ufunc, operands) in enumerate(op.steps):
            own = [
                f"t{i}" if x is OUT else inputs[x] if isinstance(x, int) else f"number({x!r})"
                for x in operands
            ]
            declared = f"{c_type(dtype)} " if turn == 0 else ""
            lines.append(f"{declared}t{i} = {call(ufunc, own)};")
    lines += [f"o{place} = t{i};" for place, i in enumerate(outputs)]
    return "\n".join(lines)


class CudaGroup:
    """The function of a group on a GPU: one launch, whatever the number of its ops.

    Attributes:
        least: the number of elements from which it pays; with fewer it need not be called.
    """

    __slots__ = ("_accepted", "_kernel", "_ops", "_outputs", "least")

    def __init__(self, xp: Any, ops: Sequence[FusedOp], outputs: Sequence[int], dtype: Any) -> None:
        self.least = 1
        self._ops = list(ops)
        self._outputs = list(outputs)
        self._accepted: dict[tuple[tuple[int, ...], ...], bool] = {}
        count = 1 + max((j for op in ops for is_input, j in op.sources if is_input), default=-1)
        name = np.dtype(dtype).name
        self._kernel = xp.ElementwiseKernel(
            ", ".join(f"{name} x{i}" for i in range(count)),
            ", ".join(f"{name} o{i}" for i in range(len(outputs))),
            body(ops, outputs, dtype),
            "tensorfleet_" + "_".join(op.type for op in ops)[:80],
            preamble=preamble(dtype),
            options=OPTIONS,
            return_tuple=True,
        )

    def __call__(self, *values: Any) -> tuple[Any, ...] | None:
        """The outputs; None if the shapes are left to the kernels of the ops, which may refuse them."""
        shapes = tuple([value.shape for value in values])
        accepted = self._accepted.get(shapes)
        if accepted is None:
            if len(self._accepted) >= _MAX_SHAPES:
                self._accepted.clear()
            accepted = self._accepted[shapes] = self._accepts(shapes)
        return tuple(self._kernel(*values)) if accepted else None

    def _accepts(self, shapes: tuple[tuple[int, ...], ...]) -> bool:
        """Whether all ops take these shapes, and all results have that of the largest one."""
        found: list[tuple[int, ...]] = []
        for op in self._ops:
            own = [shapes[i] if is_input else found[i] for is_input, i in op.sources]
            if op.type in ALIKE and own[0] != own[1]:
                return False
            if op.type == "BiasAdd" and (len(own[0]) < 2 or own[1] != own[0][-1:]):
                return False
            try:
                found.append(np.broadcast_shapes(*own))
            except ValueError:
                return False
        full = np.broadcast_shapes(*shapes)
        return bool(full) and 0 not in full and all(found[i] == full for i in self._outputs)
