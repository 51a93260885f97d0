"""Reductions over segments, the rows of a tensor that have the same segment id."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import Dims, merge
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import ORDERED, apply_one
from tensorfleet.ops.math.arithmetic import truediv
from tensorfleet.ops.shape_rules import merge_dim, with_rank, with_rank_at_least


def _segment_shape(operation: RuleNode) -> list[Dims]:
    data, ids = (t.dims for t in operation.inputs)
    with_rank(ids, 1)
    data = with_rank_at_least(data, 1)
    if data is None:
        return [None]
    return [(None, *data[1:])]


def _unsorted_shape(operation: RuleNode) -> list[Dims]:
    data, ids, _ = (t.dims for t in operation.inputs)
    if data is None or ids is None:
        return [None]
    if len(data) < len(ids):
        raise ValueError(f"Shape must be at least rank {len(ids)} but is rank {len(data)}")
    for a, b in zip(data, ids, strict=False):
        merge_dim(a, b)
    return [(_known_count(operation.inputs[2]), *data[len(ids) :])]


def _known_count(num_segments: RuleTensor) -> int | None:
    with_rank(num_segments.dims, 0)
    count = static_value(num_segments)
    if count is not None and count < 0:
        raise ValueError(f"Dimension size, given by scalar input 2, must be non-negative but is {count}")
    return None if count is None else int(count)


def _sparse_segment_shape(operation: RuleNode) -> list[Dims]:
    data, indices, ids = (t.dims for t in operation.inputs[:3])
    merge(with_rank(indices, 1), with_rank(ids, 1))
    data = with_rank_at_least(data, 1)
    if data is None:
        return [None]
    rows = _known_count(operation.inputs[3]) if len(operation.inputs) > 3 else None
    return [(rows, *data[1:])]


def _sparse_segment_grad_shape(operation: RuleNode) -> list[Dims]:
    grad, indices, ids, rows = (t.dims for t in operation.inputs)
    with_rank(rows, 0)
    merge(with_rank(indices, 1), with_rank(ids, 1))
    grad = with_rank_at_least(grad, 1)
    if operation.type.endswith("V2"):
        return [None if grad is None else (None, *grad[1:]), (None,)]
    return [None if grad is None else (_known_count(operation.inputs[3]), *grad[1:])]


for _name in ("Sum", "Mean", "Prod", "Min", "Max"):
    _types = ORDERED if _name in ("Min", "Max") else "number"
    op(
        f"Segment{_name}(data: T, segment_ids: Tindices) -> (output: T)",
        f"T: {{{_types}}}",
        "Tindices: {int32, int64}",
        shape=_segment_shape,
    )
    if _name != "Mean":
        op(
            f"UnsortedSegment{_name}"
            "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)",
            f"T: {{{_types}}}",
            "Tindices: {int16, int32, int64}" if _name == "Sum" else "Tindices: {int32, int64}",
            "Tnumsegments: {int32, int64} = int32",
            shape=_unsorted_shape,
        )
for _name in ("Sum", "Mean", "SqrtN"):
    _types = ORDERED if _name == "Sum" else "bfloat16, float16, float32, float64"
    _ids = "Tsegmentids: {int32, int64} = int32"
    op(
        f"SparseSegment{_name}(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)",
        f"T: {{{_types}}}",
        "Tidx: {int32, int64} = int32",
        _ids,
        "sparse_gradient: bool = false",
        shape=_sparse_segment_shape,
    )
    op(
        f"SparseSegment{_name}WithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, "
        "num_segments: Tnumsegments) -> (output: T)",
        f"T: {{{_types}}}",
        "Tidx: {int32, int64} = int32",
        "Tnumsegments: {int32, int64} = int32",
        _ids,
        "sparse_gradient: bool = false",
        shape=_sparse_segment_shape,
    )
    _types = "T: {bfloat16, float16, float32, float64}"
    for _suffix, _rows, _outputs in (
        ("Grad", "output_dim0", "output: T"),
        ("GradV2", "dense_output_dim0", "output: T, sorted_unique_indices: Tidx"),
    ):
        op(
            f"SparseSegment{_name}{_suffix}(grad: T, indices: Tidx, segment_ids: Tsegmentids, "
            f"{_rows}: int32) -> ({_outputs})",
            _types,
            "Tidx: {int32, int64} = int32",
            _ids,
            shape=_sparse_segment_grad_shape,
        )


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The sum of each segment's rows, by sorted ids (`tf.segment_sum`); 0 for an id that is left out.

    Args:
        data: rank 1 or more.
        segment_ids: int32 or int64, one for each row, not decreasing; the last one is the greatest.

    Example:
        >>> tf.Session().run(tf.segment_sum([1, 2, 3], [0, 0, 1]))
        array([3, 3], dtype=int32)
    """
    return apply_one("SegmentSum", data, segment_ids, name=name)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The mean of each segment's rows, by sorted ids (`tf.segment_mean`); 0 for an id that is left out.

    Args:
        data: rank 1 or more.
        segment_ids: int32 or int64, one for each row, not decreasing; the last one is the greatest.
    """
    return apply_one("SegmentMean", data, segment_ids, name=name)


def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The product of each segment's rows, by sorted ids (`tf.segment_prod`); 1 for an id that is left out.

    Args:
        data: rank 1 or more.
        segment_ids: int32 or int64, one for each row, not decreasing; the last one is the greatest.
    """
    return apply_one("SegmentProd", data, segment_ids, name=name)


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The least of each segment's rows, by sorted ids (`tf.segment_min`); 0 for an id that is left out.

    Args:
        data: rank 1 or more.
        segment_ids: int32 or int64, one for each row, not decreasing; the last one is the greatest.
    """
    return apply_one("SegmentMin", data, segment_ids, name=name)


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The greatest of each segment's rows, by sorted ids (`tf.segment_max`); 0 for an id that is left out.

    Args:
        data: rank 1 or more.
        segment_ids: int32 or int64, one for each row, not decreasing; the last one is the greatest.
    """
    return apply_one("SegmentMax", data, segment_ids, name=name)


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of each segment's rows (`tf.unsorted_segment_sum`); 0 for an empty segment.

    Args:
        data: of a shape that begins with that of `segment_ids`.
        segment_ids: int32 or int64, less than `num_segments`; rows with a negative one are left out.
    """
    return apply_one("UnsortedSegmentSum", data, segment_ids, num_segments, name=name)


def unsorted_segment_prod(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The product of each segment's rows (`tf.unsorted_segment_prod`); 1 for an empty segment.

    Args:
        data: of a shape that begins with that of `segment_ids`.
        segment_ids: int32 or int64, less than `num_segments`; rows with a negative one are left out.
    """
    return apply_one("UnsortedSegmentProd", data, segment_ids, num_segments, name=name)


def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The least of each segment's rows (`tf.unsorted_segment_min`); the dtype's greatest if it is empty.

    Args:
        data: of a shape that begins with that of `segment_ids`.
        segment_ids: int32 or int64, less than `num_segments`; rows with a negative one are left out.
    """
    return apply_one("UnsortedSegmentMin", data, segment_ids, num_segments, name=name)


def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The greatest of each segment's rows (`tf.unsorted_segment_max`); the dtype's least if it is empty.

    Args:
        data: of a shape that begins with that of `segment_ids`.
        segment_ids: int32 or int64, less than `num_segments`; rows with a negative one are left out.
    """
    return apply_one("UnsortedSegmentMax", data, segment_ids, num_segments, name=name)


def _counts(data: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """The number of elements of each segment, at least 1, in a shape that broadcasts to the segments."""
    ones = apply_one("Fill", apply_one("Shape", segment_ids), data.dtype.base.as_numpy_dtype(1))
    counts = unsorted_segment_sum(ones, segment_ids, num_segments)
    inner_rank = apply_one("Sub", apply_one("Rank", data), apply_one("Rank", segment_ids))
    inner = apply_one("Fill", apply_one("ExpandDims", inner_rank, 0), 1)
    shape = apply_one("ConcatV2", [apply_one("Shape", counts), inner], 0)
    return apply_one("Maximum", apply_one("Reshape", counts, shape), data.dtype.base.as_numpy_dtype(1))


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The mean of each segment's rows (`tf.unsorted_segment_mean`), float64 of int32; 0 for an empty one."""
    with get_default_graph().name_scope(name or "UnsortedSegmentMean"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        total = unsorted_segment_sum(data, segment_ids, num_segments)
        return truediv(total, _counts(data, segment_ids, num_segments))


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of each segment's rows, divided by the root of their number (`tf.unsorted_segment_sqrt_n`)."""
    with get_default_graph().name_scope(name or "UnsortedSegmentSqrtN"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        total = unsorted_segment_sum(data, segment_ids, num_segments)
        return apply_one("RealDiv", total, apply_one("Sqrt", _counts(data, segment_ids, num_segments)))


def _sparse_segment(
    op_type: str, data: Any, indices: Any, segment_ids: Any, name: str | None, num_segments: Any, sparse: bool
) -> Tensor:
    if num_segments is None:
        return apply_one(op_type, data, indices, segment_ids, name=name, sparse_gradient=sparse)
    return apply_one(
        f"{op_type}WithNumSegments",
        data,
        indices,
        segment_ids,
        num_segments,
        name=name,
        sparse_gradient=sparse,
    )


def sparse_segment_sum(
    data: Any,
    indices: Any,
    segment_ids: Any,
    name: str | None = None,
    num_segments: Any = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sum of the rows `indices` of `data`, by segments (`tf.sparse_segment_sum`).

    Args:
        indices: int32 or int64, rows of `data`.
        segment_ids: one for each index, not decreasing.
        num_segments: how many segments there are, if not as many as the last id says.
        sparse_gradient: the gradient is an IndexedSlices, of the rows that are taken.
    """
    return _sparse_segment(
        "SparseSegmentSum", data, indices, segment_ids, name, num_segments, sparse_gradient
    )


def sparse_segment_mean(
    data: Any,
    indices: Any,
    segment_ids: Any,
    name: str | None = None,
    num_segments: Any = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The mean of the rows `indices` of `data`, by segments (`tf.sparse_segment_mean`).

    Args:
        indices: int32 or int64, rows of `data`.
        segment_ids: one for each index, not decreasing.
        num_segments: how many segments there are, if not as many as the last id says.
        sparse_gradient: the gradient is an IndexedSlices, of the rows that are taken.
    """
    return _sparse_segment(
        "SparseSegmentMean", data, indices, segment_ids, name, num_segments, sparse_gradient
    )


def sparse_segment_sqrt_n(
    data: Any,
    indices: Any,
    segment_ids: Any,
    name: str | None = None,
    num_segments: Any = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sum of the rows `indices` of `data`, by segments, over the root of their number.

    `tf.sparse_segment_sqrt_n`.

    Args:
        indices: int32 or int64, rows of `data`.
        segment_ids: one for each index, not decreasing.
        num_segments: how many segments there are, if not as many as the last id says.
        sparse_gradient: the gradient is an IndexedSlices, of the rows that are taken.
    """
    return _sparse_segment(
        "SparseSegmentSqrtN", data, indices, segment_ids, name, num_segments, sparse_gradient
    )
