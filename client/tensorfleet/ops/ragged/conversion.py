"""Parts of RaggedTensors of tensors and SparseTensors, and tensors of such parts."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import boolean_mask, sequence_mask
from tensorfleet.ops.array.shaping import reshape, shape as shape_of
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.math.comparison import equal, logical_not
from tensorfleet.ops.math.reduction import reduce_all, reduce_max
from tensorfleet.ops.ragged.row_partition import (
    RowPartition,
    as_partition_tensor,
    checked,
    row_count,
    splits_of_lengths,
    splits_of_rowids,
)

Parts = tuple[Any, list[RowPartition]]


def parts_of_tensor(tensor: Tensor, lengths: Any, padding: Any, ragged_rank: int, dtype: DType) -> Parts:
    """(flat values, partitions) of a RaggedTensor with a tensor's rows, which lose what fills them up."""
    if lengths is not None and padding is not None:
        raise ValueError("Specify argument `lengths` or `padding`, but not both.")
    if not isinstance(ragged_rank, int):
        raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
    if ragged_rank <= 0:
        raise ValueError(f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}.")
    tensor.shape.with_rank_at_least(ragged_rank + 1)
    nested = isinstance(lengths, (list, tuple)) and bool(lengths) and _is_vector(lengths[0])
    if nested:
        return _parts_of_lengths(tensor, [as_partition_tensor(each, "lengths", dtype) for each in lengths])
    sizes = shape_of(tensor, out_type=dtype)
    dims = (None,) * (ragged_rank + 1) if tensor.dims is None else tensor.dims

    def size(axis: int) -> Tensor:
        known = dims[axis]
        return sizes[axis] if known is None else constant(known, dtype)

    outer: list[RowPartition] = []
    rows = size(0)
    for axis in builtins.range(1, ragged_rank):
        outer.append(RowPartition(range(rows + 1) * size(axis), nrows=rows, uniform=size(axis)))
        rows = apply_one("Mul", rows, size(axis))
    if ragged_rank > 1:
        tensor = reshape(tensor, concat([rows[None], sizes[ragged_rank:]], 0))
    columns = size(ragged_rank)
    if lengths is None and padding is None:
        flat = reshape(tensor, concat([[-1], sizes[ragged_rank + 1 :]], 0))
        if None not in dims:
            count = 1
            for each in dims[: ragged_rank + 1]:
                count *= each or 0
            flat = reshape(tensor, [count, *dims[ragged_rank + 1 :]])
        return flat, [*outer, RowPartition(range(rows + 1) * columns, nrows=rows, uniform=columns)]
    limits = _own_lengths(tensor, padding, dtype) if lengths is None else None
    if limits is None:
        limits = as_partition_tensor(lengths, "lengths", dtype)
        limits.shape.assert_has_rank(1)
        limits = maximum(minimum(limits, columns), dtype.as_numpy_dtype(0))
    values = boolean_mask(tensor, sequence_mask(limits, columns))
    return values, [*outer, RowPartition(splits_of_lengths(limits), lengths=limits)]


def _is_vector(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.ndim == 1
    return hasattr(value, "__len__")


def _own_lengths(tensor: Tensor, padding: Any, dtype: DType) -> Tensor:
    """The lengths of rows without the padding at their ends."""
    fill = convert_to_tensor(padding, tensor.dtype.base, "padding")
    is_fill = equal(tensor, fill)
    inner = [*builtins.range(2, tensor.ndim or 2)]
    if inner:
        is_fill = reduce_all(is_fill, axis=inner)
    places = range(1, shape_of(is_fill, out_type=dtype)[1] + 1)
    used = apply_one("Mul", cast(logical_not(is_fill), dtype), places)
    return maximum(reduce_max(used, axis=1), dtype.as_numpy_dtype(0))


def _parts_of_lengths(tensor: Tensor, lengths: list[Tensor]) -> Parts:
    """Rows by the lengths of nested dimensions: those of the inner ones, of the rows that are left."""
    partitions = []
    values = tensor
    for each in lengths:
        values = boolean_mask(values, sequence_mask(each, shape_of(values, out_type=each.dtype.base)[1]))
        partitions.append(RowPartition(splits_of_lengths(each), lengths=each))
    return values, partitions


def parts_of_sparse(sparse: SparseTensor, dtype: DType) -> tuple[Tensor, RowPartition]:
    """(values, partition) of a RaggedTensor with the rows of a matrix whose elements have no gaps."""
    rank = sparse.dense_shape.dims[0] if sparse.dense_shape.dims else None
    if rank is None:
        rank = sparse.indices.dims[1] if sparse.indices.dims else None
    if rank is None or rank != 2:
        raise ValueError(
            f"Argument `st_input` must have a known rank of 2: rank must be 2, got {rank or 'unknown'}."
        )
    rows, columns = (cast(sparse.indices[:, i], dtype) for i in (0, 1))
    count = cast(sparse.dense_shape[0], dtype)
    known = static_value(sparse.dense_shape)
    if known is not None:
        count = constant(int(known[0]), dtype)
    partition = RowPartition(splits_of_rowids(rows, count, dtype), value_rowids=rows, nrows=count)
    # Each element stands where the elements of its row are counted.
    places = range(row_count(sparse.values, dtype)) - apply_one("GatherV2", partition.row_splits, rows, 0)
    message = "SparseTensor is not right-ragged: the elements of its rows have gaps"
    partition.row_splits = checked(
        partition.row_splits, checks.assert_equal(columns, places, message=message)
    )
    return sparse.values, partition


def padded(
    nested_row_splits: Sequence[Tensor], flat_values: Tensor, dims: TensorShape, default: Any, shape: Any
) -> Tensor:
    """A tensor of ragged rows, filled up; the shape of what is asked for, where there is one."""
    dtype = flat_values.dtype.base
    splits_dtype = nested_row_splits[0].dtype.base
    if default is None:
        default = "" if dtype.name == "string" else dtype.as_numpy_dtype(0)
    fill = convert_to_tensor(default, dtype, "default_value")
    if isinstance(shape, TensorShape) and shape.rank is None:
        shape = None
    if shape is None:
        sizes: Any = constant(-1, splits_dtype)
    elif isinstance(shape, Tensor):
        sizes = shape if shape.dtype.base is splits_dtype else cast(shape, splits_dtype)
    else:
        sizes = constant(
            [-1 if size is None else size for size in TensorShape(shape).as_list()], splits_dtype
        )
    return apply_one(
        "RaggedTensorToTensor",
        sizes,
        flat_values,
        fill,
        list(nested_row_splits),
        row_partition_types=["ROW_SPLITS"] * len(nested_row_splits),
    )
