"""Positions of the greatest and the least elements: argmax, argmin."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import ORDERED, QUANTIZED, apply_one


def _arg_shape(operation: RuleNode) -> list[Dims]:
    data, dimension = operation.inputs
    if dimension.dims:
        raise ValueError(f"Shape must be rank 0 but is rank {len(dimension.dims)}")
    if data.dims is None:
        return [None]
    rank = len(data.dims)
    if rank <= 1:
        return [()]
    axis = static_value(dimension)
    if axis is None:
        return [(None,) * (rank - 1)]
    index = int(axis)
    if not -rank <= index < rank:
        raise ValueError(
            f"Dimension ({index}) must be in the range [{-rank}, {rank}), where {rank} is the number of "
            "dimensions in the input."
        )
    index %= rank
    return [data.dims[:index] + data.dims[index + 1 :]]


op(
    "ArgMax(input: T, dimension: Tidx) -> (output: output_type)",
    f"T: {{{ORDERED}, {QUANTIZED}, bool}}",
    "Tidx: {int16, int32, int64} = int32",
    "output_type: {int16, uint16, int32, int64} = int64",
    shape=_arg_shape,
)
op(
    "ArgMin(input: T, dimension: Tidx) -> (output: output_type)",
    f"T: {{{ORDERED}, {QUANTIZED}, bool}}",
    "Tidx: {int32, int64} = int32",
    "output_type: {int32, int64} = int64",
    shape=_arg_shape,
)


def _axis(axis: Any, dimension: Any) -> Any:
    if dimension is None:
        return 0 if axis is None else axis
    if axis is not None:
        raise ValueError("Cannot specify both 'dimension' and 'axis'.")
    return dimension


def argmax(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """The index of the greatest element along an axis, the first of several (`tf.argmax`).

    Args:
        axis: a number in [-rank, rank), by default 0. `dimension` is its old name.
        output_type: int64, int32, int16 or uint16.

    Example:
        >>> tf.Session().run(tf.argmax([[1.0, 5.0], [7.0, 2.0]], axis=1))
        array([1, 0])
    """
    return apply_one("ArgMax", input, _axis(axis, dimension), name=name, output_type=output_type)


def argmin(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """The index of the least element along an axis, the first of several (`tf.argmin`).

    Args:
        axis: a number in [-rank, rank), by default 0. `dimension` is its old name.
        output_type: int64 or int32.

    Example:
        >>> tf.Session().run(tf.argmin([[1.0, 5.0], [7.0, 2.0]], axis=1))
        array([0, 1])
    """
    return apply_one("ArgMin", input, _axis(axis, dimension), name=name, output_type=output_type)


def arg_max(input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Tensor:
    """`argmax` with the order of arguments of `tf.arg_max`."""
    return apply_one("ArgMax", input, dimension, name=name, output_type=output_type)


def arg_min(input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Tensor:
    """`argmin` with the order of arguments of `tf.arg_min`."""
    return apply_one("ArgMin", input, dimension, name=name, output_type=output_type)
