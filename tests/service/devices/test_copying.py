"""Copies of large arrays, past the caches and not: the same bytes, in memory that begins anywhere."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorfleet.wire import buffers
from tensorfleet.wire.shared_memory import SUPPORTED, Arena
from tensorfleet_service.devices import copying, native
from tensorfleet_service.worker.worker import Worker


@pytest.fixture(autouse=True)
def _every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "STREAMED_FROM_BYTES", 0)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000, (1 << 18) - 1, (1 << 18) + 1, 3 << 18, 1_000_003])
def test_copies_are_equal(size: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(copying, "native", None)
    source = np.random.default_rng(size).integers(0, 256, size + 7).astype(np.uint8)
    for shift in (0, 1, 7):
        target = np.full(size + 9, 77, np.uint8)
        copying.copy(target[shift : shift + size], source[7 - shift : 7 - shift + size])
        np.testing.assert_array_equal(target[shift : shift + size], source[7 - shift : 7 - shift + size])
        assert (target[:shift] == 77).all()
        assert (target[shift + size :] == 77).all()


@pytest.mark.parametrize("dtype", [np.float64, np.complex64, np.bool_, ml_dtypes.bfloat16, object])
def test_of_all_dtypes(dtype: Any) -> None:
    source = np.arange(60).reshape(3, 4, 5).astype(dtype)
    target = np.empty((3, 4, 5), dtype)
    copying.copy(target, source)
    np.testing.assert_array_equal(target, source)


def test_arrays_that_are_not_contiguous() -> None:
    source, target = np.arange(60.0).reshape(6, 10), np.zeros((10, 6))
    copying.copy(target, source.T)
    np.testing.assert_array_equal(target, source.T)
    copying.copy(target[:, ::2], source.T[:, 1::2])
    np.testing.assert_array_equal(target[:, ::2], source.T[:, 1::2])


@pytest.mark.skipif(native.native is None, reason="needs tensorfleet-kernels")
@pytest.mark.skipif(not SUPPORTED, reason="needs memory files")
def test_what_a_task_sends_and_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "copy", np.copyto)
    sizes: list[int] = []

    class Counting:
        def copy(self, source: Any, target: Any, size: int, threads: int) -> None:
            sizes.append(size)
            native.native.copy(source, target, size, threads)

    monkeypatch.setattr(copying, "native", Counting())
    Worker("/job:worker/replica:0/task:0", [], 1)
    value = np.random.default_rng(0).random(1 << 19)
    arena = Arena(8 << 20)
    place = arena.put(value)
    assert place is not None
    np.testing.assert_array_equal(buffers.copied(value), value)
    assert sizes == [value.nbytes] * 2
    arena.close()
