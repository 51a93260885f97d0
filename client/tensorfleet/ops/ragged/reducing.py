"""Reductions of RaggedTensors: sums, means, extremes and the like of rows, columns or all values."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, range
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math import reduction, scan, segment
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.elementwise import sqrt, square
from tensorfleet.ops.ragged.functional import map_flat_values
from tensorfleet.ops.ragged.joining import with_axis
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor, as_ragged_or_tensor, positive_axis
from tensorfleet.ops.text import strings

Reduce = Callable[..., Any]


def _of_axis(dense: Reduce, of_segments: Reduce, value: Any, axis: int, keep: bool) -> Any:
    """The reduction of one axis."""
    if isinstance(value, Tensor):
        return dense(value, axis=axis, keepdims=keep)
    if axis > 1:
        return value.with_values(_of_axis(dense, of_segments, value.values, axis - 1, keep))
    partition = value._partition
    if axis == 1:
        reduced = _segments(of_segments, value.values, partition.value_rowids(), partition.nrows())
        return with_axis(reduced, 1) if keep else reduced
    # Of the outermost axis: values at the same place in their rows are one.
    rowids = partition.value_rowids()
    places = range(partition.nvals()) - apply_one("GatherV2", partition.row_splits, rowids, 0)
    reduced = _segments(of_segments, value.values, places, value.bounding_shape(axis=1))
    return with_axis(reduced, 0) if keep else reduced


def _segments(of_segments: Reduce, values: Any, ids: Tensor, count: Tensor) -> Any:
    """The values of each segment as one; ragged values are reduced place by place."""
    if isinstance(values, Tensor):
        return of_segments(values, ids, count)
    # Each value of a row goes to the row of its segment, at its place.
    partition = values._partition
    lengths = partition.lengths()
    longest = apply_one("UnsortedSegmentMax", lengths, ids, count)
    longest = apply_one("Maximum", longest, longest.dtype.as_numpy_dtype(0))
    outer = RaggedTensor.from_row_lengths(range(apply_one("Sum", longest, 0)), longest, validate=False)
    rowids = partition.value_rowids()
    places = range(partition.nvals()) - apply_one("GatherV2", partition.row_splits, rowids, 0)
    targets = apply_one("GatherV2", outer.row_splits, apply_one("GatherV2", ids, rowids, 0), 0) + places
    inner = _segments(of_segments, values.values, targets, outer.row_splits[-1])
    return outer.with_values(inner)


def _reducer(name: str, dense: Reduce, of_segments: Reduce) -> Reduce:
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:
        axis = reduction_indices if axis is None else axis
        keep = bool(keepdims if keep_dims is None else keep_dims)
        with framework.name_scope(name, f"Ragged{scope}", [input_tensor]):
            value = as_ragged_or_tensor(input_tensor)
            if isinstance(axis, Tensor):
                known = static_value(axis)
                if known is None:
                    raise ValueError("axis must be known at graph construction time.")
                axis = known.tolist()
            if axis is None:
                if not keep:
                    return dense(value.flat_values, axis=None, keepdims=False)
                axis = [*builtins.range(value.shape.rank or 0)]
            axes = axis if isinstance(axis, (list, tuple)) else [axis]
            if not axes:
                return value
            ordered = sorted({positive_axis(int(each), value.shape.rank) for each in axes}, reverse=True)
            if len(ordered) == value.shape.rank and not keep:
                return dense(value.flat_values, axis=None, keepdims=False)
            for each in ordered:
                value = _of_axis(dense, of_segments, value, each, keep)
            return value

    scope = name
    return reduce


def _bools(op_type: str) -> Reduce:
    def reduce(values: Tensor, ids: Tensor, count: Tensor) -> Tensor:
        numbers = cast(values, dtypes.int32)
        return cast(apply_one(op_type, numbers, ids, count), dtypes.bool)

    return reduce


def _any_of(values: Tensor, ids: Tensor, count: Tensor) -> Tensor:
    total = segment.unsorted_segment_sum(cast(values, dtypes.int32), ids, count)
    return apply_one("NotEqual", total, 0)


reduce_sum = _reducer("ReduceSum", reduction.reduce_sum, segment.unsorted_segment_sum)
reduce_prod = _reducer("ReduceProd", reduction.reduce_prod, segment.unsorted_segment_prod)
reduce_min = _reducer("ReduceMin", reduction.reduce_min, segment.unsorted_segment_min)
reduce_max = _reducer("ReduceMax", reduction.reduce_max, segment.unsorted_segment_max)
reduce_all = _reducer("ReduceAll", reduction.reduce_all, _bools("UnsortedSegmentProd"))
reduce_any = _reducer("ReduceAny", reduction.reduce_any, _any_of)


def reduce_mean(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """The mean: the sum over the count, which is NaN where there is nothing."""
    with framework.name_scope(name, "RaggedReduceMean", [input_tensor]):
        value = as_ragged_or_tensor(input_tensor)
        options = (axis, keepdims, None, reduction_indices, keep_dims)
        total = reduce_sum(value, *options)
        count = reduce_sum(map_flat_values(ones_like, value), *options)
        if isinstance(total, RaggedTensor):
            return total.with_flat_values(total.flat_values / count.flat_values)
        return total / count


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Any:
    """The variance: the mean of squares less the square of the mean."""
    with framework.name_scope(name, "RaggedReduceVariance", [input_tensor]):
        value = as_ragged_or_tensor(input_tensor)
        if value.dtype.is_complex:
            raise ValueError("reduce_variance is not supported for RaggedTensors with complex dtypes.")
        of_squares = reduce_mean(map_flat_values(square, value), axis, keepdims)
        mean = reduce_mean(value, axis, keepdims)

        def difference(squares: Tensor, means: Tensor) -> Tensor:
            return maximum(squares - square(means), squares.dtype.as_numpy_dtype(0))

        return map_flat_values(difference, of_squares, mean)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Any:
    """The standard deviation: the root of the variance."""
    with framework.name_scope(name, "RaggedReduceStd", [input_tensor]):
        return map_flat_values(sqrt, reduce_variance(input_tensor, axis, keepdims))


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> RaggedTensor:
    """Sums of all values up to each, along an axis."""
    with framework.name_scope(name, "RaggedCumSum", [x, axis]):
        axis = positive_axis(int(axis), x.shape.rank)
        if axis < x.ragged_rank:
            total = scan.cumsum(x.to_tensor(), axis, exclusive, reverse)
            return RaggedTensor.from_tensor(total, lengths=x.nested_row_lengths())
        if axis > x.ragged_rank:
            inner = axis - x.ragged_rank
            return map_flat_values(scan.cumsum, x, inner, exclusive, reverse)  # type: ignore[no-any-return]
        # Of the innermost rows: the sum of all values, less what came before the row.
        partition = x._partitions()[-1]
        values = x.flat_values
        whole = scan.cumsum(values, 0, True, reverse)
        rowids = partition.value_rowids()
        edge = partition.row_splits[1:] - 1 if reverse else partition.row_splits[:-1]
        sums = whole - apply_one("GatherV2", whole, apply_one("GatherV2", edge, rowids, 0), 0)
        return x.with_flat_values(sums if exclusive else sums + values)  # type: ignore[no-any-return]


def reduced_texts(inputs: Any, axis: Any, keepdims: Any, separator: str, name: str | None) -> Any:
    """The strings of a RaggedTensor along an axis, joined."""

    def dense(values: Any, axis: Any, keepdims: bool) -> Tensor:
        return strings.reduce_join(values, axis=axis, keepdims=keepdims, separator=separator)

    def of_segments(values: Any, ids: Any, count: Any) -> Tensor:
        return apply_one("UnsortedSegmentJoin", values, ids, count, separator=separator)

    return _reducer("SegmentJoin", dense, of_segments)(inputs, axis, keepdims, name)
