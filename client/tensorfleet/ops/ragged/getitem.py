"""Indices and slices of RaggedTensors."""

from __future__ import annotations

import builtins
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import expand_dims
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor
from tensorfleet.ops.ragged.row_partition import RowPartition, row_count, splits_of_lengths


def ragged_getitem(rt: RaggedTensor, key: Any) -> Any:
    """Rows, values, or parts of rows, as by Python's indices and slices.

    Raises:
        ValueError: an index into an inner ragged dimension, whose rows need not have the place.
        TypeError: a key that is no index.
    """
    with framework.name_scope(None, "RaggedGetItem", [rt]):
        keys = list(key) if isinstance(key, (list, tuple)) else [key]
        return _outer(rt, keys)


def _without_ellipsis(keys: list[Any], rank: int | None) -> list[Any]:
    """The keys, in which slices of everything stand for a leading `...`."""
    if rank is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    used = sum(each is not None for each in keys[1:])
    return [slice(None)] * builtins.max(0, rank - used) + keys[1:]


def _outer(rt: Any, keys: list[Any]) -> Any:
    if not keys:
        return rt
    if isinstance(rt, Tensor):
        return rt[tuple(keys)]
    if keys[0] is Ellipsis:
        return _outer(rt, _without_ellipsis(keys, rt.shape.rank))
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _outer(rt, rest)
        dtype = rt.row_splits.dtype.base
        count = inner.nrows() if isinstance(inner, RaggedTensor) else row_count(inner, dtype)
        return RaggedTensor.from_uniform_row_length(inner, cast(count, dtype), nrows=1, validate=False)
    if isinstance(first, slice):
        return _inner(_sliced_rows(rt, first), rest)
    starts, limits = rt.row_splits[:-1], rt.row_splits[1:]
    return _outer(rt.values[starts[first] : limits[first]], rest)


def _sliced_rows(rt: RaggedTensor, key: slice) -> RaggedTensor:
    if key.start is None and key.stop is None and key.step is None:
        return rt
    starts, limits = rt.row_splits[:-1][key], rt.row_splits[1:][key]
    splits = splits_of_lengths(limits - starts)
    if key.step is None or (isinstance(key.step, int) and key.step == 1):
        pad = zeros([1], splits.dtype.base)
        begin, end = concat([starts, pad], 0)[0], concat([pad, limits], 0)[-1]
        return RaggedTensor(rt.values[begin:end], RowPartition(splits), internal=True)
    return RaggedTensor(gathered_ranges(rt.values, starts, limits, 1), RowPartition(splits), internal=True)


def gathered_ranges(values: Any, starts: Tensor, limits: Tensor, step: Any) -> Any:
    """The values at the places from each start to each limit, one row after the other."""
    places = apply_op("RaggedRange", starts, limits, step, Tsplits=starts.dtype.base).rt_dense_values
    return gather_rows(values, places)


def gather_rows(values: Any, indices: Tensor) -> Any:
    """The rows of a tensor or a RaggedTensor with these numbers."""
    if isinstance(values, Tensor):
        return apply_one("GatherV2", values, indices, 0)
    splits = list(values.nested_row_splits)
    if indices.ndim is None:
        raise ValueError("The rank of indices into a RaggedTensor must be known")
    found = apply_op(
        "RaggedGather", splits, values.flat_values, indices, OUTPUT_RAGGED_RANK=len(splits) + indices.ndim - 1
    )
    if indices.dims is not None and indices.ndim == 1 and indices.dims[0] is not None:
        found.output_nested_splits[0].set_shape([indices.dims[0] + 1])
    result = found.output_dense_values
    for each in reversed(found.output_nested_splits):
        result = RaggedTensor(result, RowPartition(each), internal=True)
    return result


def _inner(rt: Any, keys: list[Any]) -> Any:
    """`rt[:, keys]`."""
    if not keys:
        return rt
    if isinstance(rt, Tensor):
        return rt[(slice(None), *keys)]
    first, rest = keys[0], keys[1:]
    if first is Ellipsis:
        rank = rt.shape.rank
        return _inner(rt, _without_ellipsis(keys, None if rank is None else rank - 1))
    if first is None:
        inner = _inner(rt, rest)
        if isinstance(inner, Tensor):
            return expand_dims(inner, 1)
        return RaggedTensor.from_uniform_row_length(inner, 1, nrows=inner.nrows(), validate=False)
    if not isinstance(first, slice):
        length = rt.uniform_row_length
        if length is None:
            raise ValueError("Cannot index into an inner ragged dimension.")
        index = first if isinstance(first, Tensor) else int(first)
        place = (
            cast(index, length.dtype.base)
            if isinstance(index, Tensor)
            else (length + index if index < 0 else length.dtype.as_numpy_dtype(index))
        )
        return _outer(gather_rows(rt.values, rt.row_splits[:-1] + place), [slice(None), *rest])
    if first.start is None and first.stop is None and first.step is None:
        return rt.with_values(_inner(rt.values, rest))
    return _inner_slice(rt, first, rest)


def _inner_slice(rt: RaggedTensor, key: slice, rest: list[Any]) -> RaggedTensor:
    starts, limits = rt.row_splits[:-1], rt.row_splits[1:]
    dtype = starts.dtype.base
    step = 1 if key.step is None else key.step
    if not isinstance(step, (int, Tensor)):
        raise TypeError(f"slice strides must be integers or None, got {step!r}")
    if isinstance(step, Tensor):
        raise TypeError("slice strides of inner ragged dimensions must be integers that are known")
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step > 0:
        lower, upper = starts, limits
        first, last = starts, limits
    else:
        lower, upper = starts - 1, limits - 1
        first, last = limits - 1, starts - 1
    begins = first if key.start is None else _place(starts, limits, key.start, lower, upper)
    ends = last if key.stop is None else _place(starts, limits, key.stop, lower, upper)
    found = apply_op("RaggedRange", begins, ends, dtype.as_numpy_dtype(step), Tsplits=dtype)
    values = gather_rows(rt.values, found.rt_dense_values)
    length = rt._partition.static_uniform_row_length
    uniform = None
    if length is not None and not isinstance(key.start, Tensor) and not isinstance(key.stop, Tensor):
        uniform = constant(len(builtins.range(*key.indices(length))), dtype)
    partition = RowPartition(found.rt_nested_splits, uniform=uniform)
    return RaggedTensor(_inner(values, rest), partition, internal=True)


def _place(starts: Tensor, limits: Tensor, bound: Any, lower: Tensor, upper: Tensor) -> Tensor:
    """The places of one bound of a slice in all rows: from the end where it is negative."""
    dtype = starts.dtype.base
    if isinstance(bound, Tensor):
        offset = cast(bound, dtype)
        base = apply_one(
            "SelectV2", apply_one("GreaterEqual", offset, dtype.as_numpy_dtype(0)), starts, limits
        )
        place = base + offset
    else:
        place = (starts if int(bound) >= 0 else limits) + int(bound)
    return minimum(maximum(place, lower), upper)
