"""RaggedTensors of nested lists and of ranges, and placeholders for them."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant as dense_constant, convert_to_tensor
from tensorfleet.ops.array.identity import placeholder as dense_placeholder
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor
from tensorfleet.ops.ragged.row_partition import RowPartition
from tensorfleet.ops.ragged.value import nested_parts


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """Nested lists as a RaggedTensor, or as a tensor where no dimension is ragged (`tf.ragged.constant`).

    Args:
        ragged_rank: the number of ragged dimensions; by default as many as the lists allow.
        inner_shape: the shape of the innermost values.

    Raises:
        ValueError: scalars lie at different depths, or the lists do not fit `ragged_rank` or `inner_shape`.

    Example:
        >>> tf.Session().run(tf.ragged.constant([[1, 2], [3]]).row_lengths())
        array([2, 1])
    """
    with framework.name_scope(name, "RaggedConstant"):
        splits, inner, dims = nested_parts(pylist, ragged_rank, inner_shape)
        wanted = dtypes.as_dtype(row_splits_dtype)
        values: Any = dense_constant(inner, dtype, dims if dims else None, name="values")
        for each in reversed(splits):
            values = RaggedTensor(values, RowPartition(dense_constant(each, wanted)), internal=True)
        return values


def placeholder(dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None) -> Any:
    """A RaggedTensor that is fed in each step, by a RaggedTensorValue (`tf.ragged.placeholder`).

    Args:
        ragged_rank: the number of ragged dimensions; with 0 it is a plain placeholder.
        value_shape: the shape of each innermost value.
    """
    if ragged_rank == 0:
        return dense_placeholder(dtype, value_shape, name)
    with framework.name_scope(name, "RaggedPlaceholder", []):
        flat_shape = TensorShape([None]).concatenate(TensorShape(as_dims(value_shape)))
        result: Any = dense_placeholder(dtype, flat_shape, "flat_values")
        for i in reversed(range(ragged_rank)):
            splits = dense_placeholder(dtypes.int64, [None], f"row_splits_{i}")
            result = RaggedTensor(result, RowPartition(splits), internal=True)
        return result


def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> RaggedTensor:
    """A row of numbers from each start to each limit (`tf.ragged.range`).

    Args:
        starts: scalar or vector; the limits where `limits` is not given.
        limits, deltas: of the same shape, or scalars.
    """
    if limits is None:
        starts, limits = 0, starts
    with framework.name_scope(name, "RaggedRange", [starts, limits, deltas]):
        given = [starts, limits, deltas]
        tensors = [convert_to_tensor(each, dtype) for each in given]
        if dtype is None:
            # As numbers of Python's: the widest of all.
            order = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)
            found = [tensor.dtype.base for tensor in tensors]
            widest = max(found, key=lambda t: order.index(t) if t in order else -1)
            tensors = [
                tensor if tensor.dtype.base is widest else apply_op("Cast", tensor, DstT=widest)
                for tensor in tensors
            ]
        made = apply_op("RaggedRange", *tensors, Tsplits=dtypes.as_dtype(row_splits_dtype))
        return RaggedTensor(made.rt_dense_values, RowPartition(made.rt_nested_splits), internal=True)
