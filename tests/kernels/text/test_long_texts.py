"""Long texts are processed by parts, which gives what the whole would."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hypothesis import given, settings, strategies as st

from tensorfleet_service.kernels.text import splitting, strings, unicode

TEXTS = st.binary(max_size=60) | st.text("ab ,\t\u00e9\u8a9e", max_size=40).map(str.encode)


@pytest.fixture(autouse=True, scope="module")
def small_parts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "TEXT_PART", 7)
        patch.setattr(strings, "WORDS_PART", 7)
        patch.setattr(unicode, "WORDS_PART", 7)
        yield


@settings(deadline=None)
@given(TEXTS, st.sampled_from([None, b" ", b",", b"aa", b"a a", b"abab"]), st.sampled_from([-1, 0, 3, 9, 20]))
def test_splitting(text: bytes, sign: bytes | None, limit: int) -> None:
    if sign is None and limit > splitting.TEXT_PART:
        limit = -1
    assert list(itertools.chain(*splitting.split_text(text, sign, limit))) == text.split(sign, limit)


@settings(deadline=None)
@given(st.text("a \t", max_size=60).map(str.encode))
def test_words(text: bytes) -> None:
    assert list(itertools.chain(*splitting.split_text(text, None))) == text.split()


@settings(deadline=None)
@given(TEXTS, st.integers(-50, 50), st.integers(-1, 50))
def test_substrings_by_characters(text: bytes, begin: int, count: int) -> None:
    whole = text.decode("utf-8", "surrogateescape")
    found = strings._cut_characters(text, begin, count)
    if not -len(whole) <= begin <= len(whole):
        assert found is None
    else:
        begin += len(whole) if begin < 0 else 0
        part = whole[begin : begin + max(count, 0)]
        assert found == part.encode("utf-8", "surrogateescape")


@settings(deadline=None)
@given(TEXTS, st.sampled_from([b"replace", b"ignore"]))
def test_code_points(text: bytes, errors: bytes) -> None:
    attrs = {
        "input_encoding": b"UTF-8",
        "errors": errors,
        "replacement_char": 0xFFFD,
        "replace_control_characters": False,
    }
    decoder = unicode.Decoder(SimpleNamespace(attrs=attrs))  # type: ignore[arg-type]
    points, starts = decoder.points(text)
    whole = decoder._points(text)
    assert (points.tolist(), starts.tolist()) == (whole[0].tolist(), whole[1].tolist())
    as_text = "".join(map(chr, points))
    assert unicode._encoded(points, b"UTF-16-BE") == as_text.encode("utf-16-be")
