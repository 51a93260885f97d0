"""Factorizations of matrices and their uses: `tf.linalg.lu`, `tf.linalg.pinv`, `tf.matrix_solve_ls`, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import eye, ones
from tensorfleet.ops.array.indexing import batch_gather, gather
from tensorfleet.ops.array.rearranging import invert_permutation
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.linalg.linalg import cholesky, cholesky_solve, norm, svd, triangular_solve
from tensorfleet.ops.linalg.matrix_parts import band_part, set_diag
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_max, reduce_sum
from tensorfleet.ops.shape_rules import merge_dim, with_rank_at_least


def _lu_shape(node: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(node.inputs[0].dims, 2)
    if dims is None:
        return [None, None]
    size = merge_dim(dims[-1], dims[-2])
    return [(*dims[:-2], size, size), (*dims[:-2], size)]


def _square_shape(node: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(node.inputs[0].dims, 2)
    if dims is None:
        return [None]
    size = merge_dim(dims[-1], dims[-2])
    return [(*dims[:-2], size, size)]


op(
    "Lu(input: T) -> (lu: T, p: output_idx_type)",
    "T: {float64, float32, float16, complex64, complex128}",
    "output_idx_type: {int32, int64} = int32",
    shape=_lu_shape,
)
op(
    "MatrixSquareRoot(input: T) -> (output: T)",
    "T: {float64, float32, float16, complex64, complex128}",
    shape=_square_shape,
)
op("MatrixLogarithm(input: T) -> (output: T)", "T: {complex64, complex128}", shape=_square_shape)


def lu(input: Any, output_idx_type: Any = dtypes.int32, name: str | None = None) -> Any:
    """The LU factors of square matrices, with partial pivoting (`tf.linalg.lu`).

    Returns:
        (lu, p): both factors in one matrix, without the ones on the diagonal of the lower factor; row i of
        their product is row p[i] of the input.

    Raises:
        InvalidArgumentError: in a run, where a matrix is not invertible.
    """
    return apply_op("Lu", input, output_idx_type=dtypes.as_dtype(output_idx_type), name=name)


def _rows(x: Tensor, perm: Tensor) -> Tensor:
    return gather(x, perm, axis=-2) if perm.ndim == 1 and x.ndim == 2 else batch_gather(x, perm)


def _unit_lower(lower_upper: Tensor) -> Tensor:
    lower = band_part(lower_upper, num_lower=-1, num_upper=0)
    return set_diag(lower, ones(shape(lower_upper)[:-1], dtype=lower_upper.dtype))


def lu_solve(
    lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The solution X of A X = rhs, from the factors of A that `lu` gave (`tf.linalg.lu_solve`)."""
    del validate_args
    with framework.name_scope(name, "lu_solve", [lower_upper, perm, rhs]):
        factors = convert_to_tensor(lower_upper, _dtype_of(rhs), "lower_upper")
        order = convert_to_tensor(perm, dtypes.int32, "perm") if not isinstance(perm, Tensor) else perm
        right = convert_to_tensor(rhs, factors.dtype.base, "rhs")
        middle = triangular_solve(_unit_lower(factors), _rows(right, order))
        return triangular_solve(factors, middle, lower=False)


def _dtype_of(value: Any) -> Any:
    """The dtype of a tensor; None for other values."""
    return value.dtype.base if isinstance(value, Tensor) else None


def lu_matrix_inverse(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverse of a matrix, from its factors by `lu` (`tf.linalg.lu_matrix_inverse`)."""
    with framework.name_scope(name, "lu_matrix_inverse", [lower_upper, perm]):
        factors = convert_to_tensor(lower_upper, name="lower_upper")
        dims = shape(factors)
        identity = eye(dims[-1], batch_shape=dims[:-2], dtype=factors.dtype.base)
        return lu_solve(factors, perm, identity, validate_args)


def lu_reconstruct(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrix with the given factors by `lu` (`tf.linalg.lu_reconstruct`)."""
    del validate_args
    with framework.name_scope(name, "lu_reconstruct", [lower_upper, perm]):
        factors = convert_to_tensor(lower_upper, name="lower_upper")
        order = convert_to_tensor(perm, name="perm")
        product = matmul(_unit_lower(factors), band_part(factors, num_lower=0, num_upper=-1))
        if order.ndim == 1 and factors.ndim == 2:
            return gather(product, invert_permutation(order))
        # The inverse of each permutation: the positions of its numbers, in ascending order.
        places = apply_op("TopKV2", -order, shape(order)[-1]).indices
        return batch_gather(product, places)


def sqrtm(input: Any, name: str | None = None) -> Tensor:
    """The principal square root of matrices (`tf.linalg.sqrtm`): its product with itself is the input."""
    return apply_one("MatrixSquareRoot", input, name=name)


matrix_square_root = sqrtm


def logm(input: Any, name: str | None = None) -> Tensor:
    """The principal logarithm of complex matrices (`tf.linalg.logm`)."""
    return apply_one("MatrixLogarithm", input, name=name)


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> Any:
    """`tensor` divided by its norm, and the norm (`tf.linalg.normalize`); arguments as for `tf.norm`."""
    with framework.name_scope(name, "normalize", [tensor]):
        tensor = convert_to_tensor(tensor)
        size = norm(tensor, ord, axis, keepdims=True)
        if size.dtype.base is tensor.dtype.base:
            return tensor / size, size
        return tensor / apply_one("Cast", size, DstT=tensor.dtype.base), size


def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The number of singular values greater than `tol`, an int32 (`tf.linalg.matrix_rank`).

    Args:
        tol: by default the greatest singular value times the greater dimension times the dtype's epsilon.
    """
    del validate_args
    with framework.name_scope(name, "matrix_rank", [a, tol]):
        a = convert_to_tensor(a, preferred_dtype=dtypes.float32, name="a")
        values = svd(a, compute_uv=False)
        if tol is None:
            epsilon = np.finfo(a.dtype.base.as_numpy_dtype).eps
            size = apply_one("Cast", reduce_max(shape(a)[-2:]), DstT=values.dtype.base)
            tol = reduce_max(values, axis=-1, keepdims=True) * (size * epsilon)
        return reduce_sum(apply_one("Cast", apply_one("Greater", values, tol), DstT=dtypes.int32), axis=-1)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The pseudo-inverse of matrices (`tf.linalg.pinv`).

    Args:
        rcond: singular values below this fraction of the greatest one count as zero; by default ten times the
            greater dimension times the dtype's epsilon.
    """
    del validate_args
    with framework.name_scope(name, "pinv", [a, rcond]):
        a = convert_to_tensor(a, name="a")
        kind = a.dtype.base
        values, left, right = svd(a, full_matrices=False, compute_uv=True)
        if rcond is None:
            size = apply_one("Cast", reduce_max(shape(a)[-2:]), DstT=values.dtype.base)
            rcond = size * (10.0 * np.finfo(kind.as_numpy_dtype).eps)
        rcond = convert_to_tensor(rcond, values.dtype.base, "rcond")
        limit = apply_one("ExpandDims", rcond * reduce_max(values, axis=-1), -1)
        infinite = convert_to_tensor(np.inf, values.dtype.base)
        kept = apply_one("SelectV2", apply_one("Greater", values, limit), values, infinite)
        scaled = right / apply_one("ExpandDims", kept, -2)
        return matmul(scaled, left, adjoint_b=True)


def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """The X that minimizes |matrix X - rhs|² + l2_regularizer |X|² (`tf.matrix_solve_ls`).

    With more columns than rows and no regularizer, it is the solution of least norm.

    Args:
        matrix: [..., m, n]; m and n are known.
        rhs: [..., m, k].
        fast: solve by the normal equations; else by a singular value decomposition, which is exact for
            matrices of any condition or rank and ignores the regularizer.

    Raises:
        ValueError: the inner shape is not known.
    """
    with framework.name_scope(name, "matrix_solve_ls", [matrix, rhs]):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, matrix.dtype.base, "rhs")
        dims = matrix.dims
        if dims is None or None in dims[-2:]:
            raise ValueError("tf.matrix_solve_ls takes a matrix of known rows and columns.")
        if not fast:
            return matmul(pinv(matrix), rhs)
        rows, columns = int(dims[-2] or 0), int(dims[-1] or 0)
        regular = None
        if l2_regularizer:
            size = min(rows, columns)
            regular = eye(size, batch_shape=shape(matrix)[:-2], dtype=matrix.dtype.base)
            regular = regular * l2_regularizer
        if rows >= columns:
            gram = matmul(matrix, matrix, adjoint_a=True)
            factor = cholesky(gram if regular is None else gram + regular)
            return cholesky_solve(factor, matmul(matrix, rhs, adjoint_a=True))
        gram = matmul(matrix, matrix, adjoint_b=True)
        factor = cholesky(gram if regular is None else gram + regular)
        return matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True)
