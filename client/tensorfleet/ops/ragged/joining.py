"""Joining of RaggedTensors: concat, stack, and stacking of partitions."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range
from tensorfleet.ops.array.joining import concat as dense_concat, stack as dense_stack
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.array.sorting import argsort
from tensorfleet.ops.ragged import row_partition
from tensorfleet.ops.ragged.getitem import gather_rows
from tensorfleet.ops.ragged.ragged_tensor import (
    RaggedTensor,
    as_ragged_or_tensor,
    is_ragged,
    match_splits_dtypes,
    positive_axis,
)
from tensorfleet.ops.ragged.row_partition import RowPartition, row_count


def concat(values: Any, axis: int, name: str | None = None) -> Any:
    """RaggedTensors and tensors as one, along an existing axis."""
    given = values if isinstance(values, (list, tuple)) else [values]
    with framework.name_scope(name, "RaggedConcat", given):
        return _joined(given, axis, stack_values=False)


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """RaggedTensors and tensors as one, along a new axis (`tf.ragged.stack`).

    Example:
        >>> tf.Session().run(tf.ragged.stack([[1, 2], [3]])).to_list()
        [[1, 2], [3]]
    """
    given = values if isinstance(values, (list, tuple)) else [values]
    with framework.name_scope(name, "RaggedStack", given):
        return _joined(given, axis, stack_values=True)


def _joined(given: Sequence[Any], axis: int, stack_values: bool) -> Any:
    if not given:
        raise ValueError("rt_inputs may not be empty.")
    values = match_splits_dtypes(*(as_ragged_or_tensor(each, name="rt_input") for each in given))
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    rank = next((each.shape.rank for each in values if each.shape.rank is not None), None)
    if any(each.shape.rank not in (None, rank) for each in values):
        raise ValueError("Shapes must have the same rank to be joined")
    if stack_values and rank is not None:
        axis = positive_axis(axis, rank + 1)
    else:
        axis = positive_axis(axis, rank)
    if len(values) == 1 and not stack_values:
        return values[0]
    if len(values) == 1 and axis and isinstance(values[0], RaggedTensor):
        return with_axis(values[0], axis)
    is_vectors = stack_values and rank == 1 and axis == 0
    innermost = rank is not None and axis in (rank - 1, rank - (not stack_values))
    if innermost and not is_vectors and not any(map(is_ragged, values)):
        # Tensors that are joined in their innermost dimension are one tensor.
        return dense_stack(values, axis) if stack_values else dense_concat(values, axis)
    return _join_at(values, axis, stack_values)


def with_axis(value: Any, axis: int) -> Any:
    """The value with a new axis of size 1."""
    if isinstance(value, Tensor):
        return expand_dims(value, axis)
    if axis == 0:
        return RaggedTensor.from_uniform_row_length(value, value.nrows(), nrows=1, validate=False)
    if axis == 1:
        return RaggedTensor.from_uniform_row_length(value, 1, nrows=value.nrows(), validate=False)
    return value.with_values(with_axis(value.values, axis - 1))


def _join_at(values: Sequence[Any], axis: int, stack_values: bool) -> Any:
    if axis == 0:
        return _first_axis(values, is_stack=stack_values)
    dense = [each for each in values if isinstance(each, Tensor)]
    if len(dense) == len(values):
        if not stack_values:
            return dense_concat(dense, axis)
        if dense[0].ndim == axis:
            return dense_stack(dense, axis)
    if axis == 1:
        return _second_axis(values, stack_values)
    ragged = [_as_ragged(each) for each in values]
    guard = row_partition.check_same(
        [each._partition for each in ragged], "Inputs must have identical ragged splits."
    )
    inner = [each.values for each in ragged]
    inner[0] = _guarded(inner[0], guard)
    return ragged[0].with_values(_join_at(inner, axis - 1, stack_values))


def _guarded(value: Any, guard: Any) -> Any:
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(guard(value.flat_values))
    return guard(value)


def _as_ragged(value: Any) -> RaggedTensor:
    return value if isinstance(value, RaggedTensor) else RaggedTensor.from_tensor(value)


def _to_rank(value: Any, ragged_rank: int) -> Any:
    """The value with at least this ragged rank."""
    if not ragged_rank:
        return value
    value = _as_ragged(value)
    if value.ragged_rank < ragged_rank:
        value = value.with_values(_to_rank(value.values, ragged_rank - 1))
    return value


def _first_axis(values: Sequence[Any], is_stack: bool) -> Any:
    rank = max(each.ragged_rank if isinstance(each, RaggedTensor) else 0 for each in values)
    dtype = next((each.row_splits.dtype.base for each in values if isinstance(each, RaggedTensor)), None)
    if dtype is None:
        dtype = dtypes.int32  # the sizes of vectors
    level = [_to_rank(each, rank) for each in values]
    level = match_splits_dtypes(*level)
    counts = [
        cast(each.nrows() if isinstance(each, RaggedTensor) else row_count(each, dtype), dtype)
        for each in level
    ]
    splits = []
    for _ in builtins.range(rank):
        parts, offset = [level[0].row_splits[:1]], None
        for each in level:
            parts.append(each.row_splits[1:] if offset is None else each.row_splits[1:] + offset)
            end = each.row_splits[-1]
            offset = end if offset is None else offset + end
        splits.append(dense_concat(parts, 0))
        level = [each.values for each in level]
    result: Any = dense_concat(level, 0)
    for each in reversed(splits):
        result = RaggedTensor(result, RowPartition(each), internal=True)
    if is_stack:
        lengths = dense_stack(counts)
        return RaggedTensor.from_row_lengths(result, lengths, validate=False)
    return result


def _second_axis(values: Sequence[Any], stack_values: bool) -> Any:
    """The rows of all inputs side by side: those of one number follow each other, by one gather."""
    count = len(values)
    rows = values[0].nrows() if isinstance(values[0], RaggedTensor) else row_count(values[0], dtypes.int64)
    dtype = rows.dtype.base
    joined = _first_axis(values, is_stack=False)
    order = reshape(transpose(reshape(range(rows * count), [count, -1])), [-1])
    known = values[0].shape.as_list()[0]
    if known is not None:
        order.set_shape([known * count])
    sorted_rows = gather_rows(joined, cast(order, dtype))
    if stack_values:
        return RaggedTensor(sorted_rows, RowPartition(range(rows + 1) * count), internal=True)
    return RaggedTensor(sorted_rows.values, RowPartition(sorted_rows.row_splits[::count]), internal=True)


def stack_dynamic_partitions(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> Any:
    """The values of each partition in a row (`tf.ragged.stack_dynamic_partitions`).

    Args:
        data: a tensor or RaggedTensor whose shape begins with that of `partitions`.
        partitions: integers in [0, num_partitions), a tensor or a RaggedTensor.
        num_partitions: the number of rows.
    """
    with framework.name_scope(name, "SegmentStack", [data, partitions, num_partitions]):
        data = as_ragged_or_tensor(data, name="data")
        hint = data.row_splits.dtype.base if isinstance(data, RaggedTensor) else None
        numbers = as_ragged_or_tensor(partitions, name="partitions", preferred_dtype=hint)
        rows = convert_to_tensor(num_partitions, name="num_partitions", dtype_hint=numbers.dtype.base)
        kind = numbers.row_splits.dtype.base if isinstance(numbers, RaggedTensor) else numbers.dtype.base
        rows = cast(rows, kind)
        rank = numbers.shape.rank
        if rank is None:
            raise ValueError("partitions must have known rank")
        if rank == 0:
            data = dense_stack([data]) if isinstance(data, Tensor) else stack([data])
            numbers = dense_stack([numbers])
        while rank > 1:
            if isinstance(numbers, RaggedTensor):
                if not isinstance(data, RaggedTensor):
                    data = _to_rank(data, 1)
                numbers, data = numbers.values, data.values
            else:
                data = data.values if isinstance(data, RaggedTensor) else _flattened(data)
                numbers = _flattened(numbers)
            rank -= 1
        order = argsort(numbers, stable=True)
        ids = cast(gather_rows(numbers, order), kind)
        return RaggedTensor.from_value_rowids(gather_rows(data, order), ids, nrows=rows, validate=False)


def _flattened(value: Tensor) -> Tensor:
    """The tensor with its two outermost dimensions as one."""
    return reshape(value, dense_concat([[-1], shape(value)[2:]], 0))
