"""Functions of the values of RaggedTensors, whose rows stay, and of where rows lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.ragged import row_partition
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor, as_ragged_or_tensor, match_splits_dtypes
from tensorfleet.ops.ragged.row_partition import row_count
from tensorfleet.ops.ragged.value import RaggedTensorValue

_UNLIKE = "Inputs must have identical ragged splits"


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What `op` makes of the innermost values, in the rows of the arguments (`tf.ragged.map_flat_values`).

    Args:
        op: a function of tensors that leaves the outermost dimension as it is.
        args, kwargs: its arguments: RaggedTensors, all with the same rows, also in lists.

    Raises:
        ValueError: row splits that are known and differ, or a result with another number of values.
    """
    found: list[RaggedTensor] = []
    _collect(args, found)
    _collect(kwargs, found)
    if not found:
        return op(*args, **kwargs)
    matched = match_splits_dtypes(*found)
    first = matched[0]
    if any(each.ragged_rank != first.ragged_rank for each in matched):
        raise ValueError(f"{_UNLIKE}: ragged ranks are {[each.ragged_rank for each in matched]}")
    guards = [
        row_partition.check_same(level, f"{_UNLIKE}.")
        for level in zip(*(each._partitions() for each in matched), strict=True)
    ]

    def flat(value: RaggedTensor) -> Tensor:
        tensor = value.flat_values
        for guard in guards:
            tensor = guard(tensor)
        return tensor

    with framework.name_scope(None, "MapFlatValues", [first]):
        result = op(*_replaced(args, flat), **_replaced(kwargs, flat))
        result = as_ragged_or_tensor(result)
        own = first.flat_values.shape
        if result.shape.rank is not None and not result.shape[:1].is_compatible_with(own[:1]):
            raise ValueError(
                "tf.ragged.map_flat_values requires that the output of `op` have the same outer-dimension "
                f"size as flat_values of any ragged inputs. (output shape: {result.shape}; expected outer "
                f"dimension: {own[:1]})"
            )
        return first.with_flat_values(result)


def _collect(value: Any, found: list[RaggedTensor]) -> None:
    if isinstance(value, RaggedTensor):
        found.append(value)
    elif isinstance(value, RaggedTensorValue):
        found.append(as_ragged_or_tensor(value))
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, found)


def _replaced(value: Any, flat: Callable[[RaggedTensor], Tensor]) -> Any:
    if isinstance(value, RaggedTensorValue):
        value = as_ragged_or_tensor(value)
    if isinstance(value, RaggedTensor):
        return flat(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, TensorShape):
        items = [_replaced(item, flat) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: _replaced(item, flat) for key, item in value.items()}
    return value


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The number of its row, for each value (`tf.ragged.row_splits_to_segment_ids`).

    Args:
        splits: [rows + 1], int32 or int64, where rows begin and end.

    Raises:
        ValueError: splits of another rank or dtype.
    """
    with framework.name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = row_partition.as_partition_tensor(splits, "splits")
        splits.shape.assert_has_rank(1)
        if splits.dims == (0,):
            raise ValueError("Invalid row_splits: []")
        dtype = splits.dtype.base if out_type is None else dtypes.as_dtype(out_type)
        if not dtype.is_integer:
            raise ValueError(f"out_type must be an integer dtype, got {dtype}.")
        return cast(row_partition.rowids_of_splits(splits), dtype)


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """The row splits of values with these row numbers, in order (`tf.ragged.segment_ids_to_row_splits`)."""
    if out_type is None:
        dtype = dtypes.int64
        if isinstance(segment_ids, Tensor) and segment_ids.dtype.base in row_partition.INDEX_DTYPES:
            dtype = segment_ids.dtype.base
        elif isinstance(num_segments, Tensor) and num_segments.dtype.base in row_partition.INDEX_DTYPES:
            dtype = num_segments.dtype.base
    else:
        dtype = dtypes.as_dtype(out_type)
    with framework.name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        ids = row_partition.as_partition_tensor(segment_ids, "segment_ids", hint=dtypes.int32)
        ids.shape.assert_has_rank(1)
        if num_segments is not None:
            num_segments = convert_to_tensor(num_segments, dtype_hint=ids.dtype.base)
            num_segments = cast(num_segments, ids.dtype.base)
        made = row_partition.from_rowids(ids, num_segments, row_count(ids, ids.dtype.base), validate=False)
        return cast(made.row_splits, dtype)
