"""Comparisons, logic and bits, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import Dims, merge
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import INTEGERS, ORDERED, apply_one, broadcast_inputs
from tensorfleet.ops.shape_rules import unchanged


def _equal_shape(operation: RuleNode) -> list[Dims]:
    if operation.attrs["incompatible_shape_error"]:
        return broadcast_inputs(operation)
    try:
        return broadcast_inputs(operation)
    except ValueError:
        return [()]  # incompatible shapes give one value: not equal


def _same_shapes(operation: RuleNode) -> list[Dims]:
    return [merge(operation.inputs[0].dims, operation.inputs[1].dims)]


for _name in ("Equal", "NotEqual"):
    op(
        f"{_name}(x: T, y: T) -> (z: bool)",
        "T: type",
        "incompatible_shape_error: bool = true",
        shape=_equal_shape,
        commutative=True,
    )


@static_rule("Equal", "NotEqual")
def _equality(operation: RuleNode) -> Any:
    x, y = map(static_value, operation.inputs)
    if x is None or y is None or x.shape != y.shape:
        return None
    return np.equal(x, y) if operation.type == "Equal" else np.not_equal(x, y)


for _name in ("Less", "LessEqual", "Greater", "GreaterEqual"):
    op(f"{_name}(x: T, y: T) -> (z: bool)", f"T: {{{ORDERED}}}", shape=broadcast_inputs)
op(
    "ApproximateEqual(x: T, y: T) -> (z: bool)",
    "T: {number}",
    "tolerance: float = 9.999999747378752e-06",
    shape=_same_shapes,
    commutative=True,
)
for _name in ("LogicalAnd", "LogicalOr"):
    op(f"{_name}(x: bool, y: bool) -> (z: bool)", shape=broadcast_inputs, commutative=True)
op("LogicalNot(x: bool) -> (y: bool)", shape=unchanged)
for _name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    op(f"{_name}(x: T, y: T) -> (z: T)", f"T: {{{INTEGERS}}}", shape=broadcast_inputs, commutative=True)
for _name in ("LeftShift", "RightShift"):
    op(f"{_name}(x: T, y: T) -> (z: T)", f"T: {{{INTEGERS}}}", shape=broadcast_inputs)
op("Invert(x: T) -> (y: T)", f"T: {{{INTEGERS}}}", shape=unchanged)
op("PopulationCount(x: T) -> (y: uint8)", f"T: {{{INTEGERS}}}", shape=unchanged)


@takes_composites
def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x = y, element by element (`tf.equal`).

    Example:
        >>> tf.Session().run(tf.equal([1, 2], [1, 3]))
        array([ True, False])
    """
    return apply_one("Equal", x, y, name=name)


@takes_composites
def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x ≠ y, element by element (`tf.not_equal`)."""
    return apply_one("NotEqual", x, y, name=name)


@takes_composites
def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x < y, element by element (`tf.less`).

    Example:
        >>> tf.Session().run(tf.less([1, 2], [0, 3]))
        array([False,  True])
    """
    return apply_one("Less", x, y, name=name)


@takes_composites
def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x ≤ y, element by element (`tf.less_equal`)."""
    return apply_one("LessEqual", x, y, name=name)


@takes_composites
def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x > y, element by element (`tf.greater`).

    Example:
        >>> tf.Session().run(tf.greater([1, 2], [0, 3]))
        array([ True, False])
    """
    return apply_one("Greater", x, y, name=name)


@takes_composites
def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x ≥ y, element by element (`tf.greater_equal`)."""
    return apply_one("GreaterEqual", x, y, name=name)


@takes_composites
def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x and y, of bools (`tf.logical_and`).

    Example:
        >>> tf.Session().run(tf.logical_and([True, True], [True, False]))
        array([ True, False])
    """
    return apply_one("LogicalAnd", x, y, name=name)


@takes_composites
def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x or y, of bools (`tf.logical_or`)."""
    return apply_one("LogicalOr", x, y, name=name)


@takes_composites
def logical_not(x: Any, name: str | None = None) -> Tensor:
    """not x, of bools (`tf.logical_not`).

    Example:
        >>> tf.Session().run(tf.logical_not([True, False]))
        array([False,  True])
    """
    return apply_one("LogicalNot", x, name=name)


@takes_composites
def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Whether exactly one of x and y is true (`tf.logical_xor`)."""
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name=name)


@takes_composites
def bitwise_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x & y, of integers (`tf.bitwise.bitwise_and`)."""
    return apply_one("BitwiseAnd", x, y, name=name)


@takes_composites
def bitwise_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x | y, of integers (`tf.bitwise.bitwise_or`)."""
    return apply_one("BitwiseOr", x, y, name=name)


@takes_composites
def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x ^ y, of integers (`tf.bitwise.bitwise_xor`)."""
    return apply_one("BitwiseXor", x, y, name=name)


@takes_composites
def invert(x: Any, name: str | None = None) -> Tensor:
    """~x, of integers (`tf.bitwise.invert`)."""
    return apply_one("Invert", x, name=name)


@takes_composites
def left_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x · 2ʸ without the bits that leave the dtype (`tf.bitwise.left_shift`).

    y counts as lying between 0 and the number of bits less 1.
    """
    return apply_one("LeftShift", x, y, name=name)


@takes_composites
def right_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The floor of x / 2ʸ (`tf.bitwise.right_shift`).

    y counts as lying between 0 and the number of bits less 1.
    """
    return apply_one("RightShift", x, y, name=name)
