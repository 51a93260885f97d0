"""RaggedTensors taken apart and put together: gather, tile, reverse, boolean_mask, where and the like."""

from __future__ import annotations

import builtins
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array import indexing, selection
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range
from tensorfleet.ops.array.padding import tile as dense_tile
from tensorfleet.ops.array.shaping import (
    reshape,
    shape as shape_of,
    size as dense_size,
    squeeze as dense_squeeze,
)
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.math.segment import unsorted_segment_sum
from tensorfleet.ops.ragged.functional import map_flat_values
from tensorfleet.ops.ragged.getitem import gather_rows
from tensorfleet.ops.ragged.joining import concat, with_axis
from tensorfleet.ops.ragged.ragged_tensor import (
    RaggedTensor,
    as_ragged_or_tensor,
    is_ragged,
    match_splits_dtypes,
    positive_axis,
)
from tensorfleet.ops.ragged.row_partition import RowPartition, checked, rowids_of_splits, splits_of_lengths


def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Any:
    """The rows of `params` with the numbers that `indices` holds; either may be ragged."""
    axis = batch_dims if axis is None else axis
    with framework.name_scope(name, "RaggedGather", [params, indices]):
        params = as_ragged_or_tensor(params, name="params")
        indices = as_ragged_or_tensor(indices, name="indices")
        params, indices = match_splits_dtypes(params, indices)
        if batch_dims < 0:
            batch_dims = positive_axis(batch_dims, indices.shape.rank, "batch_dims")
        axis = positive_axis(int(axis), params.shape.rank)
        return _gathered(params, indices, axis, batch_dims)


def _gathered(params: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    if isinstance(params, Tensor) and isinstance(indices, Tensor):
        return indexing.gather(params, indices, axis=axis, batch_dims=batch_dims)
    if batch_dims > 1:
        if not (isinstance(params, RaggedTensor) and isinstance(indices, RaggedTensor)):
            params, indices = (
                each if isinstance(each, RaggedTensor) else RaggedTensor.from_tensor(each)
                for each in (params, indices)
            )
        return indices.with_values(_gathered(params.values, indices.values, axis - 1, batch_dims - 1))
    if batch_dims == 0 and axis > 0:
        if isinstance(params, Tensor):
            params = RaggedTensor.from_tensor(params)
        if axis > 1:
            return params.with_values(_gathered(params.values, indices, axis - 1, 0))
        # The same places of each row: as many batches of indices as there are rows.
        rows = params.nrows()
        if not (isinstance(indices, Tensor) and indices.ndim is not None and indices.ndim <= 1):
            raise ValueError("Gathering in a ragged dimension takes indices of rank 0 or 1")
        many = apply_one("Reshape", indices, [1, -1])
        batch = apply_one("Tile", many, apply_one("Pack", [cast(rows, dtypes.int32), 1]))
        found = _batch(
            params, RaggedTensor.from_tensor(batch, row_splits_dtype=params.row_splits.dtype.base), 1
        )
        if indices.ndim == 0:
            return found.values
        return found
    if batch_dims == 1:
        if isinstance(indices, Tensor) and indices.ndim == 1:
            places = params.row_splits[:-1] + cast(indices, params.row_splits.dtype.base)
            if axis == 1:
                return gather_rows(params.values, places)
        if not isinstance(indices, RaggedTensor):
            indices = RaggedTensor.from_tensor(indices)
        if not isinstance(params, RaggedTensor):
            params = RaggedTensor.from_tensor(params, row_splits_dtype=indices.row_splits.dtype.base)
        params, indices = match_splits_dtypes(params, indices)
        return _batch(params, indices, axis)
    if isinstance(indices, RaggedTensor):
        return indices.with_values(_gathered(params, indices.values, 0, 0))
    if indices.ndim is None:
        raise ValueError("rank(indices) must be known statically")
    if indices.ndim == 0:
        return params[indices]
    if indices.ndim == 1:
        return gather_rows(params, indices)
    rows = RaggedTensor.from_tensor(indices, row_splits_dtype=params.row_splits.dtype.base)
    return rows.with_values(_gathered(params, rows.values, 0, 0))


def _batch(params: RaggedTensor, indices: RaggedTensor, axis: int) -> Any:
    """Each row's gather from the row of the same number."""
    if axis > 1:
        raise ValueError("Gathering in batches is for the dimension after the batches")
    flat = cast(indices.flat_values, params.row_splits.dtype.base)
    rowids = indices.value_rowids()
    values = indices.values
    while isinstance(values, RaggedTensor):
        rowids = apply_one("GatherV2", rowids, values.value_rowids(), 0)
        values = values.values
    starts = apply_one("GatherV2", params.row_splits, rowids, 0)
    lengths = apply_one("GatherV2", params.row_lengths(), rowids, 0)
    message = "indices must be places in their rows"
    flat = checked(
        flat,
        checks.assert_less(flat, lengths, message=message),
        checks.assert_non_negative(flat, message=message),
    )
    found = gather_rows(params.values, starts + flat)
    if isinstance(found, Tensor):
        return indices.with_flat_values(found)
    return _over(indices, found)


def _over(rows: Any, values: Any) -> Any:
    """The rows, of which each flat value is replaced by a row of `values`."""
    if isinstance(rows.values, RaggedTensor):
        values = _over(rows.values, values)
    return RaggedTensor(values, rows._partition, internal=True)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """The gather of each row from the row of the same number."""
    with framework.name_scope(name, "RaggedBatchGather", [params, indices]):
        params, indices = as_ragged_or_tensor(params), as_ragged_or_tensor(indices)
        count = (indices.shape.rank or 2) - 1
        return gather(params, indices, batch_dims=count)


def gather_nd(
    params: Any, indices: Any, name: str | None = None, batch_dims: int = 0, bad_indices_policy: str = ""
) -> Any:
    """The values or rows of `params` at the places that the last dimension of `indices` holds."""
    if batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    with framework.name_scope(name, "RaggedGatherNd", [params, indices]):
        params = as_ragged_or_tensor(params, name="params")
        indices = as_ragged_or_tensor(indices, name="indices")
        if isinstance(indices, RaggedTensor):
            if indices.shape.as_list()[-1] is None:
                raise ValueError("indices must have a last dimension that is not ragged")
            return indices.with_values(gather_nd(params, indices.values))
        if indices.ndim is None or indices.dims is None or indices.dims[-1] is None:
            raise ValueError("indices.shape[-1] must be known statically")
        if isinstance(params, Tensor):
            return indexing.gather_nd(params, indices)
        depth = indices.dims[-1]
        if indices.ndim > 2:
            rows = RaggedTensor.from_tensor(indices, row_splits_dtype=params.row_splits.dtype.base)
            found = gather_nd(params, rows.values)
            if isinstance(found, RaggedTensor):
                return rows.with_values(found)
            inner = shape_of(found)[indices.ndim - 2 :]
            return reshape(found, apply_one("ConcatV2", [shape_of(indices)[:-1], inner], 0))
        if indices.ndim == 1:
            return gather_nd(params, indices[None])[0]
        places = cast(indices[:, 0], params.row_splits.dtype.base)
        for level in builtins.range(1, depth):
            if isinstance(params, Tensor):
                rest = cast(indices[:, level:], places.dtype.base)
                return indexing.gather_nd(params, apply_one("ConcatV2", [places[:, None], rest], 1))
            index = cast(indices[:, level], places.dtype.base)
            lengths = apply_one("GatherV2", params.row_lengths(), places, 0)
            message = "indices must be places in their rows"
            index = checked(
                index,
                checks.assert_less(index, lengths, message=message),
                checks.assert_non_negative(index, message=message),
            )
            places = apply_one("GatherV2", params.row_splits, places, 0) + index
            params = params.values
        return gather_rows(params, places)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """The value with a new axis of size 1."""
    axis = dim if axis is None else axis
    with framework.name_scope(name, "RaggedExpandDims", [input]):
        value = as_ragged_or_tensor(input)
        rank = value.shape.rank
        return with_axis(value, positive_axis(int(axis), None if rank is None else rank + 1))


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Any:
    """The value without axes of size 1."""
    axis = squeeze_dims if axis is None else axis
    with framework.name_scope(name, "RaggedSqueeze", [input]):
        value = as_ragged_or_tensor(input)
        if axis is None:
            raise ValueError("Ragged.squeeze must have an axis argument.")
        axes = [axis] if isinstance(axis, int) else list(axis)
        for each in sorted({positive_axis(a, value.shape.rank) for a in axes}, reverse=True):
            value = _squeezed(value, each)
        return value


def _squeezed(value: Any, axis: int) -> Any:
    if isinstance(value, Tensor):
        return dense_squeeze(value, axis)
    if axis == 0:
        sure = checks.assert_equal(value.nrows(), value.row_splits.dtype.as_numpy_dtype(1))
        return value.values if value.shape.as_list()[0] == 1 else _guarded(value.values, sure)
    if axis == 1:
        one = value.row_splits.dtype.as_numpy_dtype(1)
        if value._partition.static_uniform_row_length == 1:
            return value.values
        return _guarded(value.values, checks.assert_equal(value.row_lengths(), one))
    return value.with_values(_squeezed(value.values, axis - 1))


def _guarded(value: Any, sure: Any) -> Any:
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(checked(value.flat_values, sure))
    return checked(value, sure)


def size(input: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The number of values."""
    return dense_size(input.flat_values, name=name, out_type=out_type)


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions."""
    with framework.name_scope(name, "RaggedRank", [input]):
        known = input.shape.rank
        if known is not None:
            return constant(known)
        outer: int = input.ragged_rank
        return apply_one("Rank", input.flat_values) + outer


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """The value, repeated along each axis."""
    with framework.name_scope(name, "RaggedTile", [input, multiples]):
        value = as_ragged_or_tensor(input)
        times = convert_to_tensor(multiples, dtype_hint=value.row_splits.dtype.base)
        times = cast(times, value.row_splits.dtype.base)
        known = static_value(times)
        return _repeated_rows(_tiled(value, times, None if known is None else known.tolist()), times[0])


def _tiled(value: Any, times: Tensor, known: list[int] | None) -> Any:
    """The value, repeated along each axis but the first."""
    if known is not None and all(each == 1 for each in known[1:]):
        return value
    if isinstance(value, Tensor):
        one = constant([1], times.dtype.base)
        return dense_tile(value, apply_one("ConcatV2", [one, times[1:]], 0))
    values = _tiled(value.values, times[1:], None if known is None else known[1:])
    partition = value._partition
    # Of each row, the places again and again.
    splits = partition.row_splits * times[1]
    rowids = rowids_of_splits(splits)
    offsets = range(splits[-1]) - apply_one("GatherV2", splits, rowids, 0)
    within = apply_one("FloorMod", offsets, apply_one("GatherV2", partition.lengths(), rowids, 0))
    places = apply_one("GatherV2", partition.row_splits, rowids, 0) + within
    return RaggedTensor(gather_rows(values, places), RowPartition(splits), internal=True)


def _repeated_rows(value: Any, times: Tensor) -> Any:
    rows = value.nrows()
    places = apply_one("FloorMod", range(rows * times), rows)
    known, fixed = static_value(times), value._partition.static_nrows
    if known is not None and fixed is not None:
        places.set_shape([int(known) * fixed])
    return gather_rows(value, places)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """The value with the order along some axes reversed."""
    with framework.name_scope(name, "Reverse", [tensor, axis]):
        value = as_ragged_or_tensor(tensor)
        if isinstance(axis, Tensor):
            known = static_value(axis)
            if known is None:
                raise ValueError("axis must be known statically")
            axis = known.tolist()
        axes = [axis] if isinstance(axis, int) else list(axis)
        if not axes:
            return value
        places = [positive_axis(each, value.shape.rank) for each in axes]
        if len(set(places)) != len(places):
            raise ValueError("axis specified more than once")
        keys = [slice(None, None, -1 if i in places else None) for i in builtins.range(max(places) + 1)]
        return value[tuple(keys)]


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The values where the mask is true, in their rows (`tf.ragged.boolean_mask`).

    Args:
        data: a tensor or a RaggedTensor.
        mask: bools, of a known rank of 1 or more, that begin as `data` does; either may be ragged.

    Returns:
        A tensor for a mask of rank 1 and a tensor; else a RaggedTensor with the mask's number of ragged
        dimensions less one.

    Example:
        >>> mask = [[True, False], [True, True]]
        >>> tf.Session().run(tf.ragged.boolean_mask([[1, 2], [3, 4]], mask)).to_list()
        [[1], [3, 4]]
    """
    with framework.name_scope(name, "RaggedMask", [data, mask]):
        data = as_ragged_or_tensor(data, name="data")
        mask = as_ragged_or_tensor(mask, dtypes.bool, name="mask")
        data, mask = match_splits_dtypes(data, mask)
        depth = mask.shape.rank
        if depth is None:
            raise ValueError(f"mask.shape.ndims must be known statically: mask={mask}")
        if depth == 0:
            raise ValueError("mask cannot be scalar.")
        return _masked(data, mask)


def _masked(data: Any, mask: Any) -> Any:
    if mask.shape.rank == 1:
        if isinstance(data, Tensor):
            return selection.boolean_mask(data, mask)
        return gather_rows(data, apply_one("Where", mask)[:, 0])
    if not isinstance(mask, RaggedTensor):
        kind = data.row_splits.dtype.base if isinstance(data, RaggedTensor) else dtypes.int64
        mask = RaggedTensor.from_tensor(mask, row_splits_dtype=kind)
    if not isinstance(data, RaggedTensor):
        data = RaggedTensor.from_tensor(data, row_splits_dtype=mask.row_splits.dtype.base)
    message = "Inputs must have identical ragged splits"
    sure = checks.assert_equal(data.row_splits, mask.row_splits, message=message)
    inner = _guarded(mask.values, sure)
    values = _masked(data.values, inner)
    if mask.shape.rank > 2:
        return data.with_values(values)
    counts = unsorted_segment_sum(
        cast(inner, mask.row_splits.dtype.base), mask._partition.value_rowids(), mask._partition.nrows()
    )
    return RaggedTensor(values, RowPartition(splits_of_lengths(counts)), internal=True)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """The places where the condition holds, or the values of `x` there and of `y` elsewhere."""
    with framework.name_scope(name, "RaggedWhere", [condition, x, y]):
        condition = as_ragged_or_tensor(condition, dtypes.bool)
        if x is None and y is None:
            parts = apply_op("RaggedTensorToSparse", condition.nested_row_splits, condition.flat_values)
            return selection.boolean_mask(parts.sparse_indices, parts.sparse_values)
        if x is None or y is None:
            raise ValueError("Either both or neither `x` and `y` must be non-None")
        x, y = as_ragged_or_tensor(x), as_ragged_or_tensor(y)
        condition, x, y = match_splits_dtypes(condition, x, y)
        if condition.shape.rank == 1 and (is_ragged(x) or is_ragged(y)):
            return _selected_rows(condition, x, y)
        scalars = [each for each in (x, y) if isinstance(each, Tensor) and each.ndim == 0]
        choose = selection.where_v2 if scalars else selection.where
        return map_flat_values(choose, condition, x, y)


def _selected_rows(condition: Tensor, x: Any, y: Any) -> Any:
    both = concat([x, y], 0)
    dtype = both.row_splits.dtype.base
    rows = range(cast(apply_one("Size", condition), dtype))
    count = apply_one("Size", condition, out_type=dtypes.int64)
    offset = apply_one("SelectV2", condition, cast(0, dtype), cast(count, dtype))
    return gather_rows(both, rows + offset)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> RaggedTensor:
    """One-hot vectors of the values, in the innermost dimension or another of the flat values."""
    with framework.name_scope(name, "RaggedOneHot", [indices]):
        value = as_ragged_or_tensor(indices)
        if axis is None:
            axis = -1
        if axis >= 0:
            if axis <= value.ragged_rank:
                raise ValueError(f"axis ({axis}) must be greater than the ragged_rank ({value.ragged_rank}).")
            axis -= value.ragged_rank
        result: RaggedTensor = value.with_flat_values(
            indexing.one_hot(value.flat_values, depth, on_value, off_value, axis, dtype)
        )
        return result
