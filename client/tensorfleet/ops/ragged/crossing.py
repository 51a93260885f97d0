"""`tf.ragged.cross`: all combinations of the elements of the rows of several inputs."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.framework import name_scope
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor, as_ragged_or_tensor
from tensorfleet.ops.text.sparse_cross import HASH_KEY


def cross(inputs: Any, name: str | None = None) -> RaggedTensor:
    """All combinations of the elements of each row, joined to strings by "_X_" (`tf.ragged.cross`).

    Args:
        inputs: RaggedTensors, SparseTensors and tensors of rank 2, of integers or strings, with equally many
            rows.

    Example:
        >>> pairs = tf.ragged.cross([tf.ragged.constant([["a"], ["b", "c"]]), tf.constant([["x"], ["y"]])])
        >>> tf.Session().run(pairs).to_list()
        [[b'a_X_x'], [b'b_X_y', b'c_X_y']]
    """
    return _crossed(inputs, False, 0, 0, name)


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> RaggedTensor:
    """`cross` with hashes of the combinations instead of strings (`tf.ragged.cross_hashed`).

    Args:
        num_buckets: hashes are in [0, num_buckets); 0 for any int64 that is not negative.
        hash_key: a key that is mixed into the hashes.
    """
    return _crossed(inputs, True, num_buckets, HASH_KEY if hash_key is None else hash_key, name)


def _crossed(inputs: Any, hashed: bool, buckets: int, key: int, name: str | None) -> RaggedTensor:
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise TypeError("Inputs must be a list")
    with name_scope(name, "RaggedCross", inputs):
        given = [one if isinstance(one, SparseTensor) else as_ragged_or_tensor(one) for one in inputs]
        ragged = [one for one in given if isinstance(one, RaggedTensor)]
        if any(one.ragged_rank != 1 for one in ragged):
            raise ValueError("tf.ragged.cross only supports inputs with rank=2")
        sparse = [one for one in given if isinstance(one, SparseTensor)]
        dense = [one for one in given if not isinstance(one, (RaggedTensor, SparseTensor))]
        for one in (*dense, *sparse):
            if one.shape.rank not in (2, None):
                raise ValueError("tf.ragged.cross only supports inputs with rank=2")
        kinds = {RaggedTensor: "R", SparseTensor: "S"}
        narrow = ragged and all(one.row_splits.dtype is dtypes.int32 for one in ragged)
        values, splits = apply_op(
            "RaggedCross",
            [_known(one.flat_values) for one in ragged],
            [one.row_splits for one in ragged],
            [one.indices for one in sparse],
            [_known(one.values) for one in sparse],
            [one.dense_shape for one in sparse],
            [_known(one) for one in dense],
            input_order="".join(kinds.get(type(one), "D") for one in given),
            hashed_output=hashed,
            num_buckets=buckets,
            hash_key=key,
            out_values_type=dtypes.int64 if hashed else dtypes.string,
            out_row_splits_type=dtypes.int32 if narrow else dtypes.int64,
            name="RaggedCross",
        )
        return RaggedTensor.from_row_splits(values, splits, validate=False)


def _known(values: Any) -> Any:
    """Strings as they are, integers as int64."""
    if values.dtype.base is dtypes.string:
        return values
    if not values.dtype.base.is_integer:
        raise ValueError(f"Unexpected dtype for inputs: {values.dtype.name}; wanted are integers or strings.")
    return cast(values, dtypes.int64)
