"""Elementwise functions of RaggedTensors, tensors and numbers, whose shapes are brought together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core.dtypes import DType
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape as shape_of
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.ragged.functional import map_flat_values
from tensorfleet.ops.ragged.ragged_tensor import (
    RaggedTensor,
    as_ragged_or_tensor,
    is_ragged,
    match_splits_dtypes,
)
from tensorfleet.ops.ragged.row_partition import RowPartition, checked

_MISMATCH = "Unable to broadcast: the lengths of rows do not fit each other"


def elementwise(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """function(x, y) of values at the same places; one of them is a RaggedTensor.

    The other may be a number, a RaggedTensor, or a tensor that fits its shape; dimensions of size 1 are
    repeated.
    """
    dtype = (x if is_ragged(x) else y).dtype
    x = as_ragged_or_tensor(x, preferred_dtype=dtype)
    y = as_ragged_or_tensor(y, preferred_dtype=dtype)
    x, y = match_splits_dtypes(x, y)
    if _is_scalar(x) or _is_scalar(y):
        return map_flat_values(function, x, y)
    if _same_rows(x, y):
        return map_flat_values(function, x, y)
    if _fits(x, y):
        return x.with_flat_values(function(x.flat_values, _repeated(y, x)))
    return y.with_flat_values(function(_repeated(x, y), y.flat_values))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim == 0


def _same_rows(x: Any, y: Any) -> bool:
    if not (isinstance(x, RaggedTensor) and isinstance(y, RaggedTensor)) or x.ragged_rank != y.ragged_rank:
        return False
    if all(a is b for a, b in zip(x.nested_row_splits, y.nested_row_splits, strict=True)):
        return True
    return x.shape.rank == y.shape.rank and not (_has_ones(x) or _has_ones(y))


def _outer_dims(value: Any, count: int) -> list[int | None]:
    dims: list[int | None] = value.shape.as_list()
    return dims[:count]


def _has_ones(value: RaggedTensor) -> bool:
    return 1 in _outer_dims(value, value.ragged_rank + 1)


def _fits(like: Any, other: Any) -> bool:
    """Whether `other` can be repeated so that it has the rows of `like`."""
    if not isinstance(like, RaggedTensor):
        return False
    if not isinstance(other, RaggedTensor):
        return True
    if (like.shape.rank or 0) != (other.shape.rank or 0):
        return (like.shape.rank or 0) > (other.shape.rank or 0)
    count = max(like.ragged_rank, other.ragged_rank) + 1
    own, others = _outer_dims(like, count), _outer_dims(other, count)
    return sum(d == 1 for d in own) <= sum(d == 1 for d in others)


def _repeated(value: Any, like: RaggedTensor) -> Tensor:
    """The values that stand beside the flat values of `like`, where `value` is repeated to its shape."""
    rank = like.shape.rank
    if rank is None or value.shape.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    if value.shape.rank > rank:
        raise ValueError(f"Unable to broadcast a value of rank {value.shape.rank} to rank {rank}")
    if isinstance(value, Tensor):
        missing = rank - value.shape.rank
        if missing > like.ragged_rank:
            return value  # the innermost dimensions alone
        for _ in [None] * missing:
            value = expand_dims(value, 0)
    elif value.shape.rank < rank:
        for _ in [None] * (rank - value.shape.rank):
            value = RaggedTensor.from_uniform_row_length(value, value.nrows(), nrows=1, validate=False)
    dtype = like.row_splits.dtype.base
    partitions = like._partitions()
    rows = range(partitions[0].nrows())
    first = value.shape.as_list()[0]
    places = zeros_like(rows) if first == 1 else rows
    for partition in partitions:
        rowids = partition.value_rowids()
        offsets = range(partition.nvals()) - apply_one("GatherV2", partition.row_splits, rowids, 0)
        if isinstance(value, RaggedTensor):
            places = _ragged_places(value._partition, partition, places, rowids, offsets)
            value = value.values
        else:
            value, places = _dense_places(value, partition, places, rowids, offsets, dtype)
    if isinstance(value, RaggedTensor):
        raise ValueError("Unable to broadcast a RaggedTensor to one with fewer ragged dimensions")
    return apply_one("GatherV2", value, places, 0)


def _ragged_places(
    own: RowPartition, like: RowPartition, places: Tensor, rowids: Tensor, offsets: Tensor
) -> Tensor:
    starts = apply_one("GatherV2", own.row_splits, apply_one("GatherV2", places, rowids, 0), 0)
    if own.static_uniform_row_length == 1 and like.static_uniform_row_length != 1:
        return starts
    lengths = apply_one("GatherV2", own.lengths(), places, 0)
    return checked(starts + offsets, checks.assert_equal(lengths, like.lengths(), message=_MISMATCH))


def _dense_places(
    value: Tensor, like: RowPartition, places: Tensor, rowids: Tensor, offsets: Tensor, dtype: DType
) -> tuple[Tensor, Tensor]:
    """The value with its two outer dimensions as one, and the places of repeated rows in it."""
    sizes = shape_of(value, out_type=dtype)
    size = sizes[1]
    flat = reshape(value, concat([[-1], shape_of(value)[2:]], 0))
    base = apply_one("GatherV2", places, rowids, 0)
    known = None if value.dims is None else value.dims[1]
    if known == 1:
        return flat, base
    one = dtype.as_numpy_dtype(1)
    is_one = cast(apply_one("Equal", size, one), dtype)
    # A size that is 1 in the step only is repeated as well.
    step = offsets * (one - is_one)
    lengths = like.lengths()
    wanted = lengths * (one - is_one) + size * is_one
    sure = checks.assert_equal(wanted, apply_one("Fill", shape_of(lengths), size), message=_MISMATCH)
    return flat, checked(base * size + step, sure)
