"""Arithmetic on two tensors, element by element, with broadcasting."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.tensor import Tensor, is_tensor
from tensorfleet.ops.common import ALL_NUMBERS, COMPLEX, FLOATS, INTEGERS, SIGNED, apply_one, broadcast_inputs
from tensorfleet.ops.math import static_arithmetic  # noqa: F401 - registers what shape rules compute


def _binary(types: str, *op_types: str, commutative: bool = False) -> None:
    for op_type in op_types:
        op(
            f"{op_type}(x: T, y: T) -> (z: T)",
            f"T: {{{types}}}",
            shape=broadcast_inputs,
            commutative=commutative,
        )


_binary(f"{FLOATS}, uint8, {SIGNED}, {COMPLEX}, string", "Add")
op(
    "AddV2(x: T, y: T) -> (z: T)",
    f"T: {{{FLOATS}, uint8, uint16, uint32, uint64, {SIGNED}, {COMPLEX}}}",
    shape=broadcast_inputs,
    commutative=True,
    aggregate=True,
)
_binary(ALL_NUMBERS, "Sub", "Div", "RealDiv", "TruncateDiv", "FloorDiv")
_binary(ALL_NUMBERS, "Mul", commutative=True)
_binary(f"{FLOATS}, {COMPLEX}", "MulNoNan", "DivNoNan", "Xlogy", "Xlog1py", "Xdivy")
_binary(f"{INTEGERS}, {FLOATS}", "FloorMod")
_binary(f"int32, int64, {FLOATS}", "Mod", "TruncateMod")
_binary(f"{FLOATS}, {SIGNED}, {COMPLEX}", "Pow")
_binary(f"{FLOATS}, int32, int64, {COMPLEX}", "SquaredDifference", commutative=True)
_binary(f"{FLOATS}, int8, uint8, int16, uint16, int32, uint32, int64, uint64", "Maximum", "Minimum")
op("Atan2(y: T, x: T) -> (z: T)", f"T: {{{FLOATS}}}", shape=broadcast_inputs)
op("NextAfter(x1: T, x2: T) -> (output: T)", "T: {float64, float32} = float32", shape=broadcast_inputs)


@takes_composites
def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x + y (`tf.add`); strings are joined.

    Example:
        >>> tf.Session().run(tf.add([1, 2], 3))
        array([4, 5], dtype=int32)
    """
    if isinstance(x, Tensor) and x.dtype.base is not dtypes.string:
        return apply_one("AddV2", x, y, name=name or "Add")
    with get_default_graph().name_scope(name or "Add") as scope:
        x = convert_to_tensor(x, name="x")
        return apply_one("Add" if x.dtype.base is dtypes.string else "AddV2", x, y, name=scope)


@takes_composites
def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y (`tf.subtract`).

    Example:
        >>> tf.Session().run(tf.subtract([5, 2], 3))
        array([ 2, -1], dtype=int32)
    """
    return apply_one("Sub", x, y, name=name)


@takes_composites
def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x · y, element by element (`tf.multiply`).

    Example:
        >>> tf.Session().run(tf.multiply([1, 2], 3))
        array([3, 6], dtype=int32)
    """
    return apply_one("Mul", x, y, name=name)


sub = subtract
mul = multiply

# The dtypes in which true division computes; None leaves the operands as they are.
_TRUE_DIVISION: dict[DType, DType | None] = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.uint32: dtypes.float64,
    dtypes.int32: dtypes.float64,
    dtypes.uint64: dtypes.float64,
    dtypes.int64: dtypes.float64,
    dtypes.bfloat16: None,
    dtypes.float16: None,
    dtypes.float32: None,
    dtypes.float64: None,
    dtypes.complex64: None,
    dtypes.complex128: None,
}


def _operands(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(x, name="x")
    y = convert_to_tensor(y, name="y", preferred_dtype=x.dtype.base)
    if x.dtype.base is not y.dtype.base:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype.base!r} != {y.dtype.base!r}.")
    return x, y


@takes_composites
def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y (`tf.truediv`): integers of up to 16 bits divide as float32, larger ones as float64."""
    with get_default_graph().name_scope(name or "truediv") as scope:
        x, y = _operands(x, y)
        base = x.dtype.base
        if base not in _TRUE_DIVISION:
            expected = ", ".join(f"'{t.name}'" for t in _TRUE_DIVISION)
            raise TypeError(f"Invalid dtype {base!r} in __truediv__. Expected one of {{{expected}}}.")
        wider = _TRUE_DIVISION[base]
        if wider is not None:
            x, y = (apply_one("Cast", value, DstT=wider) for value in (x, y))
        return apply_one("RealDiv", x, y, name=scope)


@takes_composites
def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y as Python's `/` (`tf.divide`).

    Example:
        >>> tf.Session().run(tf.divide(tf.constant([1, 2]), 2))
        array([0.5, 1. ])
    """
    if name is None and not is_tensor(x):
        x = convert_to_tensor(x, dtype=y.dtype.base_dtype if is_tensor(y) else None)
    return truediv(x, y, name)


@takes_composites
def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y as Python 2's `/` (`tf.div`): for integers the floor of the quotient."""
    with get_default_graph().name_scope(name or "div") as scope:
        x, y = _operands(x, y)
        exact = x.dtype.base.is_floating or x.dtype.base.is_complex
        return apply_one("RealDiv" if exact else "FloorDiv", x, y, name=scope)


@takes_composites
def realdiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y for floating and complex numbers (`tf.realdiv`)."""
    return apply_one("RealDiv", x, y, name=name)


@takes_composites
def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, and 0 where y is 0 (`tf.div_no_nan`)."""
    with get_default_graph().name_scope(name or "div_no_nan") as scope:
        if not is_tensor(x) and is_tensor(y):
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
        return apply_one("DivNoNan", x, y, name=scope)


divide_no_nan = div_no_nan


@takes_composites
def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x · y, and 0 where y is 0, whatever x is (`tf.math.multiply_no_nan`)."""
    with get_default_graph().name_scope(name or "multiply_no_nan") as scope:
        return apply_one("MulNoNan", x, y, name=scope)


@takes_composites
def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The floor of x / y, in x's dtype (`tf.floordiv`).

    Example:
        >>> tf.Session().run(tf.floordiv([7, -7], 2))
        array([ 3, -4], dtype=int32)
    """
    return apply_one("FloorDiv", x, y, name=name or "floordiv")


@takes_composites
def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The floor of x / y, in x's dtype (`tf.floor_div`)."""
    return apply_one("FloorDiv", x, y, name=name)


@takes_composites
def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of floor division; it has the sign of y (`tf.floormod`, `tf.mod`).

    Example:
        >>> tf.Session().run(tf.mod([7, -7], 3))
        array([1, 2], dtype=int32)
    """
    return apply_one("FloorMod", x, y, name=name)


mod = floormod


@takes_composites
def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards zero (`tf.truncatediv`)."""
    return apply_one("TruncateDiv", x, y, name=name)


@takes_composites
def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of division rounded towards zero; it has the sign of x (`tf.truncatemod`)."""
    return apply_one("TruncateMod", x, y, name=name)


@takes_composites
def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x to the power y (`tf.pow`); for integers y must not be negative.

    Example:
        >>> tf.Session().run(tf.pow([2.0, 3.0], 2.0))
        array([4., 9.], dtype=float32)
    """
    return apply_one("Pow", x, y, name=name)


@takes_composites
def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """(x - y)(x - y)*, where * is the complex conjugate (`tf.squared_difference`)."""
    return apply_one("SquaredDifference", x, y, name=name)


@takes_composites
def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The greater of x and y, NaN where either is (`tf.maximum`).

    Example:
        >>> tf.Session().run(tf.maximum([1, 5], [4, 2]))
        array([4, 5], dtype=int32)
    """
    return apply_one("Maximum", x, y, name=name)


@takes_composites
def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The lesser of x and y, NaN where either is (`tf.minimum`).

    Example:
        >>> tf.Session().run(tf.minimum([1, 5], [4, 2]))
        array([1, 2], dtype=int32)
    """
    return apply_one("Minimum", x, y, name=name)


@takes_composites
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A tensor or IndexedSlices `x` times a number (`tf.scalar_mul`).

    Raises:
        ValueError: `scalar` is not of rank 0.
    """
    scalar = convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    if scalar.ndim != 0:
        raise ValueError(f"The input scalar must be a 0-D value. Received: scalar={scalar}.")
    if hasattr(x, "with_values"):
        return x.with_values(multiply(scalar, x.values, name))
    return multiply(scalar, x, name)


@takes_composites
def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The representable number next to x1 in the direction of x2 (`tf.math.nextafter`). float32, float64."""
    return apply_one("NextAfter", x1, x2, name=name)


@takes_composites
def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x · log(y), and 0 where x is 0 (`tf.math.xlogy`)."""
    return apply_one("Xlogy", x, y, name=name)


@takes_composites
def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x · log(1 + y), and 0 where x is 0 (`tf.math.xlog1py`)."""
    with get_default_graph().name_scope(name or "xlog1py"):
        return apply_one("Xlog1py", x, y)


@takes_composites
def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, and 0 where x is 0 (`tf.math.xdivy`)."""
    with get_default_graph().name_scope(name or "xdivy"):
        return apply_one("Xdivy", x, y)
