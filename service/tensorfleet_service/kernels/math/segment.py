"""Kernels of `tensorfleet.ops.math.segment`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet_service.devices.native import add_rows
from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.threads import unlocked

_UFUNCS = {"Sum": "add", "Prod": "multiply", "Min": "minimum", "Max": "maximum"}


def _reduce_sorted(
    xp: ModuleType, ufunc: Any, rows: Any, ids: Any, result: Any, neutral: Any, initial: Any = None
) -> Any:
    """Combines the rows of each segment into `result`, whose rows of other segments stay as they are.

    Args:
        initial: of extrema of unsorted segments, the number that is there before the first row.
    """
    if not ids.size:
        return result
    if xp is not np:  # CuPy has no reduceat
        result[ids] = neutral
        ufunc.at(result, ids, rows)
        return result
    if ufunc is np.add and add_rows(result, ids, rows):
        return result
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    found = unlocked.reduceat(ufunc, rows, starts, rows.dtype)
    if ufunc in (np.maximum, np.minimum) and rows.dtype.kind not in "iu":
        found = _past_nans(ufunc, rows, starts, found, initial)
    result[ids[starts]] = found
    return result


def _past_nans(ufunc: Any, rows: Any, starts: Any, found: Any, initial: Any) -> Any:
    """The extrema of segments as in TensorFlow, of which some may be NaN where a row is.

    Sorted segments pass over NaNs, where they have other rows. Unsorted ones start from a number, `initial`;
    a NaN takes the place of what was before it, and the next row that of the NaN.

    Args:
        found: the extrema with NaNs, which any NaN in a segment makes of it.
        initial: None of sorted segments.
    """
    nans = np.isnan(found)
    if not nans.any():
        return found if initial is None else ufunc(found, found.dtype.type(initial))
    least = found.dtype.type(-np.inf if ufunc is np.maximum else np.inf)
    columns = (-1,) + (1,) * (rows.ndim - 1)
    ends = np.append(starts[1:], len(rows)).reshape(columns) - 1
    if initial is None:
        others = unlocked.reduceat(ufunc, np.where(np.isnan(rows), least, rows), starts, rows.dtype)
        return np.where(ends > starts.reshape(columns), others, found)
    places = np.arange(len(rows)).reshape(columns)
    last = unlocked.reduceat(np.maximum, np.where(np.isnan(rows), places, -1), starts)
    segments = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
    after = np.where(places > last[segments], rows, least)
    others = unlocked.reduceat(ufunc, after, starts, rows.dtype)
    return np.where(nans, np.where(last == ends, found, others), ufunc(found, found.dtype.type(initial)))


def _reduce_rows(xp: ModuleType, ufunc: Any, rows: Any, ids: Any, result: Any, neutral: Any) -> Any:
    """Like `_reduce_sorted`, for ids in any order."""
    if xp is np:
        if ufunc is np.add and add_rows(result, ids, rows):
            return result
        order = np.argsort(ids, kind="stable")
        rows, ids = rows[order], ids[order]
    return _reduce_sorted(xp, ufunc, rows, ids, result, neutral, neutral)


def _check_sorted(ids: Any, count: int) -> None:
    if not ids.size:
        return
    if (ids[1:] < ids[:-1]).any():
        raise invalid("segment ids are not increasing")
    if ids[0] < 0:
        raise invalid(
            f"Segment id {int(ids[0])} out of range [0, {count}), possibly because 'segment_ids' input "
            "is not sorted."
        )


@kernel("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMin", "SegmentMax")
def _segment(node: KernelNode) -> Kernel:
    xp = node.xp
    kind = node.op.removeprefix("Segment")
    dtype = node.input_types[0]
    ufunc = getattr(xp, _UFUNCS["Sum" if kind == "Mean" else kind])

    def segment(data: Any, segment_ids: Any) -> Any:
        if segment_ids.ndim != 1:
            raise invalid("segment_ids should be a vector.")
        if not data.ndim:
            raise invalid("input must be at least rank 1")
        if len(segment_ids) != len(data):
            raise invalid("segment_ids should be the same size as dimension 0 of input.")
        count = int(segment_ids[-1]) + 1 if len(data) else 0
        _check_sorted(segment_ids, count)
        result = xp.full((count, *data.shape[1:]), 1 if kind == "Prod" else 0, data.dtype)
        _reduce_sorted(xp, ufunc, data, segment_ids, result, neutral_of(kind, data.dtype))
        return _divided(xp, result, segment_ids, count, dtype.is_integer, 1.0) if kind == "Mean" else result

    return _wide(segment, dtype)


def _wide(function: Kernel, dtype: dtypes.DType) -> Kernel:
    """`function(data, *indices)`, with the data of small floats in float32."""
    if dtype not in SMALL_FLOATS:
        return function
    target = dtype.np

    def rounded(data: Any, *indices: Any) -> Any:
        return function(data.astype(np.float32), *indices).astype(target)

    return rounded


def neutral_of(kind: str, dtype: Any) -> Any:
    """The neutral element of an operation; for Min and Max of floats, as in TensorFlow, a finite number."""
    if kind in ("Min", "Max"):
        limits = dtypes.from_numpy(dtype)
        return limits.max if kind == "Min" else limits.min
    return 1 if kind == "Prod" else 0


def _counted(xp: ModuleType, ids: Any, count: int) -> Any:
    """How many rows each segment has."""
    return unlocked.bincount(ids, count) if xp is np else xp.bincount(ids, minlength=count)


def _divided(xp: ModuleType, total: Any, ids: Any, count: int, integer: bool, power: float) -> Any:
    """`total` divided by the number of rows of each segment, to a power."""
    sizes = _counted(xp, ids, count).clip(1).reshape((count,) + (1,) * (total.ndim - 1))
    if not integer:
        return total / (sizes**power).astype(total.dtype)
    sizes = sizes.astype(total.dtype)
    return (total - xp.fmod(total, sizes)) // sizes


@kernel("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMin", "UnsortedSegmentMax")
def _unsorted_segment(node: KernelNode) -> Kernel:
    xp = node.xp
    kind = node.op.removeprefix("UnsortedSegment")
    ufunc = getattr(xp, _UFUNCS[kind])
    dtype = node.input_types[0]
    assert dtype.np is not None
    neutral = neutral_of(kind, dtype.np)

    def unsorted_segment(data: Any, segment_ids: Any, num_segments: Any) -> Any:
        if num_segments.ndim:
            raise invalid(f"num_segments should be a scalar, not shape {shape_text(num_segments.shape)}")
        count = int(num_segments)
        if count < 0:
            raise invalid(f"Input num_segments == {count} must not be negative.")
        rank = segment_ids.ndim
        if data.shape[:rank] != segment_ids.shape:
            raise invalid(
                f"data.shape = {shape_text(data.shape)} does not start with segment_ids.shape = "
                f"{shape_text(segment_ids.shape)}"
            )
        result = xp.full((count, *data.shape[rank:]), neutral, data.dtype)
        ids = segment_ids.ravel()
        if not data.size:  # TensorFlow does not check the ids of empty data either
            return result
        if xp is not np:
            # The host does not wait to look at the ids: rows of other ones go into a segment of their own.
            ids = xp.where((ids >= 0) & (ids < count), ids, count)
            result = xp.full((count + 1, *data.shape[rank:]), neutral, data.dtype)
            rows = data.reshape(ids.size, *data.shape[rank:])
            return _reduce_rows(xp, ufunc, rows, ids, result, neutral)[:count]
        if int(ids.max()) >= count:
            position = int(xp.flatnonzero(ids >= count)[0])
            index = ",".join(str(int(i)) for i in np.unravel_index(position, segment_ids.shape))
            raise invalid(f"segment_ids[{index}] = {int(ids[position])} is out of range [0, {count})")
        rows = data.reshape(ids.size, *data.shape[rank:])
        if int(ids.min()) < 0:
            kept = ids >= 0
            rows, ids = rows[kept], ids[kept]
        return _reduce_rows(xp, ufunc, rows, ids, result, neutral)

    return _wide(unsorted_segment, dtype) if kind in ("Sum", "Prod") else unsorted_segment


def _check_sparse(indices: Any, segment_ids: Any) -> None:
    if indices.ndim != 1:
        raise invalid("indices should be a vector.")
    if segment_ids.ndim != 1:
        raise invalid("segment_ids should be a vector.")
    if len(indices) != len(segment_ids):
        raise invalid("segment_ids and indices should have same size.")


@kernel(
    "SparseSegmentSum",
    "SparseSegmentMean",
    "SparseSegmentSqrtN",
    "SparseSegmentSumWithNumSegments",
    "SparseSegmentMeanWithNumSegments",
    "SparseSegmentSqrtNWithNumSegments",
)
def _sparse_segment(node: KernelNode) -> Kernel:
    xp = node.xp
    kind = node.op.removeprefix("SparseSegment").removesuffix("WithNumSegments")
    power = {"Sum": 0.0, "Mean": 1.0, "SqrtN": 0.5}[kind]

    def sparse_segment(data: Any, indices: Any, segment_ids: Any, num_segments: Any = None) -> Any:
        _check_sparse(indices, segment_ids)
        count = int(segment_ids[-1]) + 1 if len(segment_ids) else 0
        if num_segments is not None:
            if num_segments.ndim:
                raise invalid(f"num_segments should be a scalar, not shape {shape_text(num_segments.shape)}")
            if int(num_segments) < 0:
                raise invalid("segment ids must be >= 0")
            if count > int(num_segments):
                raise invalid("segment ids must be < num_segments")
            count = int(num_segments)
        _check_sorted(segment_ids, count)
        outside = (indices < 0) | (indices >= len(data))
        if outside.any():
            i = int(xp.flatnonzero(outside)[0])
            raise invalid(f"Bad: indices[{i}] == {int(indices[i])} out of range [0, {len(data)})")
        result = xp.zeros((count, *data.shape[1:]), data.dtype)
        _reduce_sorted(xp, xp.add, data[indices], segment_ids, result, 0)
        return _divided(xp, result, segment_ids, count, False, power) if power else result

    return _wide(sparse_segment, node.input_types[0])


@kernel(*(f"SparseSegment{name}Grad{suffix}" for name in ("Sum", "Mean", "SqrtN") for suffix in ("", "V2")))
def _sparse_segment_grad(node: KernelNode) -> Kernel:
    xp = node.xp
    only_used = node.op.endswith("V2")
    kind = node.op.removeprefix("SparseSegment").removesuffix("V2").removesuffix("Grad")
    power = {"Sum": 0.0, "Mean": 1.0, "SqrtN": 0.5}[kind]
    dtype = node.input_types[0]

    def sparse_segment_grad(grad: Any, indices: Any, segment_ids: Any, rows: Any) -> Any:
        _check_sparse(indices, segment_ids)
        if rows.ndim:
            raise invalid(f"output_dim0 should be a scalar. Its shape is {shape_text(rows.shape)}")
        count = int(rows)
        if segment_ids.size and int(segment_ids.max()) >= len(grad):
            raise invalid(
                f"Invalid number of segments: {int(segment_ids.max()) + 1}, for {len(grad)} rows of gradients"
            )
        for name, at, limit in (("Index", indices, count), ("Segment id", segment_ids, len(grad))):
            outside = (at < 0) | (at >= limit)
            if outside.any():
                i = int(xp.flatnonzero(outside)[0])
                raise invalid(f"{name} {int(at[i])} out of range [0, {limit}).")
        values = grad[segment_ids]
        if power:
            sizes = _counted(xp, segment_ids, len(grad))[segment_ids]
            values = values / (sizes**power).astype(values.dtype).reshape((-1,) + (1,) * (grad.ndim - 1))
        if not only_used:
            result = xp.zeros((count, *grad.shape[1:]), values.dtype)
            return _reduce_rows(xp, xp.add, values, indices, result, 0)
        if xp is np:
            used, _, places, _ = unlocked.unique(indices)
        else:
            used, places = xp.unique(indices, return_inverse=True)
        result = xp.zeros((len(used), *grad.shape[1:]), values.dtype)
        return _reduce_rows(xp, xp.add, values, places.reshape(-1), result, 0), used

    if dtype not in SMALL_FLOATS:
        return sparse_segment_grad
    target = dtype.np

    def rounded(grad: Any, *rest: Any) -> Any:
        found = sparse_segment_grad(grad.astype(np.float32), *rest)
        return (found[0].astype(target), found[1]) if only_used else found.astype(target)

    return rounded
