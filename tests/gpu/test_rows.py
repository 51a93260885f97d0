"""Softmax and cross entropy on a GPU: the threads of a block share a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet_service.kernels.nn import cuda_rows

SHAPES = [(1, 1), (3, 10), (2, 33), (4, 1000), (1, 5000)]
"""With fewer classes than threads, and with more."""


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def close(xp: Any, found: Any, wanted: Any) -> None:
    tolerance = 1e-5 if wanted.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(xp.asnumpy(found), wanted, tolerance, tolerance)


@pytest.fixture(params=SHAPES, ids=str)
def logits(request: pytest.FixtureRequest) -> Any:
    return np.random.default_rng(1).normal(scale=10, size=request.param)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax(xp: Any, logits: Any, dtype: Any) -> None:
    logits = logits.astype(dtype)
    wanted = softmax(logits)
    close(xp, cuda_rows.softmax(xp, xp.asarray(logits), False), wanted)
    close(xp, cuda_rows.softmax(xp, xp.asarray(logits), True), np.log(wanted))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cross_entropy(xp: Any, logits: Any, dtype: Any) -> None:
    logits = logits.astype(dtype)
    labels = softmax(np.random.default_rng(2).normal(size=logits.shape)).astype(dtype)
    losses, gradient = cuda_rows.cross_entropy(xp, xp.asarray(logits), xp.asarray(labels))
    close(xp, losses, -(labels * np.log(softmax(logits))).sum(axis=1))
    close(xp, gradient, softmax(logits) - labels)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_cross_entropy(xp: Any, logits: Any, dtype: Any, index: Any) -> None:
    logits = logits.astype(dtype)
    labels = np.random.default_rng(3).integers(0, logits.shape[1], len(logits)).astype(index)
    losses, gradient = cuda_rows.sparse_cross_entropy(xp, xp.asarray(logits), xp.asarray(labels))
    rows = np.arange(len(logits))
    wanted = softmax(logits)
    close(xp, losses, -np.log(wanted[rows, labels]))
    wanted[rows, labels] -= 1
    close(xp, gradient, wanted)


def test_labels_that_are_no_class(xp: Any) -> None:
    logits, labels = xp.asarray(np.zeros((3, 4), np.float32)), xp.asarray(np.array([4, 1, -1]))
    losses, gradient = map(xp.asnumpy, cuda_rows.sparse_cross_entropy(xp, logits, labels))
    np.testing.assert_array_equal(np.isnan(losses), [True, False, True])
    np.testing.assert_array_equal(np.isnan(gradient).all(axis=1), [True, False, True])


def test_logits_of_minus_infinity(xp: Any) -> None:
    logits = np.array([[0, -np.inf, 1], [0, 0, 0]], np.float32)
    labels = np.array([[0.5, 0, 0.5], [0, 1, 0]], np.float32)
    losses, gradient = map(xp.asnumpy, cuda_rows.cross_entropy(xp, xp.asarray(logits), xp.asarray(labels)))
    assert np.isfinite(losses).all()
    assert np.isfinite(gradient).all()
    close(xp, xp.asarray(losses[1:]), np.log(np.array([3], np.float32)))


def test_a_nan_reaches_its_row_alone(xp: Any) -> None:
    logits = np.zeros((2, 300), np.float32)
    logits[0, 250] = np.nan
    found = xp.asnumpy(cuda_rows.softmax(xp, xp.asarray(logits), False))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], 1 / 300, 1e-6)


def test_rows_that_are_not_contiguous(xp: Any) -> None:
    logits = np.random.default_rng(4).normal(size=(6, 5)).astype(np.float32)
    close(xp, cuda_rows.softmax(xp, xp.asarray(logits)[::2], False), softmax(logits[::2]))
