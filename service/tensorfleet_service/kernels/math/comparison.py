"""Kernels of `tensorfleet.ops.math.comparison`: comparisons, logic, bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, string_arrays
from tensorfleet_service.kernels.common import broadcast_error, unary
from tensorfleet_service.kernels.registry import Expression, Kernel, KernelNode, expression, kernel
from tensorfleet_service.kernels.values import invalid, shape_text

for _op, _operator in (
    ("Less", "<"),
    ("LessEqual", "<="),
    ("Greater", ">"),
    ("GreaterEqual", ">="),
    ("LogicalAnd", "&"),
    ("LogicalOr", "|"),
    ("BitwiseAnd", "&"),
    ("BitwiseOr", "|"),
    ("BitwiseXor", "^"),
):
    expression(_op, f"{{0}} {_operator} {{1}}", explain=broadcast_error)
expression("LogicalNot", "~{0}")
expression("Invert", "~{0}")


@kernel("Equal", "NotEqual")
def _equal(node: KernelNode) -> Kernel | Expression:
    is_equal = node.op == "Equal"
    if node.input_types[0] is dtypes.string:
        compare: Callable[..., Any] = np.equal if is_equal else np.not_equal

        def compare_parts(x: Any, y: Any) -> Any:
            return compare(np.asarray(x, object), np.asarray(y, object), dtype=object)

        def compare_strings(x: Any, y: Any) -> Any:
            return np.asarray(string_arrays.each(compare_parts, x, y, dtype=np.bool_), np.bool_)

        compare_strings.__name__ += node.op
        function, template = compare_strings, f"compare_strings{node.op}({{0}}, {{1}})"
    else:
        function = node.xp.equal if is_equal else node.xp.not_equal
        template = "{0} == {1}" if is_equal else "{0} != {1}"
    if node.attrs["incompatible_shape_error"]:
        return Expression(template, {function.__name__: function}, broadcast_error)
    differ = node.xp.bool_(not is_equal)

    def equal_or_scalar(x: Any, y: Any) -> Any:
        try:
            np.broadcast_shapes(np.shape(x), np.shape(y))
        except ValueError:
            return differ
        return function(x, y)

    return equal_or_scalar


@kernel("ApproximateEqual")
def _approximate_equal(node: KernelNode) -> Kernel:
    tolerance = node.attrs["tolerance"]

    def approximate_equal(x: Any, y: Any) -> Any:
        if x.shape != y.shape:
            raise invalid(
                f"x and y must be of the same shape. x shape: {shape_text(x.shape)}. y shape: "
                f"{shape_text(y.shape)}"
            )
        return abs(x - y) < tolerance

    return approximate_equal


@kernel("LeftShift", "RightShift")
def _shift(node: KernelNode) -> Expression:
    xp = node.xp
    dtype = node.input_types[0].np
    assert dtype is not None
    shift = xp.left_shift if node.op == "LeftShift" else xp.right_shift
    most = dtype.type(dtype.itemsize * 8 - 1)

    def shift_within_width(x: Any, y: Any) -> Any:
        return shift(x, xp.clip(y, dtype.type(0), most))

    name = f"{node.op}_{dtype.name}"
    return Expression(f"{name}({{0}}, {{1}})", {name: shift_within_width}, broadcast_error)


@kernel("PopulationCount")
def _population_count(node: KernelNode) -> Expression:
    xp = node.xp
    unsigned = np.dtype(f"u{node.input_types[0].size}")

    def population_count(x: Any) -> Any:
        bits = x.astype(unsigned)
        count = xp.zeros(bits.shape, np.uint8)
        one = unsigned.type(1)
        for _ in range(unsigned.itemsize * 8):
            count += (bits & one).astype(np.uint8)
            bits = bits >> one
        return count

    def numpy_population_count(x: Any) -> Any:
        return np.bitwise_count(x.astype(unsigned))

    if xp is np and hasattr(np, "bitwise_count"):
        population_count = numpy_population_count
    population_count.__name__ = f"population_count_{unsigned.name}"
    return unary(population_count)
