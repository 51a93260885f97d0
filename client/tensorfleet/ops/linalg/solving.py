"""Least squares, tridiagonal and banded systems, and eigenvalues of general matrices."""

from __future__ import annotations

from tensorfleet.core.dims import Dims, broadcast, merge
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import merge_dim, with_rank, with_rank_at_least

_TYPES = "T: {float64, float32, float16, complex64, complex128}"
_WIDE = "T: {float64, float32, complex64, complex128}"


def _least_squares(op: RuleNode) -> list[Dims]:
    matrix = with_rank_at_least(op.inputs[0].dims, 2)
    rhs = with_rank_at_least(op.inputs[1].dims, 2)
    with_rank(op.inputs[2].dims, 0)
    if matrix is None or rhs is None:
        return [None]
    merge_dim(matrix[-2], rhs[-2])
    batch = merge(matrix[:-2], rhs[:-2])
    return [None if batch is None else (*batch, matrix[-1], rhs[-1])]


def _eigen(op: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(op.inputs[0].dims, 2)
    if dims is None:
        return [None, None if op.attrs["compute_v"] else (0,)]
    size = merge_dim(dims[-2], dims[-1])
    return [(*dims[:-2], size), (*dims[:-2], size, size) if op.attrs["compute_v"] else (0,)]


def _cholesky_grad(op: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(op.inputs[0].dims, 2)
    if dims is None:
        return [None]
    size = merge_dim(dims[-2], dims[-1])
    return [(*dims[:-2], size, size)]


def _banded(op: RuleNode) -> list[Dims]:
    matrix = with_rank_at_least(op.inputs[0].dims, 2)
    rhs = with_rank_at_least(op.inputs[1].dims, 2)
    if matrix is None or rhs is None:
        return [None]
    batch = broadcast(matrix[:-2], rhs[:-2])
    return [None if batch is None else (*batch, merge_dim(matrix[-1], rhs[-2]), rhs[-1])]


def _tridiagonal_product(op: RuleNode) -> list[Dims]:
    rhs = with_rank_at_least(op.inputs[3].dims, 2)
    batch: Dims = None if rhs is None else rhs[:-2]
    size = None if rhs is None else rhs[-2]
    for tensor, axis in zip(op.inputs[:3], (-1, -1, -1), strict=True):
        dims = with_rank_at_least(tensor.dims, 2)
        if dims is not None:
            size = merge_dim(size, dims[axis])
            merge_dim(dims[-2], 1)
            batch = merge(batch, dims[:-2])
    return [rhs]


def _tridiagonal(op: RuleNode) -> list[Dims]:
    diagonals = with_rank_at_least(op.inputs[0].dims, 2)
    rhs = with_rank_at_least(op.inputs[1].dims, 2)
    if diagonals is None or rhs is None:
        return [rhs]
    batch = merge(diagonals[:-2], rhs[:-2])
    merge_dim(diagonals[-2], 3)
    size = merge_dim(diagonals[-1], rhs[-2])
    return [None if batch is None else (*batch, size, rhs[-1])]


op(
    "MatrixSolveLs(matrix: T, rhs: T, l2_regularizer: float64) -> (output: T)",
    _TYPES,
    "fast: bool = true",
    shape=_least_squares,
)
op("CholeskyGrad(l: T, grad: T) -> (output: T)", "T: {float16, float32, float64}", shape=_cholesky_grad)
op(
    "Eig(input: T) -> (e: Tout, v: Tout)",
    "compute_v: bool = true",
    "T: {float32, float64, complex64, complex128}",
    "Tout: {complex64, complex128}",
    shape=_eigen,
)
op(
    "BandedTriangularSolve(matrix: T, rhs: T) -> (output: T)",
    "lower: bool = true",
    "adjoint: bool = false",
    _TYPES,
    shape=_banded,
)
op(
    "TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> (output: T)",
    _WIDE,
    shape=_tridiagonal_product,
)
op(
    "TridiagonalSolve(diagonals: T, rhs: T) -> (output: T)",
    "partial_pivoting: bool = true",
    "perturb_singular: bool = false",
    _WIDE,
    shape=_tridiagonal,
)
