"""Ops of one long text."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
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
