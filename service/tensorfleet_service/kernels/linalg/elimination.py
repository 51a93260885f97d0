"""Gaussian elimination with partial pivoting, of a batch of matrices, block by block.

LAPACK's own is reached by NumPy only as determinants and solutions, and during the former, which give few
numbers, NumPy keeps the interpreter: half a second for a matrix of 3,000 rows.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet_service.devices.cublas import matmul
from tensorfleet_service.threads.running import check as check_step

_WIDTH = 64
"""Number of columns that are eliminated one by one, before the others are changed by a product."""


def eliminate(xp: ModuleType, x: Any) -> tuple[Any, Any]:
    """Replaces matrices by their factors: U, and below its diagonal L, whose own diagonal is of ones.

    A pivot of zero leaves zeros below it.

    Args:
        x: [n, size, size], which is changed.

    Returns:
        Which row of the matrix each row of the factors is, [n, size]; and whether the number of exchanges of
        rows is odd, [n].

    Raises:
        OpError: the step has ended.
    """
    count, size = x.shape[:2]
    batch = xp.arange(count)
    order = xp.broadcast_to(xp.arange(size), (count, size)).copy()
    odd = xp.zeros(count, bool)
    for begin in range(0, size, _WIDTH):
        check_step()
        end = min(begin + _WIDTH, size)
        for k in range(begin, end):
            pivot = abs(x[:, k:, k]).argmax(axis=1) + k
            x[batch, k], x[batch, pivot] = x[batch, pivot], x[batch, k].copy()
            order[batch, k], order[batch, pivot] = order[batch, pivot], order[batch, k].copy()
            odd ^= pivot != k
            head = x[:, k, k, None]
            x[:, k + 1 :, k] /= xp.where(head == 0, x.dtype.type(1), head)
            x[:, k + 1 :, k + 1 : end] -= x[:, k + 1 :, k, None] * x[:, k, None, k + 1 : end]
        if end == size:
            break
        right = x[:, begin:end, end:]
        for k in range(1, end - begin):
            right[:, k] -= matmul(xp, x[:, begin + k, None, begin : begin + k], right[:, :k])[:, 0]
        x[:, end:, end:] -= matmul(xp, x[:, end:, begin:end], right)
    return order, odd


def determinants(x: Any) -> tuple[Any, Any]:
    """As `numpy.linalg.slogdet` of matrices that are square: signs and logarithms."""
    size = x.shape[-1]
    factors = x.reshape(-1, size, size).copy()
    _, odd = eliminate(np, factors)
    diagonal = np.diagonal(factors, 0, 1, 2)
    sizes = np.abs(diagonal)
    with np.errstate(divide="ignore", invalid="ignore"):
        signs = np.where(sizes == 0, 0, diagonal / sizes).prod(1) * np.where(odd, -1, 1)
        logarithms = np.log(sizes).sum(1)
    return signs.reshape(x.shape[:-2]).astype(x.dtype), logarithms.reshape(x.shape[:-2])
