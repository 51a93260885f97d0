"""SparseTensors by their elements: retained ones, filled rows, those of tensors, identity matrices."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones, zeros_like
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.indexing import gather, gather_nd
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.array.sparse_parts import as_int64
from tensorfleet.ops.array.sparse_tensor import SparseTensor, as_sparse
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, with_rank


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The elements for which `to_retain`, one bool for each, is true (`tf.sparse.retain`).

    Raises:
        ValueError: `to_retain` has another number of elements.
    """
    sparse = as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    merge_dim(with_rank(sparse.values.dims, 1)[0], with_rank(to_retain.dims, 1)[0])
    kept = reshape(where(to_retain), [-1])
    return SparseTensor(
        gather(sparse.indices, kept), gather(sparse.values, kept), identity(sparse.dense_shape)
    )


def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """A SparseTensor whose empty rows have `default_value` in their first column
    (`tf.sparse.fill_empty_rows`).

    Returns:
        The SparseTensor, and for each row whether it was empty.
    """
    sparse = as_sparse(sp_input)
    with framework.name_scope(name, "SparseFillEmptyRows", [sparse]):
        default = convert_to_tensor(default_value, sparse.values.dtype.base)
        indices, values, empty, _ = apply_op(
            "SparseFillEmptyRows", sparse.indices, sparse.values, sparse.dense_shape, default
        )
        return SparseTensor(indices, values, sparse.dense_shape), empty


def sparse_mask(a: Any, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """IndexedSlices without the rows `mask_indices` (`tf.sparse.mask`)."""
    with framework.name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        left, places = apply_op("ListDiff", a.indices, mask_indices)
        return IndexedSlices(gather(a.values, places, name=scope), left, a.dense_shape)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """A SparseTensor of the elements of a tensor that are not zero (`tf.sparse.from_dense`)."""
    with framework.name_scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        places = where(apply_one("NotEqual", tensor, zeros_like(tensor)))
        return SparseTensor(places, gather_nd(tensor, places), shape(tensor, out_type=dtypes.int64))


def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """The matrix with ones on its diagonal (`tf.sparse.eye`)."""
    with framework.name_scope(name, "eye", [num_rows, num_columns]):
        rows: Any = as_int64(num_rows, "num_rows")
        columns: Any = rows if num_columns is None else as_int64(num_columns, "num_columns")
        count = apply_one("Minimum", rows, columns)
        diagonal = apply_one("Range", 0, count, 1, Tidx=dtypes.int64, name="range")
        return SparseTensor(stack([diagonal, diagonal], axis=1), ones(count, dtype), [rows, columns])
