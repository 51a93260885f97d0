"""Crosses of SparseTensors: all combinations of the elements of each row, as strings or as hashes."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.sparse_tensor import SparseTensor


def _cross_shape(op: RuleNode) -> list[Dims]:
    return [(None, 2), (None,), (2,)]


_CROSSED = (
    "indices: N * int64, values: list(sparse_types), shapes: N * int64, dense_inputs: list(dense_types)"
)
_CROSSED_TYPES = ("sparse_types: list({int64, string}) >= 0", "dense_types: list({int64, string}) >= 0")
op(
    f"SparseCross({_CROSSED}) -> (output_indices: int64, output_values: out_type, output_shape: int64)",
    "N: int >= 0",
    "hashed_output: bool",
    "num_buckets: int >= 0",
    "hash_key: int",
    *_CROSSED_TYPES,
    "out_type: {int64, string}",
    "internal_type: {int64, string}",
    shape=_cross_shape,
)
op(
    f"SparseCrossV2({_CROSSED}, sep: string) -> "
    "(output_indices: int64, output_values: string, output_shape: int64)",
    "N: int >= 0",
    *_CROSSED_TYPES,
    shape=_cross_shape,
)


def _ragged_shape(op: RuleNode) -> list[Dims]:
    order = op.attrs["input_order"]
    ragged, sparse = order.count(b"R"), 3 * op.attrs["Nsparse"]
    known = [op.inputs[ragged + i].dims for i in range(ragged)]
    rows = [None if dims is None or dims[0] is None else dims[0] - 1 for dims in known]
    rows += [x.dims[0] if x.dims else None for x in op.inputs[2 * ragged + sparse :]]
    size = next((one for one in rows if one is not None), None)
    return [(None,), (None if size is None else size + 1,)]


op(
    "RaggedCross(ragged_values: list(ragged_values_types), ragged_row_splits: list(ragged_splits_types), "
    "sparse_indices: Nsparse * int64, sparse_values: list(sparse_values_types), "
    "sparse_shape: Nsparse * int64, dense_inputs: list(dense_types)) -> "
    "(output_values: out_values_type, output_row_splits: out_row_splits_type)",
    "Nsparse: int >= 0",
    "input_order: string",
    "hashed_output: bool",
    "num_buckets: int >= 0",
    "hash_key: int",
    "ragged_values_types: list({int64, string}) >= 0",
    "ragged_splits_types: list({int32, int64}) >= 0",
    "sparse_values_types: list({int64, string}) >= 0",
    "dense_types: list({int64, string}) >= 0",
    "out_values_type: {int64, string}",
    "out_row_splits_type: {int32, int64}",
    shape=_ragged_shape,
)


def sparse_cross(inputs: Any, name: str | None = None, separator: Any = None) -> SparseTensor:
    """All combinations of the elements of each row of several inputs, joined to strings (`tf.sparse.cross`).

    Args:
        inputs: tensors and SparseTensors of rank 2, of int64 or string, with equally many rows.
        separator: the text between the parts, "_X_" by default.
    """
    if not all(isinstance(each, (Tensor, SparseTensor)) for each in inputs):
        raise TypeError("All inputs must be Tensor or SparseTensor.")
    sparse, dense = _crossed(inputs)
    parts = apply_op(
        "SparseCrossV2",
        *_columns(sparse),
        dense,
        convert_to_tensor("_X_" if separator is None else separator, name="Const"),
        name=name,
    )
    return SparseTensor(*parts)


HASH_KEY = 0xDECAFCAFFE
"""The default key that is mixed into the fingerprints of crossed columns."""


def sparse_cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """`sparse_cross` with hashes of the combinations instead of strings (`tf.sparse.cross_hashed`).

    Args:
        num_buckets: hashes are in [0, num_buckets); 0 for any int64 that is not negative.
        hash_key: a key that is mixed into the hashes.
    """
    sparse, dense = _crossed(inputs)
    of_texts = [each.dtype.base is dtypes.string for each in [*(x.values for x in sparse), *dense]]
    parts = apply_op(
        "SparseCross",
        *_columns(sparse),
        dense,
        hashed_output=True,
        num_buckets=num_buckets,
        hash_key=hash_key or HASH_KEY,
        out_type=dtypes.int64,
        internal_type=dtypes.string if any(of_texts) else dtypes.int64,
        name=name,
    )
    return SparseTensor(*parts)


def _columns(sparse: list[SparseTensor]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    return (
        [each.indices for each in sparse],
        [each.values for each in sparse],
        [each.dense_shape for each in sparse],
    )


def _crossed(inputs: Any) -> tuple[list[SparseTensor], list[Tensor]]:
    """The inputs as SparseTensors and tensors, those of integers cast to int64."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(each, (Tensor, SparseTensor)) for each in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [
        each if each.dtype is dtypes.string else each.with_values(cast(each.values, dtypes.int64))
        for each in inputs
        if isinstance(each, SparseTensor)
    ]
    dense = [
        each if each.dtype.base is dtypes.string else cast(each, dtypes.int64)
        for each in inputs
        if isinstance(each, Tensor)
    ]
    return sparse, dense
