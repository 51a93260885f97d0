"""Arithmetic of SparseTensors: sums, products with tensors, reductions, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims, merge
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant_node, convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import renamed_argument
from tensorfleet.ops.array.sparse_parts import rank_of_sparse
from tensorfleet.ops.array.sparse_tensor import SparseTensor, SparseTensorValue, as_sparse
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, with_rank

# Shape rules


def _add_shape(op: RuleNode) -> list[Dims]:
    sizes = with_rank(op.inputs[2].dims, 1)
    return [(None, sizes[0]), (None,), sizes]


def _add_grad_shape(op: RuleNode) -> list[Dims]:
    return [(with_rank(op.inputs[i].dims, 2)[0],) for i in (1, 2)]


def _values_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 2)
    return [(merge_dim(with_rank(op.inputs[1].dims, 1)[0], with_rank(op.inputs[0].dims, 2)[0]),)]


def _cwise_shape(op: RuleNode) -> list[Dims]:
    return [(with_rank(op.inputs[0].dims, 2)[0],)]


def _extremum_shape(op: RuleNode) -> list[Dims]:
    return [(None, None), (None,)]


def _reduced_shape(op: RuleNode) -> list[Dims]:
    dims, axes = static_dims(op.inputs[2]), static_value(op.inputs[3])
    if dims is None or axes is None:
        return [None]
    dropped = set()
    for axis in axes.reshape(-1).tolist():
        if not -len(dims) <= axis < len(dims):
            raise ValueError(f"Invalid reduction dimension {axis}, for input with {len(dims)} dimensions.")
        dropped.add(axis % len(dims))
    if op.attrs["keep_dims"]:
        return [tuple(1 if i in dropped else d for i, d in enumerate(dims))]
    return [tuple(d for i, d in enumerate(dims) if i not in dropped)]


def _reduced_parts_shape(op: RuleNode) -> list[Dims]:
    return [None, None, None]


def _dense_add_shape(op: RuleNode) -> list[Dims]:
    return [op.inputs[3].dims]


def _product_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 2)
    with_rank(op.inputs[1].dims, 1)
    sizes = static_dims(op.inputs[2])
    rows, inner = with_rank(sizes, 2)
    inner_b, columns = with_rank(op.inputs[3].dims, 2)
    if op.attrs["adjoint_a"]:
        rows, inner = inner, rows
    if op.attrs["adjoint_b"]:
        inner_b, columns = columns, inner_b
    merge_dim(inner, inner_b)
    return [(rows, columns)]


def _sparse_matmul_shape(op: RuleNode) -> list[Dims]:
    rows, inner = with_rank(op.inputs[0].dims, 2)
    inner_b, columns = with_rank(op.inputs[1].dims, 2)
    if op.attrs["transpose_a"]:
        rows, inner = inner, rows
    if op.attrs["transpose_b"]:
        inner_b, columns = columns, inner_b
    merge_dim(inner, inner_b)
    return [(rows, columns)]


_A = "a_indices: int64, a_values: T, a_shape: int64"
_B = "b_indices: int64, b_values: T, b_shape: int64"
_INPUT = "input_indices: int64, input_values: T, input_shape: int64"
op(
    f"SparseAdd({_A}, {_B}, thresh: Treal) -> (sum_indices: int64, sum_values: T, sum_shape: int64)",
    "T: number",
    "Treal: realnumber",
    shape=_add_shape,
)
op(
    "SparseAddGrad(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64) -> "
    "(a_val_grad: T, b_val_grad: T)",
    "T: number",
    shape=_add_grad_shape,
)
for _name in ("Add", "Div", "Mul"):
    op(
        f"SparseDenseCwise{_name}(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> (output: T)",
        "T: number",
        shape=_cwise_shape,
    )
for _name, _types in (("Max", "realnumber"), ("Sum", "number")):
    op(
        f"SparseReduce{_name}({_INPUT}, reduction_axes: int32) -> (output: T)",
        "keep_dims: bool = false",
        f"T: {_types}",
        shape=_reduced_shape,
    )
    op(
        f"SparseReduce{_name}Sparse({_INPUT}, reduction_axes: int32) -> "
        "(output_indices: int64, output_values: T, output_shape: int64)",
        "keep_dims: bool = false",
        f"T: {_types}",
        shape=_reduced_parts_shape,
    )
for _name, _types in (("Maximum", "realnumber"), ("Minimum", "number")):
    op(
        f"SparseSparse{_name}({_A}, {_B}) -> (output_indices: int64, output_values: T)",
        f"T: {_types}",
        shape=_extremum_shape,
    )
op(
    "SparseSoftmax(sp_indices: int64, sp_values: T, sp_shape: int64) -> (output: T)",
    "T: {float16, float32, float64}",
    shape=_values_shape,
)
op(
    "SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T) -> (output: T)",
    "T: number",
    "Tindices: {int32, int64}",
    shape=_dense_add_shape,
)
op(
    "SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: int64, b: T) -> (product: T)",
    "T: type",
    "Tindices: {int32, int64} = int64",
    "adjoint_a: bool = false",
    "adjoint_b: bool = false",
    shape=_product_shape,
)
op(
    "SparseMatMul(a: Ta, b: Tb) -> (product: float32)",
    "transpose_a: bool = false",
    "transpose_b: bool = false",
    "a_is_sparse: bool = false",
    "b_is_sparse: bool = false",
    "Ta: {float32, bfloat16} = float32",
    "Tb: {float32, bfloat16} = float32",
    shape=_sparse_matmul_shape,
)


def is_sparse(value: Any) -> bool:
    """Whether `value` is a SparseTensor or a SparseTensorValue."""
    return isinstance(value, (SparseTensor, SparseTensorValue))


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two SparseTensors, or of one and a tensor (`tf.sparse.add`).

    Args:
        threshold: sums of two elements of a smaller magnitude are left out; 0 by default. `thresh` is its
            older name.

    Returns:
        A SparseTensor if both are SparseTensors, else a Tensor.

    Raises:
        TypeError: both are tensors.
    """
    threshold = renamed_argument("threshold", threshold, "thresh", thresh)
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if is_sparse(a) and is_sparse(b):
        a, b = as_sparse(a), as_sparse(b)
        limit = convert_to_tensor(
            0 if threshold is None else threshold, _real(a.values.dtype.base), name="threshold"
        )
        indices, values, dense_shape = apply_op("SparseAdd", *_parts(a), *_parts(b), limit)
        # The sum has the static shape of both.
        known_a, known_b = static_dims(a.dense_shape), static_dims(b.dense_shape)
        known = merge(known_a, known_b)
        if known is not None and None not in known:
            return SparseTensor(indices, values, list(known))
        return SparseTensor(indices, values, dense_shape)
    if is_sparse(b):
        a, b = b, a
    return apply_one("SparseTensorDenseAdd", *_parts(as_sparse(a)), b)


def _real(dtype: dtypes.DType) -> dtypes.DType:
    return dtype.real_dtype if dtype.is_complex else dtype


def _parts(sparse: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    return sparse.indices, sparse.values, sparse.dense_shape


def _axes(sparse: SparseTensor, axis: Any) -> Any:
    if axis is not None:
        return axis
    known = with_rank(sparse.dense_shape.dims, 1)[0]
    if known is not None:
        return constant_node(np.arange(known, dtype=np.int32), "Const")
    return range(0, rank_of_sparse(sparse), 1)


def _reduce(
    op_type: str, sp_input: Any, axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any
) -> Any:
    keep = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims)
    axis = renamed_argument("axis", axis, "reduction_axes", reduction_axes)
    sparse = as_sparse(sp_input)
    return apply_op(op_type, *_parts(sparse), _axes(sparse, axis), keep_dims=bool(keep))


def sparse_reduce_max(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> Tensor:
    """The greatest of the given elements along dimensions (`tf.sparse.reduce_max`); 0 where there are none.

    Args:
        axis: the dimensions, all by default; `reduction_axes` is its older name.
        keepdims: keep them, of size 1; `keep_dims` is its older name.
    """
    found: Tensor = _reduce("SparseReduceMax", sp_input, axis, keepdims, reduction_axes, keep_dims)
    return found


def sparse_reduce_max_sparse(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> SparseTensor:
    """`sparse_reduce_max` as a SparseTensor, without empty rows (`tf.sparse.reduce_max_sparse`)."""
    parts = _reduce("SparseReduceMaxSparse", sp_input, axis, keepdims, reduction_axes, keep_dims)
    return SparseTensor(*parts)


def sparse_reduce_sum(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> Tensor:
    """The sum of the elements along dimensions (`tf.sparse.reduce_sum`).

    Args:
        axis: the dimensions, all by default; `reduction_axes` is its older name.
        keepdims: keep them, of size 1; `keep_dims` is its older name.

    Example:
        >>> sparse = tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2])
        >>> tf.Session().run(tf.sparse.reduce_sum(sparse, 1))
        array([1, 2], dtype=int32)
    """
    found: Tensor = _reduce("SparseReduceSum", sp_input, axis, keepdims, reduction_axes, keep_dims)
    return found


def sparse_reduce_sum_sparse(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> SparseTensor:
    """`sparse_reduce_sum` as a SparseTensor, without empty rows (`tf.sparse.reduce_sum_sparse`)."""
    parts = _reduce("SparseReduceSumSparse", sp_input, axis, keepdims, reduction_axes, keep_dims)
    return SparseTensor(*parts)


def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The softmax of the given elements along the last dimension, as if the others were -inf
    (`tf.sparse.softmax`). The rank is 2 or more."""
    sparse = as_sparse(sp_input)
    with framework.name_scope(name, "SparseSoftmax", [sparse.indices, sparse.values]):
        return sparse.with_values(apply_one("SparseSoftmax", *_parts(sparse)))


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The greater of the elements of two SparseTensors of one shape (`tf.sparse.maximum`)."""
    return _extremum("SparseSparseMaximum", sp_a, sp_b, name)


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The lesser of the elements of two SparseTensors of one shape (`tf.sparse.minimum`)."""
    return _extremum("SparseSparseMinimum", sp_a, sp_b, name)


def _extremum(op_type: str, a: Any, b: Any, name: str | None) -> SparseTensor:
    a, b = as_sparse(a), as_sparse(b)
    indices, values = apply_op(op_type, *_parts(a), *_parts(b), name=name)
    return SparseTensor(indices, values, a.dense_shape)


def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix and a matrix, or the other way round (`tf.sparse.matmul`).

    Args:
        sp_a: a SparseTensor of rank 2; or a matrix, if `b` is a SparseTensor.
        adjoint_a, adjoint_b: transpose and conjugate.

    Example:
        >>> sparse = tf.SparseTensor([[0, 1]], [2.0], [2, 2])
        >>> tf.Session().run(tf.sparse.matmul(sparse, [[1.0], [3.0]]))
        array([[6.],
               [0.]], dtype=float32)
    """
    if is_sparse(b):
        # a·b = (bᴴ·aᴴ)ᴴ, as the op takes the sparse operand first.
        product = sparse_tensor_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
        return transpose(product)
    sparse = as_sparse(sp_a)
    with framework.name_scope(name, "SparseTensorDenseMatMul", [sparse.indices, sparse.values, b]):
        b = convert_to_tensor(b, name="b")
        return apply_one(
            "SparseTensorDenseMatMul", *_parts(sparse), b, adjoint_a=adjoint_a, adjoint_b=adjoint_b
        )


def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of two matrices, of which many elements are zero (`tf.sparse_matmul`), in float32.

    Args:
        a_is_sparse, b_is_sparse: hints, only kept as attributes of the node.
    """
    return apply_one(
        "SparseMatMul",
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
        name=name,
    )


def times_dense(sparse: SparseTensor, dense: Any, name: str) -> SparseTensor:
    """The given elements times those of a tensor that is broadcast to the shape."""
    return _cwise("SparseDenseCwiseMul", sparse, dense, name)


def _cwise(op_type: str, sparse: SparseTensor, dense: Any, name: str) -> SparseTensor:
    with framework.name_scope(name) as scope:
        dense = convert_to_tensor(dense, sparse.dtype.base, name="y")
        return sparse.with_values(apply_one(op_type, *_parts(sparse), dense, name=scope))


def _times(self: SparseTensor, other: Any) -> SparseTensor:
    return times_dense(self, other, "mul")


def _div(self: SparseTensor, other: Any) -> SparseTensor:
    return _cwise("SparseDenseCwiseDiv", self, other, "div")


def _truediv(self: SparseTensor, other: Any) -> SparseTensor:
    with framework.name_scope("truediv") as scope:
        dense = convert_to_tensor(other, self.dtype.base, name="y")
        wide = _QUOTIENTS.get(self.dtype.base)
        if wide is not None:  # integers are divided as floats
            self, dense = self.with_values(cast(self.values, wide)), cast(dense, wide)
        return _cwise("SparseDenseCwiseDiv", self, dense, scope)


_QUOTIENTS = {
    **dict.fromkeys((dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16), dtypes.float32),
    **dict.fromkeys((dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64), dtypes.float64),
}

for _name, _function in (("__mul__", _times), ("__div__", _div), ("__truediv__", _truediv)):
    setattr(SparseTensor, _name, _function)
