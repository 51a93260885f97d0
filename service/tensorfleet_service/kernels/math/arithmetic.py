"""Kernels of `tensorfleet.ops.math.arithmetic`: two inputs, element by element."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors, string_arrays
from tensorfleet_service.devices.native import takes
from tensorfleet_service.kernels.common import binary, broadcast_error, through_float32
from tensorfleet_service.kernels.math.compiled import elementwise
from tensorfleet_service.kernels.math.formulas import formula_expression
from tensorfleet_service.kernels.registry import Expression, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid


def _formula(node: KernelNode) -> Expression:
    if node.input_types[0] is dtypes.string:
        return binary(_join_strings)
    return formula_expression(node.op, node.xp, node.input_types[0], broadcast_error)


def _join_strings(x: Any, y: Any) -> Any:
    if np.ndim(x) == np.ndim(y) == 0:
        # Other threads run while long ones are joined, but not while they are added.
        return b"".join((_scalar(x), _scalar(y)))
    return string_arrays.each(operator.add, x, y)


def _scalar(x: Any) -> bytes:
    text: bytes = x if isinstance(x, bytes) else x[()]
    return text


kernel("Add", "AddV2", "Sub", "Mul", "Atan2", alike=True)(_formula)


@kernel("Maximum", "Minimum", alike=True)
def _extremum(node: KernelNode) -> Expression:
    if node.input_types[0].is_integer:  # one pass does, as there are no NaNs
        return binary(getattr(node.xp, node.op.lower()))
    return _formula(node)


@kernel("NextAfter")
def _next_after(node: KernelNode) -> Expression:
    return binary(node.xp.nextafter)


def _check_divisor(x: Any, y: Any) -> None:
    """Raises InvalidArgumentError if an integer would be divided by zero."""
    # The host does not wait for a GPU to refuse a zero: as in TensorFlow, the quotient is then undefined.
    in_host_memory = isinstance(y, (np.ndarray, np.generic))
    if in_host_memory and not y.all() and 0 not in np.broadcast_shapes(x.shape, y.shape):
        raise invalid("Integer division by zero")


def integer_floor_divide(x: Any, y: Any) -> Any:
    _check_divisor(x, y)
    return x // y


def integer_floor_mod(x: Any, y: Any) -> Any:
    _check_divisor(x, y)
    return x % y


@kernel("RealDiv", "Div", "TruncateDiv", "FloorDiv")
def _divide(node: KernelNode) -> Expression:
    dtype = node.input_types[0]
    xp = node.xp
    if dtype.is_integer:
        if node.op == "FloorDiv" or dtype.is_unsigned:
            return binary(integer_floor_divide)

        def integer_truncate_divide(x: Any, y: Any) -> Any:
            _check_divisor(x, y)
            return (x - xp.fmod(x, y)) // y

        return binary(integer_truncate_divide)
    if node.op in ("RealDiv", "Div"):
        return _formula(node)
    rounding = xp.floor if node.op == "FloorDiv" else xp.trunc
    return Expression("rounding({0} / {1})", {"rounding": rounding}, broadcast_error)


@kernel("FloorMod")
def _floor_mod(node: KernelNode) -> Expression:
    if node.input_types[0].is_integer:
        return binary(integer_floor_mod)
    compiled = elementwise([("remainder", "out", ("x0", "x1"))], 2, 0)
    if compiled is None or node.xp is not np or node.input_types[0] is not dtypes.float32:
        return Expression("{0} % {1}", explain=broadcast_error)

    def floor_mod(x: Any, y: Any) -> Any:
        return compiled(x, y) if x.shape == y.shape and takes(x, y) else x % y

    return binary(floor_mod)


@kernel("Mod", "TruncateMod")
def _truncate_mod(node: KernelNode) -> Expression:
    fmod = node.xp.fmod
    if not node.input_types[0].is_integer:
        return binary(fmod)

    def integer_truncate_mod(x: Any, y: Any) -> Any:
        _check_divisor(x, y)
        return fmod(x, y)

    return binary(integer_truncate_mod)


def _power_error(error: Exception, x: Any, y: Any) -> errors.OpError | None:
    return broadcast_error(error, x, y) or invalid("Integers to negative integer powers are not allowed")


@kernel("Pow")
def _power(node: KernelNode) -> Expression:
    if not node.input_types[0].is_integer:
        return _formula(node)
    power = node.xp.power
    if node.xp is np:
        return binary(power, _power_error)

    def integer_power(x: Any, y: Any) -> Any:
        if (y < 0).any():  # CuPy gives 0 here
            raise ValueError
        return power(x, y)

    return binary(integer_power, _power_error)


@kernel("SquaredDifference")
def _squared_difference(node: KernelNode) -> Expression:
    if not node.input_types[0].is_complex:
        return _formula(node)

    def complex_squared_difference(x: Any, y: Any) -> Any:
        difference = x - y
        return difference * difference.conj()

    return binary(complex_squared_difference)


@kernel("MulNoNan", "DivNoNan", "Xlogy", "Xlog1py", "Xdivy")
def _with_exact_zero(node: KernelNode) -> Kernel | Expression:
    """x·y, x/y, x·log(y), … that are 0 where one operand is, even if the other is infinite or NaN."""
    xp = node.xp

    def mul_no_nan(x: Any, y: Any) -> Any:
        return xp.where(y == 0, zero, x * y)

    def div_no_nan(x: Any, y: Any) -> Any:
        return xp.where(y == 0, zero, x / y)

    def xlogy(x: Any, y: Any) -> Any:
        return xp.where(x == 0, zero, x * xp.log(y))

    def xlog1py(x: Any, y: Any) -> Any:
        return xp.where(x == 0, zero, x * xp.log1p(y))

    def xdivy(x: Any, y: Any) -> Any:
        return xp.where(x == 0, zero, x / y)

    functions = {
        "MulNoNan": mul_no_nan,
        "DivNoNan": div_no_nan,
        "Xlogy": xlogy,
        "Xlog1py": xlog1py,
        "Xdivy": xdivy,
    }
    dtype = node.input_types[0]
    wide = dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype
    assert wide.np is not None
    zero = wide.np.type(0)
    return binary(through_float32(functions[node.op], dtype))
