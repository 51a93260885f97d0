"""Embeddings of SparseTensors of ids: for each row, a combination of the rows of a table."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, ones_like, zeros_like
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.shaping import expand_dims, rank, reshape, shape
from tensorfleet.ops.array.slicing import slice
from tensorfleet.ops.array.sparse_elements import sparse_fill_empty_rows, sparse_retain
from tensorfleet.ops.array.sparse_parts import sparse_reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor, as_sparse
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.segment import (
    segment_sum,
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable
from tensorfleet.ops.state.resource_variables import ResourceVariable

COMBINERS = ("mean", "sqrtn", "sum")


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """For each row of ids, the combined rows of a table (`tf.nn.embedding_lookup_sparse`).

    Args:
        params: the table, or its parts, as for `embedding_lookup`.
        sp_ids: a SparseTensor of integers, [rows, any], with at least one id in each row.
        sp_weights: a SparseTensor of weights at the same indices; by default all are 1.
        combiner: "sum" of the weighted rows; "mean" (the default), the sum divided by the sum of the
            weights; "sqrtn", the sum divided by the root of the sum of squared weights.
        max_norm: rows of the table of a greater L2 norm are scaled down to this.
        allow_fast_lookup: gather a row once for each use, instead of once for all uses.

    Returns:
        [rows, width].

    Raises:
        ValueError: another combiner.
        TypeError: the ids are no SparseTensor, or the weights are neither float32 nor float64.

    Example:
        >>> table = tf.constant([[1.0, 1.0], [2.0, 2.0], [6.0, 6.0]])
        >>> ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0, 1, 2]), [2, 2])
        >>> tf.Session().run(tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum"))
        array([[3., 3.],
               [6., 6.]], dtype=float32)
    """
    combiner = combiner or "mean"
    if combiner not in COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    parts = _table(params)
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    weights: Any = None
    if sp_weights is not None:
        weights = as_sparse(sp_weights).values
        if weights.dtype.base not in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64):
            raise TypeError(f"sp_weights must have floating values, got {weights.dtype.name}")
    with name_scope(name, "embedding_lookup_sparse", [*parts, sp_ids.values]) as scope:
        segment_ids: Any = sp_ids.indices
        segment_ids = segment_ids[:, 0]
        ids = sp_ids.values
        if weights is None and len(parts) == 1 and max_norm is None and isinstance(parts[0], Tensor):
            return _combined(combiner, parts[0], ids, segment_ids, scope)
        ids, places = apply_op("Unique", ids)
        rows = embedding_lookup(parts, ids, partition_strategy, max_norm=max_norm)
        if weights is None:
            return _combined(combiner, rows, places, segment_ids, scope)
        return _weighted(combiner, rows, places, cast(segment_ids, dtypes.int32), weights, scope)


def _table(params: Any) -> list[Any]:
    """The parts of a table: tensors and resource variables."""
    if isinstance(params, PartitionedVariable):
        params = list(params)
    parts = list(params) if isinstance(params, (list, tuple)) else [params]
    if not parts or parts == [None]:
        raise ValueError("params must be specified")
    return [p if isinstance(p, ResourceVariable) else convert_to_tensor(p, name="params") for p in parts]


def _combined(combiner: str, rows: Tensor, places: Tensor, segment_ids: Tensor, scope: str) -> Tensor:
    segment = {"mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n, "sum": sparse_segment_sum}
    return segment[combiner](rows, places, segment_ids, name=scope)


def _weighted(combiner: str, rows: Any, places: Any, segment_ids: Any, weights: Any, scope: str) -> Tensor:
    if weights.dtype.base is not rows.dtype.base:
        weights = cast(weights, rows.dtype.base)
    rows = gather(rows, places)
    # Ones for the dimensions of a row, so that the weights broadcast.
    further = expand_dims(rank(rows) - 1, 0)
    ndim = rows.ndim
    weights = reshape(weights, concat([shape(weights), ones(further, dtypes.int32)], 0))
    if ndim is not None:
        weights.set_shape([weights.shape[0], *[1] * (ndim - 1)])
    rows = rows * weights
    if combiner == "sum":
        return segment_sum(rows, segment_ids, name=scope)
    total = segment_sum(rows, segment_ids)
    if combiner == "mean":
        return apply_one("DivNoNan", total, segment_sum(weights, segment_ids), name=scope)
    squares = segment_sum(apply_one("Pow", weights, 2.0), segment_ids)
    return apply_one("DivNoNan", total, apply_one("Sqrt", squares), name=scope)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """`embedding_lookup_sparse` that takes rows without ids, and leaves out ids that are negative or whose
    weight is not positive (`tf.nn.safe_embedding_lookup_sparse`).

    Args:
        embedding_weights: the table, or its parts.
        sparse_ids: [d0, …, dn]; the ids along the last dimension are combined.
        default_id: the id of rows without one; by default their embedding is 0.

    Returns:
        [d0, …, dn-1, width].
    """
    if embedding_weights is None:
        raise ValueError("Missing embedding_weights.")
    parts = (
        list(embedding_weights)
        if isinstance(embedding_weights, (list, tuple, PartitionedVariable))
        else [embedding_weights]
    )
    if not parts:
        raise ValueError("Missing embedding_weights.")
    dtype = None if sparse_weights is None else sparse_weights.dtype
    parts = [
        p if isinstance(p, ResourceVariable) and dtype in (None, p.dtype) else convert_to_tensor(p, dtype)
        for p in parts
    ]
    with name_scope(name, "embedding_lookup", [*parts, sparse_ids.values]) as scope:
        original = sparse_ids.dense_shape
        known = sparse_ids.shape.ndims
        ndim = original.shape[0].value if known is None else known
        at: Any = rank_index(original, ndim)
        # As a matrix: all dimensions but the last one as rows, the last one as columns.
        outer = apply_one("Prod", slice(original, [0], [at]), constant([0], name="Const"))
        flat = sparse_reshape(sparse_ids, [outer, gather(original, at)])
        weights = (
            None
            if sparse_weights is None
            else SparseTensor(flat.indices, sparse_weights.values, flat.dense_shape)
        )
        flat, weights = _valid(flat, weights)
        if combiner != "sum" and weights is not None:
            flat, weights = _positive(flat, weights)
        flat, is_empty = sparse_fill_empty_rows(flat, default_id or 0)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        found = embedding_lookup_sparse(
            parts,
            flat,
            weights,
            combiner=combiner,
            partition_strategy=partition_strategy,
            name=None if default_id is None else scope,
            max_norm=max_norm,
            allow_fast_lookup=allow_fast_lookup,
        )
        if default_id is None:
            # Rows without ids get zeros in place of the embedding of the id that was filled in.
            is_empty = reshape(is_empty, [-1, 1])
            width: Any = shape(found)
            is_empty = apply_one("Tile", is_empty, stack([1, width[1]]))
            found = apply_one("Select", is_empty, zeros_like(found), found, name=scope)
        whole = concat([slice(cast(original, dtypes.int32), [0], [at]), slice(shape(found), [1], [-1])], 0)
        result = reshape(found, whole)
        dims = sparse_ids.shape.dims
        if dims is not None:
            result.set_shape([*[d.value for d in dims[:-1]], *found.shape.as_list()[1:]])
        return result


def rank_index(dense_shape: Any, ndim: int | None) -> Any:
    """The index of the last dimension."""
    if ndim is not None:
        return ndim - 1
    return rank(dense_shape) - 1


def _valid(ids: SparseTensor, weights: SparseTensor | None) -> tuple[SparseTensor, SparseTensor | None]:
    """Ids and weights without negative ids."""
    kept = apply_one("GreaterEqual", ids.values, 0)
    if weights is not None:
        kept = apply_one("LogicalAnd", kept, ones_like(weights.values, dtypes.bool))
    return sparse_retain(ids, kept), None if weights is None else sparse_retain(weights, kept)


def _positive(ids: SparseTensor, weights: SparseTensor) -> tuple[SparseTensor, SparseTensor]:
    """Ids and weights without weights that are not positive."""
    kept = apply_one("Greater", weights.values, 0.0)
    return sparse_retain(ids, kept), sparse_retain(weights, kept)
