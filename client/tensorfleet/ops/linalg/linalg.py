"""Linear algebra: systems of equations, decompositions, norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import Dims, broadcast, merge
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import COMPLEX, apply_one
from tensorfleet.ops.linalg.matrix_parts import matrix_diag_part
from tensorfleet.ops.math.reduction import reduced_axes
from tensorfleet.ops.shape_rules import merge_dim, with_rank_at_least


def _square(dims: Dims) -> Dims:
    dims = with_rank_at_least(dims, 2)
    if dims is None:
        return None
    size = merge_dim(dims[-2], dims[-1])
    return (*dims[:-2], size, size)


def _square_shape(operation: RuleNode) -> list[Dims]:
    return [_square(operation.inputs[0].dims)]


def _determinant_shape(operation: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(operation.inputs[0].dims, 2)
    if dims is not None:
        merge_dim(dims[-1], dims[-2])
        dims = dims[:-2]
    return [dims] * len(operation.outputs)


def _solve_shape(operation: RuleNode) -> list[Dims]:
    matrix = _square(operation.inputs[0].dims)
    rhs = with_rank_at_least(operation.inputs[1].dims, 2)
    if rhs is None:
        return [None]
    if matrix is None:
        return [rhs if operation.type == "MatrixSolve" else None]
    rows = merge_dim(matrix[-1], rhs[-2])
    if operation.type == "MatrixSolve":
        batch = merge(matrix[:-2], rhs[:-2])
    else:
        batch = broadcast(matrix[:-2], rhs[:-2])
    return [None if batch is None else (*batch, rows, rhs[-1])]


def _qr_shape(operation: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(operation.inputs[0].dims, 2)
    if dims is None:
        return [None, None]
    rows, columns = dims[-2:]
    inner = None if rows is None or columns is None else min(rows, columns)
    if operation.attrs["full_matrices"]:
        inner = rows
    return [(*dims[:-2], rows, inner), (*dims[:-2], inner, columns)]


def _svd_shape(operation: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(operation.inputs[0].dims, 2)
    if dims is None:
        return [None, None, None] if operation.attrs["compute_uv"] else [None, (0,), (0,)]
    batch, (rows, columns) = dims[:-2], dims[-2:]
    inner = None if rows is None or columns is None else min(rows, columns)
    if not operation.attrs["compute_uv"]:
        return [(*batch, inner), (0,), (0,)]
    full = operation.attrs["full_matrices"]
    return [
        (*batch, inner),
        (*batch, rows, rows if full else inner),
        (*batch, columns, columns if full else inner),
    ]


def _eigen_shape(operation: RuleNode) -> list[Dims]:
    dims = _square(operation.inputs[0].dims)
    values = None if dims is None else dims[:-1]
    return [values, dims if operation.attrs["compute_v"] else (0,)]


_REAL = "float64, float32, float16"
_TYPES = f"T: {{{_REAL}, {COMPLEX}}}"
_DETERMINANT = f"T: {{float16, float32, float64, {COMPLEX}}}"
_ADJOINT = "adjoint: bool = false"

op("MatrixInverse(input: T) -> (output: T)", _ADJOINT, _TYPES, shape=_square_shape)
op("MatrixSolve(matrix: T, rhs: T) -> (output: T)", _ADJOINT, _TYPES, shape=_solve_shape)
op("Cholesky(input: T) -> (output: T)", _TYPES, shape=_square_shape)
op("MatrixDeterminant(input: T) -> (output: T)", _DETERMINANT, shape=_determinant_shape)
op(
    "LogMatrixDeterminant(input: T) -> (sign: T, log_abs_determinant: T)",
    _DETERMINANT,
    shape=_determinant_shape,
)
op(
    "MatrixTriangularSolve(matrix: T, rhs: T) -> (output: T)",
    "lower: bool = true",
    _ADJOINT,
    f"T: {{bfloat16, {_REAL}, {COMPLEX}}}",
    shape=_solve_shape,
)
op("Qr(input: T) -> (q: T, r: T)", "full_matrices: bool = false", _TYPES, shape=_qr_shape)
op(
    "Svd(input: T) -> (s: T, u: T, v: T)",
    "compute_uv: bool = true",
    "full_matrices: bool = false",
    _TYPES,
    shape=_svd_shape,
)
op("SelfAdjointEigV2(input: T) -> (e: T, v: T)", "compute_v: bool = true", _TYPES, shape=_eigen_shape)


@takes_composites
def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverses of matrices [..., n, n], or of their adjoints (`tf.matrix_inverse`).

    A step fails with InvalidArgumentError where a matrix has none.
    """
    return apply_one("MatrixInverse", input, name=name, adjoint=adjoint)


@takes_composites
def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The x of matrix · x = rhs, shapes [..., n, n] and [..., n, k] (`tf.matrix_solve`).

    A step fails with InvalidArgumentError where a matrix is singular.
    """
    return apply_one("MatrixSolve", matrix, rhs, name=name, adjoint=adjoint)


@takes_composites
def cholesky(input: Any, name: str | None = None) -> Tensor:
    """The lower triangular L with L · Lᴴ = input, of positive definite matrices (`tf.cholesky`).

    Only the lower triangle is read. A step fails with InvalidArgumentError where a matrix is not positive
    definite.
    """
    return apply_one("Cholesky", input, name=name)


@takes_composites
def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """The determinants, shape [...] of [..., n, n] (`tf.matrix_determinant`)."""
    return apply_one("MatrixDeterminant", input, name=name)


def slogdet(input: Any, name: str | None = None) -> Any:
    """(sign, log(|determinant|)) of each matrix (`tf.linalg.slogdet`)."""
    return apply_op("LogMatrixDeterminant", input, name=name)


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """`matrix_solve` of a triangular matrix, lower or upper (`tf.matrix_triangular_solve`)."""
    with get_default_graph().name_scope(name or "triangular_solve"):
        return apply_one("MatrixTriangularSolve", matrix, rhs, lower=lower, adjoint=adjoint)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """The x of A · x = rhs, where `chol` is the Cholesky factor of A (`tf.cholesky_solve`)."""
    with get_default_graph().name_scope(name or "cholesky_solve"):
        y = apply_one("MatrixTriangularSolve", chol, rhs, adjoint=False, lower=True)
        return apply_one("MatrixTriangularSolve", chol, y, adjoint=True, lower=True)


@takes_composites
def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """log(determinant) of positive definite matrices (`tf.linalg.logdet`)."""
    with get_default_graph().name_scope(name or "logdet"):
        diagonal = matrix_diag_part(cholesky(matrix))
        if diagonal.dtype.base.is_complex:
            diagonal = apply_one("Real", diagonal, Tout=diagonal.dtype.base.real_dtype)
        total = apply_one("Sum", apply_one("Log", diagonal), [-1])
        return apply_one("Mul", total.dtype.base.as_numpy_dtype(2), total, name="mul")


@takes_composites
def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The conjugate transposes of matrices (`tf.linalg.adjoint`)."""
    with get_default_graph().name_scope(name or "adjoint"):
        x = convert_to_tensor(matrix, name="matrix")
        if x.ndim is not None:
            axes = np.arange(x.ndim, dtype=np.int32)
            order: Any = np.concatenate([axes[:-2], axes[:-3:-1]])
        else:
            rank = apply_one("Rank", x)
            last, before = (apply_one("Sub", rank, i) for i in (1, 2))
            order = apply_one("ConcatV2", [apply_one("Range", 0, before, 1), [last, before]], 0)
        transposed = apply_one("Transpose", x, order)
        return apply_one("Conj", transposed) if x.dtype.base.is_complex else transposed


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """(q, r) with q · r = input, q orthogonal and r upper triangular (`tf.qr`)."""
    return apply_op("Qr", input, name=name, full_matrices=full_matrices)


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """(s, u, v) with u · diag(s) · vᴴ = tensor (`tf.svd`), s decreasing; s alone if not `compute_uv`."""
    s, u, v = apply_op("Svd", tensor, name=name, compute_uv=compute_uv, full_matrices=full_matrices)
    return (s, u, v) if compute_uv else s


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(eigenvalues, eigenvectors in columns), the least first (`tf.self_adjoint_eig`).

    Only the lower triangle is read.
    """
    e, v = apply_op("SelfAdjointEigV2", tensor, name=name, compute_v=True)
    return e, v


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues, the least first (`tf.self_adjoint_eigvals`)."""
    e, _ = apply_op("SelfAdjointEigV2", tensor, name=name, compute_v=False)
    assert isinstance(e, Tensor)
    return e


inv = matrix_inverse
solve = matrix_solve
det = matrix_determinant
triangular_solve = matrix_triangular_solve
eigh = self_adjoint_eig
eigvalsh = self_adjoint_eigvals


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors or matrices (`tf.norm`).

    Args:
        ord: "euclidean", "fro" (the same, of matrices), 1, 2, infinity, or for vectors any positive number.
        axis: None for the whole tensor as one vector, an axis for vectors, two for matrices.
        keepdims: keep the axes, with size 1. `keep_dims` is its old name.

    Raises:
        ValueError: an unknown norm, or a wrong `axis`.
    """
    keep = bool(keepdims if keep_dims is None else keep_dims)
    is_matrix = isinstance(axis, (tuple, list)) and len(axis) == 2
    supported: list[Any] = ["euclidean", "fro", 1, 2, np.inf] if is_matrix else ["euclidean", 1, 2, np.inf]
    if ord not in supported and (is_matrix or isinstance(ord, str) or ord <= 0):
        raise ValueError(
            f"'ord' must be a supported {'matrix' if is_matrix else 'vector'} norm in {supported}, got {ord}"
        )
    if isinstance(axis, (tuple, list)) and not is_matrix and len(axis) != 1:
        raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
    with get_default_graph().name_scope(name or "norm"):
        x = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean", 2):
            if is_matrix and ord == 2:
                result = _spectral_norm(x, axis)
            else:
                other = apply_one("Conj", x) if x.dtype.base.is_complex else x
                squares = apply_one("Mul", x, other, name="mul")
                result = apply_one("Sqrt", _summed("Sum", squares, axis))
        else:
            result = _absolute_norm(_magnitude(x), ord, axis, is_matrix)
        if keep:
            return result
        squeezed = [] if axis is None else list(np.atleast_1d(axis).tolist())
        return apply_one("Squeeze", result, squeeze_dims=squeezed)


def _magnitude(x: Tensor) -> Tensor:
    base = x.dtype.base
    return apply_one("ComplexAbs", x, Tout=base.real_dtype) if base.is_complex else apply_one("Abs", x)


def _summed(op_type: str, x: Tensor, axis: Any) -> Tensor:
    axis = reduced_axes(x, axis)
    return apply_one(op_type, x, axis, keep_dims=True)


def _absolute_norm(x: Tensor, ord: Any, axis: Any, is_matrix: bool) -> Tensor:
    if is_matrix:
        # 1 is the greatest column sum, infinity the greatest row sum.
        summed, extreme = axis if ord == 1 else axis[::-1]
        return apply_one("Max", _summed("Sum", x, summed), extreme, keep_dims=True)
    if ord == np.inf:
        return _summed("Max", x, axis)
    if ord == 1:
        return _summed("Sum", x, axis)
    number = x.dtype.base.as_numpy_dtype
    return apply_one("Pow", _summed("Sum", apply_one("Pow", x, number(ord)), axis), number(1 / ord))


def _spectral_norm(x: Tensor, axis: Any) -> Tensor:
    if x.ndim is None:
        raise ValueError("The spectral norm needs a tensor of known rank")
    rank = x.ndim
    moved = [i % rank for i in axis]
    order = np.array([i for i in range(rank) if i not in moved] + moved, np.int32)
    singular = svd(apply_one("Transpose", x, order), compute_uv=False)
    greatest = apply_one("ExpandDims", apply_one("Max", singular, -1, keep_dims=True), -1)
    return apply_one("Transpose", greatest, np.argsort(order).astype(np.int32))
