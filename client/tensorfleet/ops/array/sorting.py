"""Sorting and binary search: `tf.sort`, `tf.argsort`, `tf.searchsorted`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import range as array_range
from tensorfleet.ops.array.indexing import tensor_scatter_nd_update
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.selection import top_k
from tensorfleet.ops.array.shaping import rank, reshape, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import with_rank


def _bound_shape(node: RuleNode) -> list[Dims]:
    for tensor in node.inputs:
        with_rank(tensor.dims, 2)
    return [node.inputs[1].dims]


for _name in ("LowerBound", "UpperBound"):
    op(
        f"{_name}(sorted_inputs: T, values: T) -> (output: out_type)",
        "T: type",
        "out_type: {int32, int64} = int32",
        shape=_bound_shape,
    )


def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """`values` in order along an axis (`tf.sort`).

    Args:
        axis: a constant.
        direction: "ASCENDING" or "DESCENDING".

    Raises:
        ValueError: another direction, or an axis that is no constant.

    Example:
        >>> tf.Session().run(tf.sort([3, 1, 2]))
        array([1, 2, 3], dtype=int32)
    """
    with framework.name_scope(name, "sort"):
        return _sorted(values, axis, direction, places=False)


def argsort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """The int32 indices that sort `values` along an axis (`tf.argsort`).

    Equal elements keep their order, whatever `stable` says.
    """
    del stable
    with framework.name_scope(name, "argsort"):
        return _sorted(values, axis, direction, places=True)


def _sorted(values: Any, axis: Any, direction: str, places: bool) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            "Argument `direction` should be one of 'ASCENDING' or 'DESCENDING'. Received: "
            f"direction={direction}"
        )
    known = static_value(convert_to_tensor(axis, name="axis"))
    if known is None or known.ndim:
        raise ValueError(f"Argument `axis` must be a constant scalar. Received: axis={axis}.")
    values = convert_to_tensor(values, name="values")
    if direction == "DESCENDING":
        return _descending(values, int(known), places)
    # TopK finds the greatest elements only: the least ones are the greatest of the reversed values.
    result = _descending(_turned(values), int(known), places)
    return result if places else _turned(result)


def _turned(values: Tensor) -> Tensor:
    """`values` mapped so that their order is reversed, without overflow."""
    dtype = values.dtype.base
    if dtype.is_unsigned:
        result: Tensor = dtype.max - values
        return result
    return -values - 1 if dtype.is_integer else -values


def _descending(values: Tensor, axis: int, places: bool) -> Tensor:
    size = shape(values)[axis]
    count = rank(values)
    known = values.ndim
    if known is not None and not -known <= axis < known:
        raise ValueError(f"Argument `axis` is out of range: {axis} for values of shape {values.shape}")
    last = axis == -1 or (known is not None and axis + 1 == known)
    order: Any = None
    if not last:
        if known is not None:
            listed = list(range(known))
            listed[axis], listed[-1] = listed[-1], listed[axis]
            order = constant(listed, name="transposition")
        else:
            # Exchanges the axis and the last dimension.
            place: Any = axis if axis >= 0 else count + axis
            order = tensor_scatter_nd_update(array_range(count), [[place], [count - 1]], [count - 1, place])
        values = transpose(values, order)
    found, taken = top_k(values, size)
    result: Tensor = taken if places else found
    return result if last else transpose(result, order)


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The indices at which values belong in sorted rows (`tf.searchsorted`).

    Args:
        sorted_sequence: [..., n], each row in ascending order.
        values: [..., m], with as many rows.
        side: "left" counts the elements that are less, "right" those that are not greater.
        out_type: int32 or int64.

    Returns:
        Of the shape of `values`.

    Raises:
        ValueError: another side.
    """
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: side='{side}'.")
    length = shape(sorted_sequence)[-1]
    count = shape(values)[-1]
    rows = reshape(sorted_sequence, [-1, length])
    found = apply_one(
        "LowerBound" if side == "left" else "UpperBound",
        rows,
        reshape(values, [-1, count]),
        out_type=dtypes.as_dtype(out_type),
        name=name,
    )
    return reshape(found, shape(values))
