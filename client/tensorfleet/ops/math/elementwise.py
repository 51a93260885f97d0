"""Functions of one tensor, element by element."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import COMPLEX, FLOATS, SIGNED, apply_one
from tensorfleet.ops.shape_rules import unchanged


def _unary(types: str, *op_types: str, result: str = "T") -> None:
    for op_type in op_types:
        op(f"{op_type}(x: T) -> (y: {result})", f"T: {{{types}}}", shape=unchanged)


_unary(
    f"{FLOATS}, {COMPLEX}",
    *("Sqrt", "Rsqrt", "Exp", "Expm1", "Log", "Log1p"),
    *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan"),
    *("Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Sigmoid"),
)
_unary(f"{FLOATS}, {SIGNED}, {COMPLEX}", "Neg", "Sign", "Reciprocal", "Inv", "Round")
_unary(f"{FLOATS}, {SIGNED}", "Abs")
_unary(f"{FLOATS}, {SIGNED}, uint8, uint16, uint32, uint64, {COMPLEX}", "Square")
_unary(FLOATS, "Ceil", "Floor", "Rint")
for _name in ("Tanh", "Sigmoid", "Sqrt", "Rsqrt", "Reciprocal", "Inv"):
    op(f"{_name}Grad(y: T, dy: T) -> (z: T)", f"T: {{{FLOATS}, {COMPLEX}}}", shape=unchanged)
_unary(FLOATS, "IsNan", "IsInf", "IsFinite", result="bool")


@takes_composites
def abs(x: Any, name: str | None = None) -> Tensor:
    """|x| (`tf.abs`); of complex numbers in the real dtype.

    Example:
        >>> tf.Session().run(tf.abs([-1.5, 2.0]))
        array([1.5, 2. ], dtype=float32)
    """
    with get_default_graph().name_scope(name or "Abs") as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.base.is_complex:
            return apply_one("ComplexAbs", x, name=scope, Tout=x.dtype.base.real_dtype)
        return apply_one("Abs", x, name=scope)


@takes_composites
def round(x: Any, name: str | None = None) -> Tensor:
    """The nearest integer, the even one of two (`tf.round`); an integer tensor is returned as it is.

    Example:
        >>> tf.Session().run(tf.round([0.5, 1.5, 2.4]))
        array([0., 2., 2.], dtype=float32)
    """
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.base.is_integer else apply_one("Round", x, name=name)


@takes_composites
def negative(x: Any, name: str | None = None) -> Tensor:
    """-x (`tf.negative`)."""
    return apply_one("Neg", x, name=name)


@takes_composites
def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1 as x is negative, zero or positive; x / |x| of complex numbers (`tf.sign`).

    Example:
        >>> tf.Session().run(tf.sign([-3.0, 0.0, 2.0]))
        array([-1.,  0.,  1.], dtype=float32)
    """
    return apply_one("Sign", x, name=name)


@takes_composites
def square(x: Any, name: str | None = None) -> Tensor:
    """x² (`tf.square`).

    Example:
        >>> tf.Session().run(tf.square([2.0, 3.0]))
        array([4., 9.], dtype=float32)
    """
    return apply_one("Square", x, name=name)


@takes_composites
def sqrt(x: Any, name: str | None = None) -> Tensor:
    """√x (`tf.sqrt`).

    Example:
        >>> tf.Session().run(tf.sqrt([4.0, 9.0]))
        array([2., 3.], dtype=float32)
    """
    return apply_one("Sqrt", x, name=name)


@takes_composites
def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """1 / √x (`tf.rsqrt`)."""
    return apply_one("Rsqrt", x, name=name)


@takes_composites
def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """1 / x (`tf.reciprocal`)."""
    return apply_one("Reciprocal", x, name=name)


@takes_composites
def exp(x: Any, name: str | None = None) -> Tensor:
    """eˣ (`tf.exp`).

    Example:
        >>> tf.Session().run(tf.exp([0.0, 1.0])).round(3)
        array([1.   , 2.718], dtype=float32)
    """
    return apply_one("Exp", x, name=name)


@takes_composites
def expm1(x: Any, name: str | None = None) -> Tensor:
    """eˣ - 1, exact for small x (`tf.expm1`)."""
    return apply_one("Expm1", x, name=name)


@takes_composites
def log(x: Any, name: str | None = None) -> Tensor:
    """The natural logarithm (`tf.log`).

    Example:
        >>> tf.Session().run(tf.log([1.0, 10.0])).round(3)
        array([0.   , 2.303], dtype=float32)
    """
    return apply_one("Log", x, name=name)


@takes_composites
def log1p(x: Any, name: str | None = None) -> Tensor:
    """log(1 + x), exact for small x (`tf.log1p`)."""
    return apply_one("Log1p", x, name=name)


@takes_composites
def sin(x: Any, name: str | None = None) -> Tensor:
    """The sine of x in radians (`tf.sin`)."""
    return apply_one("Sin", x, name=name)


@takes_composites
def cos(x: Any, name: str | None = None) -> Tensor:
    """The cosine of x in radians (`tf.cos`)."""
    return apply_one("Cos", x, name=name)


@takes_composites
def tan(x: Any, name: str | None = None) -> Tensor:
    """The tangent of x in radians (`tf.tan`)."""
    return apply_one("Tan", x, name=name)


@takes_composites
def asin(x: Any, name: str | None = None) -> Tensor:
    """The arc sine, in radians (`tf.asin`)."""
    return apply_one("Asin", x, name=name)


@takes_composites
def acos(x: Any, name: str | None = None) -> Tensor:
    """The arc cosine, in radians (`tf.acos`)."""
    return apply_one("Acos", x, name=name)


@takes_composites
def atan(x: Any, name: str | None = None) -> Tensor:
    """The arc tangent, in radians (`tf.atan`)."""
    return apply_one("Atan", x, name=name)


@takes_composites
def sinh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic sine (`tf.sinh`)."""
    return apply_one("Sinh", x, name=name)


@takes_composites
def cosh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic cosine (`tf.cosh`)."""
    return apply_one("Cosh", x, name=name)


@takes_composites
def tanh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic tangent (`tf.tanh`).

    Example:
        >>> tf.Session().run(tf.tanh([0.0, 1.0])).round(3)
        array([0.   , 0.762], dtype=float32)
    """
    return apply_one("Tanh", x, name=name)


@takes_composites
def asinh(x: Any, name: str | None = None) -> Tensor:
    """The inverse hyperbolic sine (`tf.asinh`)."""
    return apply_one("Asinh", x, name=name)


@takes_composites
def acosh(x: Any, name: str | None = None) -> Tensor:
    """The inverse hyperbolic cosine (`tf.acosh`)."""
    return apply_one("Acosh", x, name=name)


@takes_composites
def atanh(x: Any, name: str | None = None) -> Tensor:
    """The inverse hyperbolic tangent (`tf.atanh`)."""
    return apply_one("Atanh", x, name=name)


@takes_composites
def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """1 / (1 + e⁻ˣ) (`tf.sigmoid`).

    Example:
        >>> tf.Session().run(tf.sigmoid([0.0, 2.0])).round(3)
        array([0.5  , 0.881], dtype=float32)
    """
    return apply_one("Sigmoid", x, name=name)


@takes_composites
def ceil(x: Any, name: str | None = None) -> Tensor:
    """The least integer that is not less than x (`tf.ceil`)."""
    return apply_one("Ceil", x, name=name)


@takes_composites
def floor(x: Any, name: str | None = None) -> Tensor:
    """The greatest integer that is not greater than x (`tf.floor`).

    Example:
        >>> tf.Session().run(tf.floor([1.7, -1.7]))
        array([ 1., -2.], dtype=float32)
    """
    return apply_one("Floor", x, name=name)


@takes_composites
def rint(x: Any, name: str | None = None) -> Tensor:
    """The nearest integer, the even one of two (`tf.rint`)."""
    return apply_one("Rint", x, name=name)


@takes_composites
def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Whether x is NaN (`tf.is_nan`)."""
    return apply_one("IsNan", x, name=name)


@takes_composites
def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Whether x is infinite (`tf.is_inf`)."""
    return apply_one("IsInf", x, name=name)


@takes_composites
def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Whether x is neither infinite nor NaN (`tf.is_finite`)."""
    return apply_one("IsFinite", x, name=name)


@takes_composites
def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(1 / (1 + e⁻ˣ)), without overflow (`tf.log_sigmoid`)."""
    with get_default_graph().name_scope(name or "LogSigmoid") as scope:
        x = convert_to_tensor(x, name="x")
        return apply_one("Neg", apply_one("Softplus", apply_one("Neg", x)), name=scope)


@takes_composites
def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0 (`tf.math.reciprocal_no_nan`)."""
    with get_default_graph().name_scope(name or "reciprocal_no_nan") as scope:
        x = convert_to_tensor(x, name="x")
        one = convert_to_tensor(1, dtype=x.dtype.base, name="one")
        return apply_one("DivNoNan", one, x, name=scope)


@takes_composites
def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y), in radians (`tf.atan2`)."""
    return apply_one("Atan2", y, x, name=name)


def inv(x: Any, name: str | None = None) -> Tensor:
    """1 / x (`tf.inv` of TensorFlow 0.x; now `tf.reciprocal`)."""
    return apply_one("Inv", x, name=name)


neg = negative
