"""Sets in the last dimension of tensors: their sizes, unions, intersections, differences."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import SparseTensor, as_sparse, convert_to_tensor_or_sparse_tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, with_rank

_VALUES = "T: {int8, int16, int32, int64, uint8, uint16, string}"
_RESULT = "-> (result_indices: int64, result_values: T, result_shape: int64)"
_OPERATION = ("set_operation: string", "validate_indices: bool = true", _VALUES)


def _size_shape(op: RuleNode) -> list[Dims]:
    return [None]


def _rank_of_dense(tensor: RuleTensor) -> int | None:
    if tensor.dims is None:
        return None
    if len(tensor.dims) < 2:
        raise ValueError(f"Input 0 must have rank at least 2, but has {len(tensor.dims)}")
    return len(tensor.dims)


def _rank_of_sparse(op: RuleNode, first: int) -> int | None:
    """The rank of the SparseTensor whose indices are input `first`."""
    places = with_rank(op.inputs[first].dims, 2)
    count = with_rank(op.inputs[first + 1].dims, 1)
    sizes = with_rank(op.inputs[first + 2].dims, 1)
    merge_dim(places[0], count[0])
    rank = merge_dim(places[1], sizes[0])
    if rank is not None and rank < 2:
        raise ValueError(f"Input rank {rank} < 2.")
    return rank


def _result(first: int | None, second: int | None) -> list[Dims]:
    if first is not None and second is not None and first != second:
        raise ValueError(f"Ranks do not match: first {first}, second {second}")
    rank = second if first is None else first
    return [(None, rank), (None,), (rank,)]


def _dense_to_dense_shape(op: RuleNode) -> list[Dims]:
    first, second = (tensor.dims for tensor in op.inputs)
    ranks = [_rank_of_dense(tensor) for tensor in op.inputs]
    if first is not None and second is not None and len(first) == len(second):
        for a, b in zip(first[:-1], second[:-1], strict=True):
            merge_dim(a, b)
    return _result(*ranks)


def _dense_to_sparse_shape(op: RuleNode) -> list[Dims]:
    return _result(_rank_of_dense(op.inputs[0]), _rank_of_sparse(op, 1))


def _sparse_to_sparse_shape(op: RuleNode) -> list[Dims]:
    return _result(_rank_of_sparse(op, 0), _rank_of_sparse(op, 3))


op(
    "SetSize(set_indices: int64, set_values: T, set_shape: int64) -> (size: int32)",
    "validate_indices: bool = true",
    _VALUES,
    shape=_size_shape,
)
op(f"DenseToDenseSetOperation(set1: T, set2: T) {_RESULT}", *_OPERATION, shape=_dense_to_dense_shape)
op(
    f"DenseToSparseSetOperation(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64) {_RESULT}",
    *_OPERATION,
    shape=_dense_to_sparse_shape,
)
op(
    "SparseToSparseSetOperation(set1_indices: int64, set1_values: T, set1_shape: int64, "
    f"set2_indices: int64, set2_values: T, set2_shape: int64) {_RESULT}",
    *_OPERATION,
    shape=_sparse_to_sparse_shape,
)

_DTYPES = (
    *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    *(dtypes.uint8, dtypes.uint16, dtypes.string),
)


def _parts(sparse: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    return sparse.indices, sparse.values, sparse.dense_shape


def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """How many different elements there are in each row of a SparseTensor (`tf.sets.size`).

    Args:
        a: a SparseTensor, [d0, …, dn].
        validate_indices: whether to check that its indices are in order.

    Returns:
        int32, [d0, …, dn-1].

    Raises:
        TypeError: `a` is no SparseTensor, or its elements are of another dtype than integers or strings.
    """
    sparse = as_sparse(a)
    if sparse.dtype.base not in _DTYPES:
        raise TypeError(f"Invalid dtype `{sparse.dtype}` not in supported dtypes: {_DTYPES}")
    return apply_one("SetSize", *_parts(sparse), validate_indices=validate_indices)


def _operands(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Both as tensors or SparseTensors, and whether they changed places: a dense one comes first.

    Raises:
        TypeError: their dtypes differ, or are not of integers or strings.
    """
    a, b = convert_to_tensor_or_sparse_tensor(a), convert_to_tensor_or_sparse_tensor(b)
    if a.dtype.base not in _DTYPES:
        raise TypeError(f"'a' has invalid dtype `{a.dtype}` not in supported dtypes: {_DTYPES}")
    if b.dtype.base is not a.dtype.base:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        return b, a, True
    return a, b, False


def _operation(a: Any, b: Any, operation: str, validate_indices: bool) -> SparseTensor:
    arguments: dict[str, Any] = {"set_operation": operation, "validate_indices": validate_indices}
    if isinstance(a, SparseTensor):
        parts = apply_op("SparseToSparseSetOperation", *_parts(a), *_parts(b), **arguments)
    elif isinstance(b, SparseTensor):
        parts = apply_op("DenseToSparseSetOperation", a, *_parts(b), **arguments)
    else:
        parts = apply_op("DenseToDenseSetOperation", a, b, **arguments)
    return SparseTensor(*parts)


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that are in both of two rows (`tf.sets.intersection`).

    Args:
        a, b: tensors or SparseTensors of integers or strings that have all but the last dimension in common.
        validate_indices: whether to check that the indices are in order.

    Returns:
        A SparseTensor of the same rank; the elements of a row are in order, without gaps.

    Example:
        >>> tf.Session().run(tf.sets.intersection([[1, 2, 2]], [[2, 3, 1]])).values
        array([1, 2], dtype=int32)
    """
    a, b, _ = _operands(a, b)
    return _operation(a, b, "intersection", validate_indices)


def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements that are in one of two rows alone (`tf.sets.difference`).

    Args:
        aminusb: those of `a`; False: those of `b`.

    The rest is as of `tf.sets.intersection`.
    """
    a, b, flipped = _operands(a, b)
    return _operation(a, b, "b-a" if flipped == bool(aminusb) else "a-b", validate_indices)


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that are in one of two rows or in both (`tf.sets.union`).

    The arguments and the result are as of `tf.sets.intersection`.
    """
    a, b, _ = _operands(a, b)
    return _operation(a, b, "union", validate_indices)
