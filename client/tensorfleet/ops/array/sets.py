"""Sets: the rows of a tensor along its last dimension, and what `tf.sets` makes of two of them."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims, merge
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import with_rank

_TYPES = "T: {int8, int16, int32, int64, uint8, uint16, string}"
_OPERATION = ("set_operation: string", "validate_indices: bool = true", _TYPES)
_RESULT = "(result_indices: int64, result_values: T, result_shape: int64)"


def _result(rank: int | None) -> list[Dims]:
    return [(None, rank), (None,), (rank,)]


def _checked_rank(dims: Dims) -> int | None:
    if dims is None:
        return None
    if len(dims) < 2:
        raise ValueError(f"Input rank must be >= 2, got {len(dims)}")
    return len(dims)


def _sparse_rank(op: RuleNode, first: int) -> int | None:
    """The rank of a sparse set, whose indices are the input with this number."""
    indices, values, shape = (op.inputs[first + i].dims for i in range(3))
    indices, values, shape = with_rank(indices, 2), with_rank(values, 1), with_rank(shape, 1)
    rank = merge((indices[1],), shape)
    merge((indices[0],), values)
    assert rank is not None
    if rank[0] is not None and rank[0] < 2:
        raise ValueError(f"Input rank must be >= 2, got {rank[0]}")
    return rank[0]


def _dense_to_dense(op: RuleNode) -> list[Dims]:
    ranks = [_checked_rank(tensor.dims) for tensor in op.inputs]
    if None not in ranks:
        a, b = (tensor.dims for tensor in op.inputs)
        assert a is not None
        assert b is not None
        merge(a[:-1], b[:-1])
    return _result(next((rank for rank in ranks if rank is not None), None))


def _dense_to_sparse(op: RuleNode) -> list[Dims]:
    rank, other = _checked_rank(op.inputs[0].dims), _sparse_rank(op, 1)
    if rank is not None and other is not None and rank != other:
        raise ValueError(f"Ranks do not match: {rank} and {other}")
    return _result(other if rank is None else rank)


def _sparse_to_sparse(op: RuleNode) -> list[Dims]:
    first, second = _sparse_rank(op, 0), _sparse_rank(op, 3)
    if first is not None and second is not None and first != second:
        raise ValueError(f"Ranks do not match: {first} and {second}")
    return _result(second if first is None else first)


def _unknown(op: RuleNode) -> list[Dims]:
    return [None]


op(
    f"DenseToDenseSetOperation(set1: T, set2: T) -> {_RESULT}",
    *_OPERATION,
    shape=_dense_to_dense,
)
op(
    "DenseToSparseSetOperation(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64) -> "
    f"{_RESULT}",
    *_OPERATION,
    shape=_dense_to_sparse,
)
op(
    "SparseToSparseSetOperation(set1_indices: int64, set1_values: T, set1_shape: int64, "
    f"set2_indices: int64, set2_values: T, set2_shape: int64) -> {_RESULT}",
    *_OPERATION,
    shape=_sparse_to_sparse,
)
op(
    "SetSize(set_indices: int64, set_values: T, set_shape: int64) -> (size: int32)",
    "validate_indices: bool = true",
    _TYPES,
    shape=_unknown,
)

_VALID = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.string)


def _as_set(value: Any) -> Tensor | SparseTensor:
    made = value if isinstance(value, SparseTensor) else convert_to_tensor(value)
    if made.dtype.base not in _VALID:
        raise TypeError(f"Invalid dtype `{made.dtype}` not in supported dtypes: `{list(_VALID)}`.")
    return made


def _operate(a: Any, b: Any, operation: str, validate_indices: bool) -> SparseTensor:
    a, b = _as_set(a), _as_set(b)
    if b.dtype.base is not a.dtype.base:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    flips = isinstance(a, SparseTensor) and not isinstance(b, SparseTensor)
    if flips:
        # The op takes the dense set first, so a difference is taken the other way around.
        a, b = b, a
        operation = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
    parts = [
        part
        for x in (a, b)
        for part in ((x.indices, x.values, x.dense_shape) if isinstance(x, SparseTensor) else (x,))
    ]
    kinds = "To".join("Sparse" if isinstance(x, SparseTensor) else "Dense" for x in (a, b))
    indices, values, shape = apply_op(
        f"{kinds}SetOperation", *parts, set_operation=operation, validate_indices=validate_indices
    )
    return SparseTensor(indices, values, shape)


def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """How many elements there are along the last dimension (`tf.sets.size`).

    Args:
        a: a SparseTensor of sets, with sorted indices.
        validate_indices: whether to check that they are sorted and within the shape.
    """
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    if a.values.dtype.base not in _VALID:
        raise TypeError(f"Invalid dtype `{a.values.dtype}` not in supported dtypes: `{list(_VALID)}`.")
    return apply_one("SetSize", a.indices, a.values, a.dense_shape, validate_indices=validate_indices)


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that both sets have, sorted (`tf.sets.intersection`).

    Args:
        a, b: tensors or SparseTensors whose dimensions but the last agree; the indices of SparseTensors are
            sorted.
    """
    return _operate(a, b, "intersection", validate_indices)


def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements of one set that the other one lacks, sorted (`tf.sets.difference`)."""
    return _operate(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements of either set, sorted (`tf.sets.union`)."""
    return _operate(a, b, "union", validate_indices)
