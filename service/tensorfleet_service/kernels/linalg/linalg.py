"""Kernels of `tensorfleet.ops.linalg.linalg`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.linalg import reflections
from tensorfleet_service.kernels.linalg.elimination import determinants
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step


def _check_matrices(*inputs: Any) -> None:
    for i, x in enumerate(inputs):
        if x.ndim < 2:
            raise invalid(f"Input tensor {i} must have rank >= 2, got {x.ndim}")


def check_square(x: Any, message: str = "Input matrix must be square.") -> None:
    _check_matrices(x)
    if x.shape[-1] != x.shape[-2]:
        raise invalid(message)


def _adjoint(x: Any) -> Any:
    return x.swapaxes(-1, -2).conj()


def _wide(node: KernelNode, function: Callable[..., Any]) -> Kernel:
    """`function` with small floats widened to float32, as LAPACK has none; one or several outputs."""
    if node.input_types[0] not in SMALL_FLOATS:
        return function
    target = node.input_types[0].np

    def widened(*inputs: Any) -> Any:
        result = function(*[x.astype(np.float32) for x in inputs])
        return tuple(r.astype(target) for r in result) if isinstance(result, tuple) else result.astype(target)

    return widened


def _or_fail(xp: Any, compute: Callable[..., Any], message: str, *inputs: Any) -> Any:
    """The result of a decomposition. Raises InvalidArgumentError where it fails or contains NaNs."""
    try:
        result = compute(*inputs)
    except np.linalg.LinAlgError:
        raise invalid(message) from None
    if xp.isnan(result).any():
        raise invalid(message)
    return result


MOST_WORK = 1 << 25
"""Number of multiplications of a decomposition for which another thread may wait: some milliseconds."""


def _keeps_the_interpreter(x: Any, results: int) -> bool:
    """Whether NumPy would not let other threads run while it decomposes matrices, and for long.

    It goes by the number of elements of the result.

    Args:
        results: number of elements that each matrix gives.
    """
    work: int = x.size * min(x.shape[-2:])
    return work > MOST_WORK and math.prod(x.shape[:-2]) * results <= unlocked.SMALL_RESULT


def eigenvalues(x: Any, symmetric: bool = False) -> Any:
    """As `numpy.linalg.eigvals`, or `eigvalsh`; with eigenvectors, NumPy lets other threads run."""
    if _keeps_the_interpreter(x, x.shape[-1]):
        return (np.linalg.eigh if symmetric else np.linalg.eig)(x)[0]
    return np.linalg.eigvalsh(x) if symmetric else np.linalg.eigvals(x)


@kernel("MatrixInverse")
def _inverse(node: KernelNode) -> Kernel:
    xp = node.xp
    adjoint = node.attrs["adjoint"]

    def inverse(x: Any) -> Any:
        check_square(x)
        return _or_fail(xp, xp.linalg.inv, "Input is not invertible.", _adjoint(x) if adjoint else x)

    return _wide(node, inverse)


@kernel("MatrixSolve")
def _solve(node: KernelNode) -> Kernel:
    xp = node.xp
    adjoint = node.attrs["adjoint"]

    def solve(matrix: Any, rhs: Any) -> Any:
        if matrix.ndim != rhs.ndim:
            raise invalid("All input tensors must have the same rank.")
        _check_matrices(matrix, rhs)
        if matrix.shape[:-2] != rhs.shape[:-2]:
            raise invalid("All input tensors must have the same outer dimensions.")
        check_square(matrix, "First input (lhs) must be a square matrix.")
        if matrix.shape[-2] != rhs.shape[-2]:
            raise invalid("Input matrix and rhs are incompatible.")
        a = _adjoint(matrix) if adjoint else matrix
        return _or_fail(xp, xp.linalg.solve, "Input matrix is not invertible.", a, rhs)

    return _wide(node, solve)


_NOT_DEFINITE = "Cholesky decomposition was not successful. The input might not be valid."


@kernel("Cholesky")
def _cholesky(node: KernelNode) -> Kernel:
    xp = node.xp

    def cholesky(x: Any) -> Any:
        check_square(x)
        try:
            return xp.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            if xp.isfinite(x).all():
                raise invalid(_NOT_DEFINITE) from None
        # LAPACK stops at a NaN, which TensorFlow takes along.
        result = xp.empty_like(x)
        for place in np.ndindex(x.shape[:-2]):
            result[place] = _factor_with_nans(xp, x[place])
        return result

    return _wide(node, cholesky)


def _factor_with_nans(xp: Any, x: Any) -> Any:
    """The Cholesky factor of one matrix, where what a NaN or an infinity spoils is NaN.

    Raises:
        InvalidArgumentError: a pivot is a number that is not positive.
    """
    factor = xp.zeros_like(x)
    with np.errstate(invalid="ignore", over="ignore"):
        for i in range(len(x)):
            check_step()
            row = factor[i, :i]
            pivot = (x[i, i] - row @ row.conj()).real
            if pivot <= 0:
                raise invalid(_NOT_DEFINITE)
            factor[i, i] = xp.sqrt(pivot)
            factor[i + 1 :, i] = (x[i + 1 :, i] - factor[i + 1 :, :i] @ row.conj()) / factor[i, i]
    return factor


@kernel("MatrixDeterminant")
def _determinant(node: KernelNode) -> Kernel:
    xp = node.xp

    def determinant(x: Any) -> Any:
        check_square(x)
        if xp is np and _keeps_the_interpreter(x, 1):
            signs, logarithms = determinants(x)
            return np.asarray(signs * np.exp(logarithms).astype(x.dtype))
        return xp.asarray(xp.linalg.det(x))

    return _wide(node, determinant)


@kernel("LogMatrixDeterminant")
def _log_determinant(node: KernelNode) -> Kernel:
    xp = node.xp

    def log_determinant(x: Any) -> Any:
        check_square(x)
        keeps = xp is np and _keeps_the_interpreter(x, 1)
        sign, logarithm = determinants(x) if keeps else xp.linalg.slogdet(x)
        return xp.asarray(sign), xp.asarray(logarithm).astype(x.dtype)

    return _wide(node, log_determinant)


@kernel("MatrixTriangularSolve")
def _triangular_solve(node: KernelNode) -> Kernel:
    xp = node.xp
    adjoint = node.attrs["adjoint"]
    forward = node.attrs["lower"] != adjoint

    def triangular_solve(matrix: Any, rhs: Any) -> Any:
        _check_matrices(matrix, rhs)
        size = matrix.shape[-1]
        if matrix.shape[-2] != size:
            raise invalid(
                f"In[0] matrices in the last dimensions must be square ({size} =/= {matrix.shape[-2]})"
            )
        try:
            batch = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
        except ValueError:
            raise invalid(
                f"In[0] and In[1] must have compatible batch dimensions: {shape_text(matrix.shape)} vs. "
                f"{shape_text(rhs.shape)}"
            ) from None
        if rhs.shape[-2] != size:
            raise invalid(
                f"In[0] mismatch In[1] shape: {size} vs. {rhs.shape[-2]}: {shape_text(matrix.shape)} "
                f"{shape_text(rhs.shape)} {int(node.attrs['lower'])} {int(adjoint)}"
            )
        a = _adjoint(matrix) if adjoint else matrix
        x = xp.broadcast_to(rhs, (*batch, *rhs.shape[-2:])).copy()
        for step in range(size):
            check_step()
            i = step if forward else size - 1 - step
            known = slice(0, i) if forward else slice(i + 1, size)
            x[..., i : i + 1, :] -= a[..., i : i + 1, known] @ x[..., known, :]
            x[..., i : i + 1, :] /= a[..., i : i + 1, i : i + 1]
        return x

    return _wide(node, triangular_solve)


@kernel("Qr")
def _qr(node: KernelNode) -> Kernel:
    xp = node.xp
    mode = "complete" if node.attrs["full_matrices"] else "reduced"

    def qr(x: Any) -> Any:
        _check_matrices(x)
        if xp is not np or not _keeps_the_interpreter(x, min(x.shape[-2:])):
            q, r = xp.linalg.qr(x, mode)
            return q, r
        found = [reflections.qr(matrix, mode == "complete") for matrix in x.reshape(-1, *x.shape[-2:])]
        return tuple(
            np.stack(part).reshape(*x.shape[:-2], *part[0].shape) for part in zip(*found, strict=True)
        )

    return _wide(node, qr)


@kernel("Svd")
def _svd(node: KernelNode) -> Kernel:
    xp = node.xp
    compute_uv, full = node.attrs["compute_uv"], node.attrs["full_matrices"]

    def svd(x: Any) -> Any:
        _check_matrices(x)
        if not compute_uv:
            nothing = xp.zeros(0, x.dtype)
            return _svd_or_nan(x, False).astype(x.dtype), nothing, nothing
        u, s, v = _svd_or_nan(x, True)
        return s.astype(x.dtype), u, _adjoint(v)

    def _svd_or_nan(x: Any, vectors: bool) -> Any:
        try:
            if not vectors and xp is np and _keeps_the_interpreter(x, min(x.shape[-2:])):
                return np.linalg.svd(x, False)[1]
            return xp.linalg.svd(x, full, vectors)
        except np.linalg.LinAlgError:
            # LAPACK fails on any NaN; a decomposition of zeros gives the shapes.
            empty = xp.linalg.svd(xp.zeros_like(x), full, vectors)
            return tuple(e + xp.nan for e in empty) if vectors else empty + xp.nan

    return _wide(node, svd)


@kernel("SelfAdjointEigV2")
def _eigen(node: KernelNode) -> Kernel:
    xp = node.xp
    compute_v = node.attrs["compute_v"]
    message = "Self-adjoint eigen decomposition was not successful. The input might not be valid."

    def eigen(x: Any) -> Any:
        check_square(x)
        if xp.isnan(x).any():
            raise invalid(message)
        try:
            if compute_v:
                e, v = xp.linalg.eigh(x)
            else:
                e = eigenvalues(x, True) if xp is np else xp.linalg.eigvalsh(x)
                v = xp.zeros(0, x.dtype)
        except np.linalg.LinAlgError:
            raise invalid(message) from None
        if xp.isnan(e).any():
            raise invalid(message)
        return e.astype(x.dtype, copy=False), v

    return _wide(node, eigen)
