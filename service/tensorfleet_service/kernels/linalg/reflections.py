"""The QR decomposition by Householder's reflections, block by block.

For matrices of up to 512 columns: NumPy keeps the interpreter while LAPACK reflects those, however many rows
there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.threads.running import check as check_step
from tensorfleet_service.threads.unlocked import matmul

_WIDTH = 32
"""Number of columns that are reflected one by one, before the others are changed by products."""

Array = np.ndarray[Any, Any]


def qr(x: Array, full: bool) -> tuple[Array, Array]:
    """As `numpy.linalg.qr` of one matrix, with the same signs.

    Raises:
        OpError: the step has ended.
    """
    rows, count = len(x), min(x.shape)
    r = x.copy()
    blocks = []
    for begin in range(0, count, _WIDTH):
        end = min(begin + _WIDTH, count)
        reflected, factors = _reflect(r[begin:, begin:end])
        vectors = np.tril(reflected, -1)
        vectors[np.arange(end - begin), np.arange(end - begin)] = 1
        r[begin:, begin:end] = np.triu(reflected)
        across = _joined(vectors, factors)
        blocks.append((begin, vectors, across))
        _apply(vectors, across.conj().T, r[begin:, end:])
    q = np.eye(rows, rows if full else count, dtype=x.dtype)
    for begin, vectors, across in reversed(blocks):
        _apply(vectors, across, q[begin:, begin:])
    return q, r if full else r[:count]


def _reflect(panel: Array) -> tuple[Array, Array]:
    """The panel's R with the reflections' vectors below it, and factors.

    Of each vector the first element, which is one, is left out.
    """
    panel = np.asfortranarray(panel)
    factors = np.zeros(panel.shape[1], panel.dtype)
    for j in range(panel.shape[1]):
        check_step()
        column = panel[j:, j]
        head, rest = column[0], _norm(column[1:])
        if rest == 0 and head.imag == 0:
            continue
        beta = -np.copysign(np.hypot(abs(head), rest), head.real)
        factors[j] = (beta - head) / beta
        column[1:] /= head - beta
        column[0] = 1
        seen = np.dot(column.conj(), panel[j:, j + 1 :])
        panel[j:, j + 1 :] -= factors[j].conj() * column[:, None] * seen
        column[0] = beta
    return panel, factors


def _norm(x: Array) -> Any:
    """The length of a vector, of which the squares may be too large or too small for a number."""
    largest = np.abs(x).max(initial=0)
    return largest * np.linalg.norm(x / largest) if 0 < largest < np.inf else largest


def _joined(vectors: Array, factors: Array) -> Array:
    """The matrix T of several reflections, which are I - V T Vᴴ."""
    joined = np.diag(factors)
    overlaps = matmul(vectors.conj().T, vectors)
    for i in range(1, len(factors)):
        joined[:i, i] = -factors[i] * (joined[:i, :i] @ overlaps[:i, i])
    return joined


def _apply(vectors: Array, across: Array, target: Array) -> None:
    if target.size:
        target -= matmul(vectors, across @ matmul(vectors.conj().T, target))
