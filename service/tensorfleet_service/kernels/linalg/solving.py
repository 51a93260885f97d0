"""Kernels of `tensorfleet.ops.linalg.solving`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tensorfleet_service.devices.cublas import matmul
from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.linalg.linalg import eigenvalues
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.threads.running import check as check_step


def _adjoint(x: Any) -> Any:
    return x.swapaxes(-1, -2).conj()


def _check(name: str, *inputs: Any) -> None:
    for x in inputs:
        if x.ndim < 2:
            raise invalid(f"{name} must have rank >= 2, got {x.ndim}")


_DEFICIENT = (
    "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger "
    "l2_regularizer > 0."
)


@kernel("MatrixSolveLs")
def _least_squares(node: KernelNode) -> Kernel:
    xp, fast = node.xp, node.attrs["fast"]
    product = partial(matmul, xp)

    def run(matrix: Any, rhs: Any, regularizer: Any) -> Any:
        _check("Input matrix", matrix, rhs)
        if np.ndim(regularizer):
            raise invalid(f"l2_regularizer must be scalar, got shape {shape_text(regularizer.shape)}")
        if regularizer < 0:
            raise invalid("l2_regularizer must be >= 0.")
        if matrix.shape[:-2] != rhs.shape[:-2] or matrix.shape[-2] != rhs.shape[-2]:
            raise invalid(
                f"Input matrix and rhs are incompatible: {shape_text(matrix.shape)} {shape_text(rhs.shape)}"
            )
        dtype = matrix.dtype
        rows, columns = matrix.shape[-2:]
        if not rows or not columns or not rhs.size:
            return xp.zeros((*matrix.shape[:-2], columns, rhs.shape[-1]), dtype)
        if node.input_types[0] in SMALL_FLOATS:
            matrix, rhs = matrix.astype(np.float32), rhs.astype(np.float32)
        if not fast:
            # The least-squares solution with the smallest norm, by the significant singular values.
            small = np.finfo(matrix.dtype).eps * max(rows, columns)
            return product(xp.linalg.pinv(matrix, small), rhs).astype(dtype)
        is_tall = rows >= columns
        gram = product(_adjoint(matrix), matrix) if is_tall else product(matrix, _adjoint(matrix))
        gram = gram + xp.eye(gram.shape[-1], dtype=gram.dtype) * gram.dtype.type(regularizer)
        try:
            factor = xp.linalg.cholesky(gram)
        except np.linalg.LinAlgError:
            raise invalid(_DEFICIENT) from None
        right = product(_adjoint(matrix), rhs) if is_tall else rhs
        solved = xp.linalg.solve(_adjoint(factor), xp.linalg.solve(factor, right))
        result = solved if is_tall else _adjoint(matrix) @ solved
        return result.astype(dtype)

    return run


@kernel("CholeskyGrad")
def _cholesky_grad(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(factor: Any, grad: Any) -> Any:
        _check("Input", factor, grad)
        if factor.shape != grad.shape:
            raise invalid("Inputs (L and grad) must have the same shape.")
        if factor.shape[-1] != factor.shape[-2]:
            raise invalid("Inputs to CholeskyGrad must be square matrices of one shape.")
        dtype = factor.dtype
        if node.input_types[0] in SMALL_FLOATS:
            factor, grad = factor.astype(np.float32), grad.astype(np.float32)
        lower = xp.tril(factor)
        middle = xp.tril(_adjoint(lower) @ xp.tril(grad))
        size = middle.shape[-1]
        middle = middle * (1 - 0.5 * xp.eye(size, dtype=middle.dtype))
        inverse = xp.linalg.inv(lower)
        whole = _adjoint(inverse) @ middle @ inverse
        return (0.5 * (whole + whole.swapaxes(-1, -2))).astype(dtype)

    return run


@kernel("Eig")
def _eig(node: KernelNode) -> Kernel:
    target, vectors = node.output_types[0].np, node.attrs["compute_v"]

    def run(x: Any) -> Any:
        """Computed in host memory, as there are no eigenvalues of general matrices on a GPU."""
        _check("Input", x)
        if x.shape[-1] != x.shape[-2]:
            raise invalid("Input matrix must be square.")
        host = x if isinstance(x, np.ndarray) else x.get()
        try:
            if vectors:
                e, v = np.linalg.eig(host)
            else:
                e, v = eigenvalues(host), np.zeros(0, target)
        except np.linalg.LinAlgError:
            raise invalid("Eigen decomposition was not successful. The input might not be valid.") from None
        return node.xp.asarray(e.astype(target)), node.xp.asarray(v.astype(target))

    return run


@kernel("BandedTriangularSolve")
def _banded(node: KernelNode) -> Kernel:
    xp, lower, adjoint = node.xp, node.attrs["lower"], node.attrs["adjoint"]

    def run(bands: Any, rhs: Any) -> Any:
        _check("In[0]", bands)
        _check("In[1]", rhs)
        count, size = bands.shape[-2:]
        if not count:
            raise invalid("Bands must be present")
        if count > size:
            raise invalid(f"Number of bands {count} cannot exceed the size of the matrix {size}")
        if rhs.shape[-2] != size:
            raise invalid(f"In[0] mismatch In[1] shape: {size} vs. {rhs.shape[-2]}")
        try:
            batch = np.broadcast_shapes(bands.shape[:-2], rhs.shape[:-2])
        except ValueError:
            raise invalid(
                f"In[0] and In[1] must have compatible batch dimensions: {shape_text(bands.shape)} vs. "
                f"{shape_text(rhs.shape)}"
            ) from None
        dense = xp.zeros((*bands.shape[:-2], size, size), bands.dtype)
        for number in range(count):
            distance = -number if lower else count - 1 - number
            i = xp.arange(max(0, -distance), size - max(0, distance))
            dense[..., i, i + distance] = bands[..., number, i]
        if (xp.diagonal(dense, 0, -2, -1) == 0).any():
            raise invalid("Input matrix is not invertible.")
        matrix = _adjoint(dense) if adjoint else dense
        x = xp.broadcast_to(rhs, (*batch, *rhs.shape[-2:])).copy()
        forward = lower != adjoint
        for step in range(size):
            check_step()
            i = step if forward else size - 1 - step
            known = slice(max(0, i - count), i) if forward else slice(i + 1, i + count)
            x[..., i : i + 1, :] -= matrix[..., i : i + 1, known] @ x[..., known, :]
            x[..., i : i + 1, :] /= matrix[..., i : i + 1, i : i + 1]
        return x

    return run


@kernel("TridiagonalMatMul")
def _tridiagonal_product(node: KernelNode) -> Kernel:
    def run(above: Any, main: Any, below: Any, rhs: Any) -> Any:
        _check("Input", above, main, below, rhs)
        expected = (*rhs.shape[:-2], 1, rhs.shape[-2])
        for name, x in (("superdiagonal", above), ("main diagonal", main), ("subdiagonal", below)):
            if x.shape != expected:
                raise invalid(
                    f"Invalid {name} shape. It must be {shape_text(expected)}, but is {shape_text(x.shape)}"
                )
        result = main.swapaxes(-1, -2) * rhs
        result[..., :-1, :] += above[..., 0, :-1, None] * rhs[..., 1:, :]
        result[..., 1:, :] += below[..., 0, 1:, None] * rhs[..., :-1, :]
        return result

    return run


@kernel("TridiagonalSolve")
def _tridiagonal(node: KernelNode) -> Kernel:
    xp, pivots = node.xp, node.attrs["partial_pivoting"]
    perturbs = node.attrs["perturb_singular"]
    if perturbs and not pivots:
        raise invalid("Setting perturb_singular requires pivoting.")

    def run(diagonals: Any, rhs: Any) -> Any:
        _check("Input", diagonals, rhs)
        size = diagonals.shape[-1]
        if diagonals.shape[-2] != 3:
            raise invalid(
                f"Expected diagonals to be provided as a matrix with 3 rows, got {diagonals.shape[-2]} rows."
            )
        if rhs.shape[-2] != size:
            raise invalid(
                f"Expected the same number of left-hand sides and right-hand sides, got {size} and "
                f"{rhs.shape[-2]}."
            )
        if rhs.shape[-2] != size or diagonals.shape[:-2] != rhs.shape[:-2]:
            raise invalid(
                f"Expected the diagonals and right-hand sides to agree, got {shape_text(diagonals.shape)} "
                f"and {shape_text(rhs.shape)}"
            )
        if not rhs.size:
            return xp.zeros(rhs.shape, rhs.dtype)
        return _eliminated(xp, diagonals, rhs, pivots, perturbs)

    return run


def _eliminated(xp: Any, diagonals: Any, rhs: Any, pivots: bool, perturbs: bool) -> Any:
    """The solutions by Gaussian elimination, with partial pivoting of neighbouring rows if `pivots`.

    A system for which a pivot is zero gives NaNs.
    """
    size = rhs.shape[-2]
    above, main, below = (diagonals[..., i, :] for i in range(3))
    # Three diagonals of the triangular matrix that elimination leaves.
    u = xp.zeros((*main.shape, 3), main.dtype)
    x = rhs.copy()
    u[..., 0, 0] = main[..., 0]
    if size > 1:
        u[..., 0, 1] = above[..., 0]
    unsolved = xp.zeros(main.shape[:-1], bool)
    tiny = xp.finfo(main.dtype).eps * xp.abs(diagonals).max()
    for i in range(size - 1):
        check_step()
        head, lower = u[..., i, 0].copy(), below[..., i + 1]
        next_main = main[..., i + 1]
        next_above = above[..., i + 1] if i + 2 < size else xp.zeros_like(next_main)
        swaps = xp.abs(lower) > xp.abs(head) if pivots else xp.zeros(head.shape, bool)
        pivot = xp.where(swaps, lower, head)
        if perturbs:
            pivot = xp.where(pivot == 0, tiny, pivot)
        elif not pivots:
            unsolved |= pivot == 0
            pivot = xp.where(pivot == 0, 1, pivot)
        factor = xp.where(swaps, head, lower) / pivot
        second = u[..., i, 1].copy()
        u[..., i, 0] = pivot
        u[..., i, 1] = xp.where(swaps, next_main, second)
        u[..., i, 2] = xp.where(swaps, next_above, 0)
        u[..., i + 1, 0] = xp.where(swaps, second - factor * next_main, next_main - factor * second)
        u[..., i + 1, 1] = xp.where(swaps, -factor * next_above, next_above)
        first, other = x[..., i, :].copy(), x[..., i + 1, :].copy()
        wide = swaps[..., None]
        x[..., i, :] = xp.where(wide, other, first)
        x[..., i + 1, :] = xp.where(wide, first, other) - factor[..., None] * x[..., i, :]
    last = u[..., size - 1, 0]
    if perturbs:
        u[..., size - 1, 0] = xp.where(last == 0, tiny, last)
    elif not pivots:
        unsolved |= last == 0
        u[..., size - 1, 0] = xp.where(last == 0, 1, last)
    for i in range(size - 1, -1, -1):
        check_step()
        if i + 1 < size:
            x[..., i, :] -= u[..., i, 1, None] * x[..., i + 1, :]
        if i + 2 < size:
            x[..., i, :] -= u[..., i, 2, None] * x[..., i + 2, :]
        x[..., i, :] /= u[..., i, 0, None]
    if unsolved.any():
        x[unsolved] = np.nan
    return x
