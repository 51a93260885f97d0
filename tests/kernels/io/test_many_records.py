"""Decoding of many strings goes by parts, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet_service.kernels.io import decoding
from tensorfleet_service.records import csv
from tensorfleet_service.threads import running, unlocked
from tests.kernels.harness import run_op


@pytest.mark.parametrize("part", [1, 7, 1 << 20])
def test_padded_texts(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "_PADDED", part)
    looks: list[int] = []
    monkeypatch.setattr(decoding, "check_step", lambda: looks.append(1))
    texts = np.array([[b"", b"a", b"abcd"], [b"abcdef", b"\1\2", b"z" * 9]], object)
    found = run_op("DecodePaddedRaw", texts, np.int32(4), out_type=dtypes.uint16, little_endian=False)
    padded = b"".join(text[:4].ljust(4, b"\0") for text in texts.reshape(-1).tolist())
    assert found.dtype == np.uint16
    assert found.tolist() == np.frombuffer(padded, ">u2").reshape(2, 3, 2).tolist()
    assert len(looks) == (1 if part > 100 else 6)
    none = run_op("DecodePaddedRaw", np.empty((0, 2), object), np.int32(4), out_type=dtypes.int32)
    assert none.shape == (0, 2, 1)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64])
def test_columns_of_numbers(dtype: dtypes.DType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlocked, "LISTED", 8)
    sizes: list[int] = []
    made = np.array

    def noting(values: Any, *arguments: Any) -> Any:
        sizes.append(len(values))
        return made(values, *arguments)

    values: list[Any] = list(range(30)) + ([1e300, 0.1] if dtype is dtypes.float64 else [])
    monkeypatch.setattr(csv.np, "array", noting)
    found = csv.column(values, dtype)
    monkeypatch.undo()
    assert max(sizes) <= 8
    assert found.dtype == dtype.np
    assert found.tolist() == values
    assert csv.column([], dtype).dtype == dtype.np


def test_numbers_too_large_for_their_dtype() -> None:
    assert csv.column([1e300, -1e300], dtypes.float32).tolist() == [np.inf, -np.inf]


def test_padding_ends_with_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended:
        error = errors.CancelledError(None, None, "it was late")

    monkeypatch.setattr(running.RUNNING, "step", Ended(), raising=False)
    with pytest.raises(errors.CancelledError):
        run_op("DecodePaddedRaw", np.array([b"a"], object), np.int32(4), out_type=dtypes.int32)
