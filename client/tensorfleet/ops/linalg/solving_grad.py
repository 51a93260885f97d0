"""Gradient rules of least squares, of tridiagonal and banded systems, and of eigenvalues."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.linalg.matrix_parts import matrix_diag, matrix_diag_part

no_rule("CholeskyGrad")


def _product(a: Tensor, b: Tensor, adjoint_a: bool = False, adjoint_b: bool = False) -> Tensor:
    return apply_one("BatchMatMulV2", a, b, adj_x=adjoint_a, adj_y=adjoint_b)


@gradient("MatrixSolveLs")
def _least_squares(op: Operation, grad: Tensor) -> list[Any]:
    """Through the normal equations: x = (AᴴA + λI)⁻¹Aᴴb, or Aᴴ(AAᴴ + λI)⁻¹b where there are fewer rows."""
    a, _b, regularizer = op.inputs
    if not op.attrs["fast"]:
        raise ValueError("Gradient not defined for fast=False")
    dims = a.dims
    if dims is None or dims[-2] is None or dims[-1] is None:
        raise ValueError(
            "The gradient of MatrixSolveLs needs to know whether the matrix has more rows or columns"
        )
    if dims[-2] >= dims[-1]:
        return [*_overdetermined(op, grad, regularizer), None]
    return [*_underdetermined(op, grad, regularizer), None]


def _regularized(gram: Tensor, regularizer: Tensor) -> Tensor:
    weight = apply_one("Cast", regularizer, DstT=gram.dtype)
    ones = apply_one("OnesLike", matrix_diag_part(gram))
    return gram + matrix_diag(ones) * weight


def _overdetermined(op: Operation, grad: Tensor, regularizer: Tensor) -> list[Tensor]:
    a, b = op.inputs[:2]
    x = op.outputs[0]
    factor = apply_one("Cholesky", _regularized(_product(a, a, adjoint_a=True), regularizer))
    z = _cholesky_solve(factor, grad)
    az = _product(a, z)
    residual = b - _product(a, x)
    return [_product(residual, z, adjoint_b=True) - _product(az, x, adjoint_b=True), az]


def _underdetermined(op: Operation, grad: Tensor, regularizer: Tensor) -> list[Tensor]:
    a, b = op.inputs[:2]
    factor = apply_one("Cholesky", _regularized(_product(a, a, adjoint_b=True), regularizer))
    grad_b = _cholesky_solve(factor, _product(a, grad))
    y = _cholesky_solve(factor, b)
    first = _product(y, grad, adjoint_b=True)
    second = _product(grad_b, _product(a, y, adjoint_a=True), adjoint_b=True)
    third = _product(y, _product(a, grad_b, adjoint_a=True), adjoint_b=True)
    return [first - second - third, grad_b]


def _cholesky_solve(factor: Tensor, rhs: Tensor) -> Tensor:
    half = apply_one("MatrixTriangularSolve", factor, rhs, lower=True, adjoint=False)
    return apply_one("MatrixTriangularSolve", factor, half, lower=True, adjoint=True)


@gradient("Eig")
def _eig(op: Operation, grad_e: Tensor, grad_v: Tensor) -> Any:
    e, v = op.outputs
    if op.attrs["compute_v"]:
        # The derivative of an eigenvector along another one has the distance of their eigenvalues below it.
        distance = apply_one("ExpandDims", e, -2) - apply_one("ExpandDims", e, -1)
        zeros = apply_one("ZerosLike", e)
        inverse = apply_one("Reciprocal", apply_one("MatrixSetDiag", distance, apply_one("OnesLike", e)))
        factor = apply_one("Conj", apply_one("MatrixSetDiag", inverse, zeros))
        inner = _product(v, grad_v, adjoint_a=True)
        own = matrix_diag(apply_one("Cast", apply_one("Real", matrix_diag_part(inner)), DstT=e.dtype))
        middle = factor * (inner - _product(_product(v, v, adjoint_a=True), own))
        made = apply_one(
            "MatrixSolve", v, _product(matrix_diag(grad_e) + middle, v, adjoint_b=True), adjoint=True
        )
    else:
        _, vectors = apply_op("Eig", op.inputs[0], compute_v=True, Tout=e.dtype)
        made = apply_one(
            "MatrixSolve", vectors, _product(matrix_diag(grad_e), vectors, adjoint_b=True), adjoint=True
        )
    dtype = op.inputs[0].dtype
    return made if dtype.is_complex else apply_one("Cast", apply_one("Real", made), DstT=dtype)


@gradient("TridiagonalMatMul")
def _tridiagonal_product(op: Operation, grad: Tensor) -> list[Any]:
    superdiag, maindiag, subdiag, rhs = (apply_one("Conj", x) if x.dtype.is_complex else x for x in op.inputs)

    def column_sum(x: Tensor) -> Tensor:
        return apply_one("ExpandDims", apply_one("Sum", x, [-1]), -2)

    def column(x: Tensor) -> Tensor:
        return apply_one("ExpandDims", apply_one("Squeeze", x, squeeze_dims=[-2]), -1)

    above, below = _shifted(rhs, -1, -2), _shifted(rhs, 1, -2)
    spread = (
        column(maindiag) * grad
        + _shifted(column(superdiag) * grad, 1, -2)
        + _shifted(column(subdiag) * grad, -1, -2)
    )
    return [column_sum(above * grad), column_sum(rhs * grad), column_sum(below * grad), spread]


def _shifted(x: Tensor, by: int, axis: int) -> Tensor:
    """The tensor moved by one place along an axis counted from the end, with zeros in the gap."""
    rank = apply_one("Rank", x)
    before, after = (1, 0) if by > 0 else (0, 1)
    leading = apply_one("Fill", apply_one("ExpandDims", rank + axis, 0), 0)
    trailing = [0] * (-axis - 1)
    count = apply_one("Shape", x)
    one = (
        apply_one("ConcatV2", [leading, [1], trailing], 0)
        if trailing
        else apply_one("ConcatV2", [leading, [1]], 0)
    )
    begin = one * after
    kept = apply_one("Slice", x, begin, count - one)
    paddings = apply_one("Pack", [one * before, one * after], axis=1)
    made = apply_one("Pad", kept, paddings)
    if x.dims is not None:
        made.set_shape(x.dims)
    return made


@gradient("TridiagonalSolve")
def _tridiagonal(op: Operation, grad: Tensor) -> list[Any]:
    diagonals, x = op.inputs[0], op.outputs[0]
    above, main, below = apply_op("Unpack", diagonals, num=3, axis=-2)
    # The transposed matrix has the diagonals beside the main one exchanged, each moved by one place.
    transposed = apply_one("Pack", [_shifted(below, -1, -1), main, _shifted(above, 1, -1)], axis=-2)
    if diagonals.dtype.is_complex:
        transposed = apply_one("Conj", transposed)
    grad_rhs = apply_one(
        "TridiagonalSolve",
        transposed,
        grad,
        partial_pivoting=op.attrs["partial_pivoting"],
        perturb_singular=op.attrs["perturb_singular"],
    )
    values = apply_one("Conj", x) if x.dtype.is_complex else x
    parts = [
        -apply_one("Sum", shifted * grad_rhs, [-1])
        for shifted in (_shifted(values, -1, -2), values, _shifted(values, 1, -2))
    ]
    return [apply_one("Pack", parts, axis=-2), grad_rhs]


@gradient("BandedTriangularSolve")
def _banded(op: Operation, grad: Tensor) -> list[Any]:
    matrix, rhs = op.inputs
    x = op.outputs[0]
    lower, adjoint = op.attrs["lower"], op.attrs["adjoint"]
    grad_rhs = apply_one("BandedTriangularSolve", matrix, grad, lower=lower, adjoint=not adjoint)
    dense = _product(x, grad_rhs, adjoint_b=True) if adjoint else _product(grad_rhs, x, adjoint_b=True)
    bands = apply_one("Shape", matrix)[-2]
    limits = [-(bands - 1), 0] if lower else [0, bands - 1]
    number = apply_one("Pack", limits)
    zero = apply_one("Cast", 0, DstT=grad.dtype)
    grad_matrix = -apply_one("MatrixDiagPartV3", dense, number, zero, align="LEFT_RIGHT")
    if matrix.dims is not None and rhs.dims is not None and matrix.dims[:-2] == rhs.dims[:-2]:
        return [grad_matrix, grad_rhs]
    return [_unbroadcast(grad_matrix, matrix), _unbroadcast(grad_rhs, rhs)]


def _unbroadcast(grad: Tensor, like: Tensor) -> Tensor:
    shape, wanted = apply_one("Shape", grad), apply_one("Shape", like)
    axes, _ = apply_op("BroadcastGradientArgs", wanted[:-2], shape[:-2])
    return apply_one("Reshape", apply_one("Sum", grad, axes), wanted)
