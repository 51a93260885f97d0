"""Decoding of strings that takes long: a step may end amid it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet_service.kernels.io import decoding
from tensorfleet_service.records.columns import object_array
from tensorfleet_service.threads.running import RUNNING
from tests.kernels.harness import run_op

PARTS = 5
CSV = {
    "OUT_TYPE": [tf.int64, tf.string],
    "field_delim": b",",
    "use_quote_delim": True,
    "na_value": b"",
    "select_cols": [],
}


class _Ending:
    """A step that ends when it has been looked at so many times."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def error(self) -> errors.OpError | None:
        self.looks -= 1
        return None if self.looks >= 0 else errors.CancelledError(None, None, "it was cancelled")


@pytest.mark.parametrize(("kind", "compress"), [("ZLIB", zlib.compress), ("GZIP", gzip.compress)])
def test_a_step_ends_amid_a_long_string(
    monkeypatch: pytest.MonkeyPatch, kind: str, compress: Callable[[bytes], bytes]
) -> None:
    content = b"ab" * (decoding._PART // 2) * PARTS
    packed = object_array([compress(content), compress(b"")])
    monkeypatch.setattr(RUNNING, "step", _Ending(PARTS))
    found = run_op("DecodeCompressed", packed, compression_type=kind.encode())
    assert found.tolist() == [content, b""]
    monkeypatch.setattr(RUNNING, "step", _Ending(PARTS - 1))
    with pytest.raises(errors.CancelledError):
        run_op("DecodeCompressed", packed, compression_type=kind.encode())


@pytest.mark.parametrize(
    ("op", "text", "defaults", "attrs"),
    [
        ("DecodeCSV", b"1,a", ([np.array([0], np.int64), object_array([b""])],), CSV),
        ("DecodeJSONExample", b"{}", (), {}),
    ],
)
def test_a_step_ends_amid_many_strings(
    monkeypatch: pytest.MonkeyPatch, op: str, text: bytes, defaults: tuple[Any, ...], attrs: dict[str, Any]
) -> None:
    texts = object_array([text] * 4096)
    run_op(op, texts, *defaults, **attrs)
    monkeypatch.setattr(RUNNING, "step", _Ending(2))
    with pytest.raises(errors.CancelledError):
        run_op(op, texts, *defaults, **attrs)
