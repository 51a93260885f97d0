"""Embedding lookup in a table that is one tensor or divided into several."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import colocate_with, name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable
from tensorfleet.ops.state.resource_variables import ResourceVariable


@takes_composites
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows `ids` of a table (`tf.nn.embedding_lookup`).

    Rows are gathered on the device of each part of the table, so only these rows are sent; the same holds
    for their gradients.

    Args:
        params: the table: a tensor or variable; or its parts along the first dimension, as a list or as a
            partitioned variable.
        ids: integers of any shape.
        partition_strategy: how the table is divided. "mod": row i is in part i mod n. "div": the parts hold
            consecutive rows; the first parts have one row more if n does not divide their number.
        validate_indices: ignored: indices are always checked.
        max_norm: rows of a greater L2 norm are scaled down to this.

    Returns:
        ids.shape + params.shape[1:].

    Raises:
        ValueError: no parts, or an unknown strategy.
        InvalidArgumentError: in a run, where an id is not in the table.

    Example:
        >>> rows = tf.constant([[1.0, 1.0], [2.0, 2.0]])
        >>> tf.Session().run(tf.nn.embedding_lookup(rows, [1, 0, 1]))
        array([[2., 2.],
               [1., 1.],
               [2., 2.]], dtype=float32)
    """
    if isinstance(params, PartitionedVariable):
        params = list(params)
    if params is None or (isinstance(params, (list, tuple)) and not params):
        raise ValueError("params must be specified")
    parts = list(params) if isinstance(params, (list, tuple)) else [params]
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        parts = [p if isinstance(p, ResourceVariable) else convert_to_tensor(p, name="params") for p in parts]
        ids = convert_to_tensor(ids, name="ids")
        if len(parts) == 1:
            with colocate_with(parts[0].op):
                found = _clipped(_gather(parts[0], ids, scope), ids, max_norm)
                return apply_one("Identity", found)
        return _from_parts(parts, ids, partition_strategy, max_norm, scope)


def _gather(table: Any, ids: Tensor, name: str | None = None) -> Tensor:
    if isinstance(table, ResourceVariable):
        return table.sparse_read(ids, name=name)
    return apply_one("GatherV2", table, ids, 0, name=name)


def _clipped(rows: Tensor, ids: Tensor, max_norm: float | None) -> Tensor:
    """The rows; those of a greater norm than `max_norm` are scaled down to it."""
    if max_norm is None:
        return rows
    axes: Any
    if ids.ndim is not None and rows.ndim is not None:
        axes = list(range(ids.ndim, rows.ndim))
    else:
        axes = apply_one("Range", apply_one("Rank", ids), apply_one("Rank", rows), 1)
    with name_scope("clip_by_norm"):
        squares = reduce_sum(apply_one("Square", rows), axes, keepdims=True)
        is_some: Any = apply_one("Greater", squares, cast(0.0, rows.dtype.base))
        # The derivative of the root is infinite at zero.
        safe = apply_one("SelectV2", is_some, squares, apply_one("OnesLike", squares))
        norm = apply_one("SelectV2", is_some, apply_one("Sqrt", safe), squares)
        limit = cast(max_norm, rows.dtype.base)
        clipped: Tensor = apply_one("Mul", rows, limit) / apply_one("Maximum", norm, limit)
        return clipped


def _from_parts(parts: list[Any], ids: Tensor, strategy: str, max_norm: float | None, scope: str) -> Tensor:
    flat: Any = apply_one("Reshape", ids, [-1])
    order = apply_one("Range", 0, apply_one("Size", flat), 1)
    count = len(parts)
    if strategy == "mod":
        part, local = flat % count, flat // count
    elif strategy == "div":
        part, local = _divided(parts, flat)
    else:
        raise ValueError(
            f"Unrecognized partition strategy: {strategy}. Must be one of either `mod` or `div`."
        )
    part = cast(part, dtypes.int32)
    asked = apply_op("DynamicPartition", local, part, num_partitions=count)
    places = apply_op("DynamicPartition", order, part, num_partitions=count)
    rows = []
    for table, wanted in zip(parts, asked, strict=True):
        with colocate_with(table.op):
            found = _gather(table, wanted)
            rows.append(found if max_norm is None else _clipped(found, wanted, max_norm))
    merged = apply_one("ParallelDynamicStitch", places, rows, name=scope)
    width = parts[0].shape[1:]
    shape = apply_one("ConcatV2", [apply_one("Shape", ids), _row_shape(parts[0])], 0)
    result = apply_one("Reshape", merged, shape)
    if ids.dims is not None and width.dims is not None:
        result.set_shape([*ids.dims, *width.as_list()])
    return result


def _row_shape(table: Any) -> Any:
    row = table.shape[1:]
    if row.is_fully_defined():
        return convert_to_tensor(row.as_list(), dtypes.int32)
    with colocate_with(table.op):
        size: Any = apply_one("Shape", table)
    return size[1:]


def _divided(parts: list[Any], flat: Any) -> tuple[Any, Any]:
    """For each id its part and the row in it, where parts hold consecutive rows."""
    sizes = [part.shape.as_list()[0] if part.shape.ndims else None for part in parts]
    if None not in sizes:
        total: Any = convert_to_tensor(sum(sizes), flat.dtype.base)
    else:
        lengths: list[Any] = [apply_one("Shape", part) for part in parts]
        total = cast(apply_one("AddN", [length[0] for length in lengths]), flat.dtype.base)
    count = len(parts)
    least, longer = total // count, total % count
    # The first `longer` parts have one row more than the others.
    part = apply_one("Maximum", flat // (least + 1), (flat - longer) // least)
    in_longer = apply_one("Less", part, longer)
    local = apply_one("SelectV2", in_longer, flat % (least + 1), (flat - longer) % least)
    return part, local
