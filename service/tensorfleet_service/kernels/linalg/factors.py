"""Kernels of `tensorfleet.ops.linalg.factors`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.linalg.elimination import eliminate
from tensorfleet_service.kernels.linalg.linalg import check_square
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid
from tensorfleet_service.threads.running import check as check_step


@kernel("Lu")
def _lu(node: KernelNode) -> Kernel:
    xp, target, places = node.xp, node.output_types[0].np, node.output_types[1].np
    small = node.input_types[0] in SMALL_FLOATS

    def lu(matrix: Any) -> Any:
        if matrix.ndim < 2:
            raise invalid(f"Input must have rank >= 2, got {matrix.ndim}")
        size = matrix.shape[-1]
        if matrix.shape[-2] != size:
            raise invalid("Input matrix must be square.")
        x = matrix.reshape(math.prod(matrix.shape[:-2]), size, size).astype(
            np.float32 if small else target
        )  # a copy, changed below
        order, _ = eliminate(xp, x)
        if bool((xp.diagonal(x, 0, 1, 2) == 0).any()):
            raise invalid("Input is not invertible.")
        factors = x.reshape(matrix.shape).astype(target, copy=False)
        return factors, order.reshape(matrix.shape[:-1]).astype(places)

    return lu


def _of_eigenvalues(function: Callable[[Any], Any], x: Any) -> Any:
    """A function of matrices that have a basis of eigenvectors, in complex128."""
    values, vectors = np.linalg.eig(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = vectors * function(values)[..., None, :]
    return np.linalg.solve(vectors.swapaxes(-1, -2), scaled.swapaxes(-1, -2)).swapaxes(-1, -2)


def _halved(x: Any) -> Any:
    """The square root by Denman and Beavers' iteration, which needs no eigenvectors."""
    y, z = x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for _ in range(50):
        check_step()
        following = (y + np.linalg.inv(z)) / 2, (z + np.linalg.inv(y)) / 2
        change = np.abs(following[0] - y).max(initial=0)
        y, z = following
        if change <= 1e-15 * np.abs(y).max(initial=0):
            break
    return y


def _has_basis(x: Any) -> bool:
    _, vectors = np.linalg.eig(x)
    return bool((np.linalg.cond(vectors) < 1e6).all())


def _square_root(x: Any) -> Any:
    if _has_basis(x):
        return _of_eigenvalues(np.sqrt, x)
    return _halved(x)


def _logarithm(x: Any) -> Any:
    if _has_basis(x):
        return _of_eigenvalues(np.log, x)
    # log X = 2ᵏ log(X ** (1 / 2ᵏ)), near the identity by the integral of (X - I) (I + t (X - I))⁻¹.
    count = 0
    identity = np.eye(x.shape[-1], dtype=x.dtype)
    while np.abs(x - identity).max(initial=0) > 0.25 and count < 60:
        x, count = _halved(x), count + 1
    rest = x - identity
    points, weights = np.polynomial.legendre.leggauss(12)
    total = sum(
        w / 2 * np.linalg.solve(identity + (t + 1) / 2 * rest, rest)
        for t, w in zip(points, weights, strict=True)
    )
    return total * 2**count


def _has_no_real_root(x: Any) -> Any:
    """Which of some real matrices have a negative eigenvalue, beyond what rounding makes of 0."""
    values = np.linalg.eigvals(x)
    rounding = x.shape[-1] * np.finfo(x.dtype).eps * np.abs(values).max(-1, keepdims=True)
    return ((values.imag == 0) & (values.real < -rounding)).any(-1)


@kernel("MatrixSquareRoot", "MatrixLogarithm")
def _of_matrix(node: KernelNode) -> Kernel:
    """Computed in host memory and complex128: there is no eigendecomposition of general matrices on a GPU."""
    xp, target = node.xp, node.output_types[0].np
    function = _square_root if node.op == "MatrixSquareRoot" else _logarithm

    def of_matrix(x: Any) -> Any:
        check_square(x)
        if not x.size:
            return x
        host = x if isinstance(x, np.ndarray) else x.get()
        try:
            result = function(host.astype(np.complex128))
        except np.linalg.LinAlgError:
            raise invalid("Input matrix has no such function: it is singular.") from None
        if np.dtype(target).kind != "c":
            result = result.real
            if node.op == "MatrixSquareRoot":
                result[_has_no_real_root(host)] = np.nan
        return xp.asarray(result.astype(target))

    return of_matrix
