"""Ops of one long text."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet.proto.summary_pb2 import Summary
from tensorfleet_service.kernels.io import summary
from tensorfleet_service.kernels.text import strings
from tests.kernels.harness import run_op


@pytest.mark.parametrize("size", [*range(10), strings.TEXT_PART + 1])
@pytest.mark.parametrize("pad", [True, False])
def test_base64_by_parts(size: int, pad: bool) -> None:
    text = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
    expected = base64.urlsafe_b64encode(text)
    found = run_op("EncodeBase64", text, pad=pad).item()
    assert found == (expected if pad else expected.rstrip(b"="))
    assert not strings.TEXT_PART % 3


def test_texts_are_joined() -> None:
    """Python lets other threads run for a join, and not for a sum."""

    class Text(bytes):
        def __add__(self, other: Any) -> Any:
            raise AssertionError("it keeps the interpreter")

    assert run_op("Add", np.array(Text(b"ab"), object), np.array(b"c", object)).item() == b"abc"
    assert run_op("Add", np.array([b"ab", b"d"], object), np.array(b"c", object)).tolist() == [b"abc", b"dc"]


@pytest.mark.parametrize("op", ["ScalarSummary", "HistogramSummary"])
def test_names_in_files_are_short(op: str) -> None:
    run_op(op, b"a" * 1000, np.float32(1))
    with pytest.raises(errors.InvalidArgumentError, match="65537 bytes is too long"):
        run_op(op, b"a" * 65537, np.float32(1))


def test_names_in_checkpoints_are_short() -> None:
    names, slices = np.array([b"a" * 65537], object), np.array([b""], object)
    with pytest.raises(errors.InvalidArgumentError, match="65537 bytes is too long"):
        run_op("SaveV2", b"never written", names, slices, [np.float32(1)])


def test_many_values_of_a_summary_are_written_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = np.array([b"n%d" % i for i in range(10)], object)
    whole = run_op("ScalarSummary", names, np.arange(10, dtype=np.float32))
    written: list[int] = []

    class Noting:
        def __init__(self) -> None:
            self._message = Summary()
            self.value = self._message.value

        def SerializeToString(self) -> bytes:
            written.append(len(self.value))
            return self._message.SerializeToString()

    monkeypatch.setattr(summary, "Summary", Noting)
    monkeypatch.setattr(summary, "_VALUES", 4)
    assert run_op("ScalarSummary", names, np.arange(10, dtype=np.float32)) == whole
    assert written == [4, 4, 2]


@pytest.mark.parametrize("op", ["RaggedFillEmptyRowsGrad", "SparseFillEmptyRowsGrad"])
def test_strings_are_not_summed(op: str) -> None:
    """Each sum is longer than the last one: their time is the square of their number, by one call."""
    with pytest.raises(errors.InvalidArgumentError, match="No OpKernel"):
        run_op(op, np.array([0]), np.array([b"a", b"b", b"c"], object))
