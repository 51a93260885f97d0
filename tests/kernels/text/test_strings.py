"""String ops on what is larger than the parts that they work in."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet_service.kernels.text import strings
from tests.kernels.harness import run_op

SMALL_PART = 12


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "PART", SMALL_PART)
    monkeypatch.setattr(strings, "TEXT_PART", SMALL_PART)
    defaults = strings._by_parts.__defaults__
    assert defaults is not None
    monkeypatch.setattr(strings._by_parts, "__defaults__", (SMALL_PART,))


def texts(*shape: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    made = np.array([rng.bytes(n % 40) for n in range(int(np.prod(shape)))] + [b""], object)
    return made[:-1].reshape(shape)


def test_joins() -> None:
    a, b = texts(5, 11), texts(5, 11)[::-1]
    joined = run_op("StringJoin", [a, b, b"!"], separator=b"-")
    assert joined.tolist() == [
        [b"-".join((x, y, b"!")) for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)
    ]
    reduced = run_op("ReduceJoin", a, np.array([0, 1], np.int32), separator=b",")
    by_hand = run_op(
        "ReduceJoin",
        run_op("ReduceJoin", a, np.array([0], np.int32), separator=b","),
        np.array([0], np.int32),
        separator=b",",
    )
    assert reduced == by_hand == b",".join(b",".join(a[:, i]) for i in range(11))


def test_base64_and_case_and_length() -> None:
    items = texts(100)
    for pad in (False, True):
        encoded = run_op("EncodeBase64", items, pad=pad)
        wanted = [base64.urlsafe_b64encode(item) for item in items]
        assert encoded.tolist() == [item if pad else item.rstrip(b"=") for item in wanted]
        assert run_op("DecodeBase64", encoded).tolist() == items.tolist()
    for wrong in (b"a" * 11 + b"=" + b"a" * 12, b"*" * 24, b"a" * 25, b"aa==" * 5):
        with pytest.raises(errors.InvalidArgumentError, match="Invalid character"):
            run_op("DecodeBase64", np.array([wrong], object))
    assert run_op("StringUpper", items).tolist() == [item.upper() for item in items]
    text = "aé€𝄞" * 9
    for unit, length in ((b"BYTE", len(text.encode())), (b"UTF8_CHAR", len(text))):
        assert run_op("StringLength", np.array([text.encode()], object), unit=unit).tolist() == [length]


def test_numbers_as_strings() -> None:
    assert run_op("AsString", np.arange(100)).tolist() == [b"%d" % i for i in range(100)]
    for attrs in ({"width": 1 << 20}, {"precision": 1 << 30}):
        with pytest.raises(errors.InvalidArgumentError, match="over 65536 characters"):
            run_op("AsString", np.array([1.0]), **attrs)


def test_texts_of_utf8_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MAX_TEXT", 10)
    monkeypatch.setattr(strings, "WORDS_PART", 4)
    long = np.array([b"x" * 11], object)
    with pytest.raises(errors.InvalidArgumentError, match="of 11 bytes is too long: 10 bytes at most"):
        run_op("StringLower", long, encoding=b"utf-8")


@pytest.mark.parametrize("count", [0, 1, 11, 12, 13, 24, 25, 40])
def test_strip(count: int) -> None:
    for item in (b" " * count, b" " * count + b"a b" + b"\t" * count, b"x" + b"\n" * count, b"y" * count):
        assert run_op("StringStrip", np.array([item], object)).tolist() == [item.strip()]


def test_numbers_that_are_too_long() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="could not correctly convert") as caught:
        run_op("StringToNumber", np.array([b"1" * 100_000], object))
    assert len(caught.value.message) < 500
