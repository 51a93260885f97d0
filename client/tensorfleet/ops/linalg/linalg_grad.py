"""Gradients of `linalg`.

The formulas for decompositions are those of Giles, "Collected matrix derivative results for forward and
reverse mode algorithmic differentiation", 2008, and of Walter and Lehmann, "Algorithmic differentiation of
linear algebra functions", 2010.
"""

from __future__ import annotations

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, ints, like, rank_of, summed_to, where


def _product(x: Tensor, y: Tensor, adjoint_x: bool = False, adjoint_y: bool = False) -> Tensor:
    return apply_one("BatchMatMulV2", x, y, adj_x=adjoint_x, adj_y=adjoint_y)


def _adjoint(x: Tensor) -> Tensor:
    """The (conjugate) transpose of each matrix."""
    rank = rank_of(x)
    turned = apply_one("Pack", [rank - ints(1), rank - ints(2)], axis=0)
    perm = apply_one("ConcatV2", [apply_one("Range", 0, rank - ints(2), 1), turned], 0)
    return conj(apply_one("Transpose", x, perm))


def _scalars(x: Tensor) -> Tensor:
    """Numbers as matrices of shape [1, 1]."""
    return apply_one("ExpandDims", apply_one("ExpandDims", x, -1), -1)


def _lower_half(x: Tensor) -> Tensor:
    """The lower triangle of a symmetric gradient, which counts for both triangles."""
    both = apply_one("MatrixBandPart", x + _adjoint(x), -1, 0)
    return apply_one("MatrixSetDiag", both, apply_one("MatrixDiagPart", both) * like(0.5, x))


@gradient("MatrixInverse")
def _inverse(op: Operation, grad: Tensor) -> Tensor:
    y = op.outputs[0]
    adjoint = op.attrs["adjoint"]
    return -_product(y, _product(grad, y, adjoint, not adjoint), not adjoint)


@gradient("MatrixDeterminant")
def _determinant(op: Operation, grad: Tensor) -> Tensor:
    inverse = apply_one("MatrixInverse", op.inputs[0], adjoint=True)
    return _scalars(grad * op.outputs[0]) * inverse


@gradient("LogMatrixDeterminant")
def _log_determinant(op: Operation, _: Tensor, grad: Tensor) -> Tensor:
    return _scalars(grad) * apply_one("MatrixInverse", op.inputs[0], adjoint=True)


@gradient("MatrixSolve")
def _solve(op: Operation, grad: Tensor) -> list[Tensor]:
    x, adjoint = op.outputs[0], op.attrs["adjoint"]
    rhs_grad = apply_one("MatrixSolve", op.inputs[0], grad, adjoint=not adjoint)
    outer = _product(x, rhs_grad, adjoint_y=True) if adjoint else _product(rhs_grad, x, adjoint_y=True)
    return [-outer, rhs_grad]


@gradient("MatrixTriangularSolve")
def _triangular_solve(op: Operation, grad: Tensor) -> list[Tensor]:
    (matrix, rhs), x = op.inputs, op.outputs[0]
    adjoint, lower = op.attrs["adjoint"], op.attrs["lower"]
    rhs_grad = apply_one("MatrixTriangularSolve", matrix, grad, adjoint=not adjoint, lower=lower)
    outer = _product(x, rhs_grad, adjoint_y=True) if adjoint else _product(rhs_grad, x, adjoint_y=True)
    triangle = -apply_one("MatrixBandPart", outer, *((-1, 0) if lower else (0, -1)))
    return [_over_batches(triangle, matrix), _over_batches(rhs_grad, rhs)]


def _over_batches(grad: Tensor, x: Tensor) -> Tensor:
    """A gradient summed over the batches along which x was repeated."""
    same = x.dims is not None and x.dims == grad.dims and None not in x.dims
    return grad if same else summed_to(grad, grad, x)


@gradient("Cholesky")
def _cholesky(op: Operation, grad: Tensor) -> Tensor:
    factor = op.outputs[0]
    identity = apply_one("MatrixDiag", apply_one("OnesLike", apply_one("MatrixDiagPart", factor)))
    inverse = apply_one("MatrixTriangularSolve", factor, identity)
    middle = _product(factor, grad, adjoint_x=True)
    middle = apply_one("MatrixSetDiag", middle, apply_one("MatrixDiagPart", middle) * like(0.5, middle))
    middle = apply_one("MatrixBandPart", middle, -1, 0)
    half = _product(_product(inverse, middle, adjoint_x=True), inverse)
    return (half + _adjoint(half)) * like(0.5, half)


def _differences(values: Tensor) -> Tensor:
    """1 / (v_j - v_i) at (i, j), 0 where they are equal."""
    table = apply_one("ExpandDims", values, -2) - apply_one("ExpandDims", values, -1)
    equal = apply_one("Equal", table, like(0, table))
    return where(equal, like(0, table), apply_one("Reciprocal", where(equal, like(1, table), table)))


@gradient("SelfAdjointEigV2")
def _self_adjoint_eig(op: Operation, values_grad: Tensor, vectors_grad: Tensor) -> Tensor:
    matrix = op.inputs[0]
    if op.attrs["compute_v"]:
        values, vectors = op.outputs
        table = _differences(values)
        if vectors.dtype.base.is_complex:
            table = apply_one("Cast", table, DstT=vectors.dtype.base)
        inner = table * _product(vectors, vectors_grad, adjoint_x=True)
        inner = apply_one("MatrixSetDiag", inner, values_grad)
    else:
        _, vectors = apply_op("SelfAdjointEigV2", matrix)
        inner = apply_one("MatrixDiag", values_grad)
    # The op reads only the lower triangle of the matrix.
    return _lower_half(_product(vectors, _product(inner, vectors, adjoint_y=True)))


@gradient("Svd")
def _svd(op: Operation, s_grad: Tensor, u_grad: Tensor, v_grad: Tensor) -> Tensor:
    matrix = op.inputs[0]
    if not op.attrs["compute_uv"]:
        _, u, v = apply_op("Svd", matrix, compute_uv=True)
        return _product(u, _product(apply_one("MatrixDiag", s_grad), v, adjoint_y=True))
    _check_svd(op)
    s, u, v = op.outputs
    # s_j² - s_i² at (i, j)
    table = _differences(apply_one("Square", s))
    diagonal = apply_one("MatrixDiag", s)

    def turned(x: Tensor, grad: Tensor) -> Tensor:
        overlap = _product(x, grad, adjoint_x=True)
        return table * (overlap - _adjoint(overlap))

    inner = _product(turned(u, u_grad), diagonal) + _product(diagonal, turned(v, v_grad))
    inner = inner + apply_one("MatrixDiag", s_grad)
    result = _product(u, _product(inner, v, adjoint_y=True))
    inverse = apply_one("MatrixDiag", apply_one("Reciprocal", s))
    assert matrix.dims is not None
    rows, columns = matrix.dims[-2:]
    if rows != columns:
        # The part of the gradient outside of the space that the thin factors span.
        u_out = u_grad - _product(u, _product(u, u_grad, adjoint_x=True))
        v_out = v_grad - _product(v, _product(v, v_grad, adjoint_x=True))
        result = result + _product(_product(u_out, inverse), v, adjoint_y=True)
        result = result + _product(_product(u, inverse), v_out, adjoint_y=True)
    return result


def _check_svd(op: Operation) -> None:
    dims = op.inputs[0].dims
    if op.outputs[1].dtype.base.is_complex:
        raise NotImplementedError("SVD gradient is not implemented for complex types.")
    if dims is None or None in dims[-2:]:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    if op.attrs["full_matrices"] and dims[-2] != dims[-1]:
        raise NotImplementedError("SVD gradient is not implemented for full matrices that are not square.")


@gradient("Qr")
def _qr(op: Operation, q_grad: Tensor, r_grad: Tensor) -> Tensor:
    dims = op.inputs[0].dims
    if dims is None or None in dims[-2:]:
        raise NotImplementedError("QrGrad not implemented with dynamic shapes.")
    rows, columns = dims[-2:]
    assert rows is not None
    assert columns is not None
    if rows < columns or (op.attrs["full_matrices"] and rows != columns):
        raise NotImplementedError(
            "QrGrad is implemented for thin factors of matrices with rows >= columns only."
        )
    q, r = op.outputs

    def over_r(x: Tensor) -> Tensor:
        """x · r⁻ᴴ"""
        return _adjoint(apply_one("MatrixTriangularSolve", r, _adjoint(x), lower=False))

    overlap = _product(q, q_grad, adjoint_x=True)
    product = _product(r, r_grad, adjoint_y=True)
    both = overlap - _adjoint(overlap) + product - _adjoint(product)
    lower = apply_one("MatrixBandPart", both, -1, 0)
    result = _product(q, r_grad + over_r(lower))
    return result + over_r(q_grad - _product(q, overlap))
