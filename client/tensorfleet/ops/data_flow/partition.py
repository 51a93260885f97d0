"""Sets, groups and histograms: unique, setdiff1d, dynamic_partition, histogram_fixed_width."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dims as dims_module, dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_list, apply_op
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, unchanged, with_rank


def _unique_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 1)
    return [(None,), op.inputs[0].dims, (None,)][: len(op.outputs)]


def _unique_v2_shape(op: RuleNode) -> list[Dims]:
    dims, axis = op.inputs[0].dims, static_value(op.inputs[1])
    values: Dims = None if dims is None else (None,) * len(dims)
    rows: Dims = (None,)
    if dims is not None and axis is not None:
        if axis.size == 0:
            rows = with_rank(dims, 1)
        else:
            place = dims_module.normalize_axis(int(axis.reshape(())), len(dims))
            rows = (dims[place],)
    return [values, rows, (None,)][: len(op.outputs)]


def _list_diff_shape(op: RuleNode) -> list[Dims]:
    for tensor in op.inputs:
        with_rank(tensor.dims, 1)
    return [(None,), (None,)]


def _dynamic_partition_shape(op: RuleNode) -> list[Dims]:
    data, partitions = op.inputs[0].dims, op.inputs[1].dims
    count = op.attrs["num_partitions"]
    if partitions is None or data is None:
        return [None] * count
    if len(data) < len(partitions):
        raise ValueError(f"Shape must be at least rank {len(partitions)} but is rank {len(data)}")
    for a, b in zip(data, partitions, strict=False):
        merge_dim(a, b)
    return [(None, *data[len(partitions) :])] * count


def _dynamic_stitch_shape(op: RuleNode) -> list[Dims]:
    count = op.attrs["N"]
    greatest: int | None = -1
    rest: Dims = None
    for indices, data in zip(op.inputs[:count], op.inputs[count:], strict=True):
        value = static_value(indices)
        if value is None:
            greatest = None
        elif greatest is not None and value.size:
            greatest = max(greatest, int(value.max()))
        if indices.dims is not None and data.dims is not None:
            dims_module.merge(data.dims[: len(indices.dims)], indices.dims)
            rest = dims_module.merge(rest, data.dims[len(indices.dims) :])
    return [None if rest is None else (None if greatest is None else greatest + 1, *rest)]


def _sparse_to_dense_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[1].dims, 1)
    return [static_dims(op.inputs[1])]


def _histogram_shape(op: RuleNode) -> list[Dims]:
    merge_dim(with_rank(op.inputs[1].dims, 1)[0], 2)
    with_rank(op.inputs[2].dims, 0)
    bins = static_value(op.inputs[2])
    if bins is None:
        return [(None,)]
    if bins <= 0:
        raise ValueError(f"Requires nbins > 0: {int(bins)}")
    return [(int(bins),)]


op("Unique(x: T) -> (y: T, idx: out_idx)", "T: type", "out_idx: {int32, int64} = int32", shape=_unique_shape)
op(
    "UniqueV2(x: T, axis: Taxis) -> (y: T, idx: out_idx)",
    "T: type",
    "Taxis: {int32, int64} = int64",
    "out_idx: {int32, int64} = int32",
    shape=_unique_v2_shape,
)
op(
    "UniqueWithCounts(x: T) -> (y: T, idx: out_idx, count: out_idx)",
    "T: type",
    "out_idx: {int32, int64} = int32",
    shape=_unique_shape,
)
op(
    "UniqueWithCountsV2(x: T, axis: Taxis) -> (y: T, idx: out_idx, count: out_idx)",
    "T: type",
    "Taxis: {int32, int64} = int64",
    "out_idx: {int32, int64} = int32",
    shape=_unique_v2_shape,
)
op(
    "ListDiff(x: T, y: T) -> (out: T, idx: out_idx)",
    "T: type",
    "out_idx: {int32, int64} = int32",
    shape=_list_diff_shape,
)
op(
    "DynamicPartition(data: T, partitions: int32) -> (outputs: num_partitions * T)",
    "num_partitions: int >= 1",
    "T: type",
    shape=_dynamic_partition_shape,
)
op(
    "DynamicStitch(indices: N * int32, data: N * T) -> (merged: T)",
    "N: int >= 1",
    "T: type",
    shape=_dynamic_stitch_shape,
)
op(
    "ParallelDynamicStitch(indices: N * int32, data: N * T) -> (merged: T)",
    "N: int >= 1",
    "T: type",
    shape=_dynamic_stitch_shape,
)
op(
    "SparseToDense(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, "
    "default_value: T) -> (dense: T)",
    "validate_indices: bool = true",
    "T: type",
    "Tindices: {int32, int64}",
    shape=_sparse_to_dense_shape,
)
op(
    "Bucketize(input: T) -> (output: int32)",
    "T: {int32, int64, float32, float64}",
    "boundaries: list(float)",
    shape=unchanged,
)
op(
    "HistogramFixedWidth(values: T, value_range: T, nbins: int32) -> (out: dtype)",
    "T: {int32, int64, float32, float64}",
    "dtype: {int32, int64} = int32",
    shape=_histogram_shape,
)


def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """The distinct elements of a vector, in the order of their first appearance (`tf.unique`).

    Returns:
        (y, idx): x[i] is y[idx[i]]; `idx` is of dtype `out_idx`.

    Example:
        >>> values, index = tf.unique([5, 7, 5])
        >>> tf.Session().run([values, index])
        [array([5, 7], dtype=int32), array([0, 1, 0], dtype=int32)]
    """
    return apply_op("Unique", x, out_idx=out_idx, name=name)


def unique_with_counts(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """`unique` with the number of occurrences of each element: (y, idx, count) (`tf.unique_with_counts`)."""
    return apply_op("UniqueWithCounts", x, out_idx=out_idx, name=name)


def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.int32, name: str | None = None) -> Any:
    """The elements of the vector `x` that are not in `y`, in order (`tf.setdiff1d`).

    Returns:
        (out, idx): out[i] is x[idx[i]].
    """
    return apply_op("ListDiff", x, y, out_idx=index_dtype, name=name)


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The slices of `data` in `num_partitions` groups (`tf.dynamic_partition`).

    Args:
        partitions: the group of each slice, int32 in [0, num_partitions); its shape is a prefix of that of
            `data`.
    """
    return apply_list("DynamicPartition", data, partitions, num_partitions=num_partitions, name=name)


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """The reverse of `dynamic_partition` (`tf.dynamic_stitch`): merged[indices[m][i]] = data[m][i].

    Of several slices for one index the last one is kept; an index without a slice gets zeros.
    """
    return apply_one("DynamicStitch", indices, data, name=name)


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A tensor of `default_value` with `sparse_values` at the given indices (`tf.sparse_to_dense`).

    Args:
        sparse_indices: a scalar, a vector, or [n, rank]: the coordinates of each value.
        sparse_values: a vector of n values, or a scalar for all indices.
        validate_indices: whether indices must be in row-major order, without repetition.
    """
    return apply_one(
        "SparseToDense",
        sparse_indices,
        output_shape,
        sparse_values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """The number of values in each of `nbins` bins of equal width (`tf.histogram_fixed_width`).

    Args:
        value_range: [least, greatest]; values outside are counted in the first or last bin.
    """
    with get_default_graph().name_scope(name or "histogram_fixed_width") as scope:
        return apply_one("HistogramFixedWidth", values, value_range, nbins, dtype=dtype, name=scope)
