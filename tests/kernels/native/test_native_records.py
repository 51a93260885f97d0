"""Records and Examples by the compiled module: what it refuses, and that it splits as Python does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tensorfleet.records.tfrecord import framed, split_records
from tensorfleet_service.devices import native as kernels

pytestmark = pytest.mark.skipif(kernels.native is None, reason="no compiled kernels")

native: Any = kernels.native

ITEM = b"\x0a\x0f\x0a\x0d\x0a\x01a\x12\x08\x1a\x06\x0a\x04\x01\x02\x80\x01"  # "a": 1, 2, 128


def arrays(keys: int, items: int) -> list[Any]:
    return [
        np.zeros((keys, items), np.uint8),
        np.zeros((keys, items, 2), np.int64),
        np.zeros((keys, items), np.int64),
    ]


def test_an_example_is_scanned() -> None:
    kinds, spans, counts = arrays(1, 2)
    found = native.scan_examples((ITEM, b"\xff"), (b"a",), kinds, spans, counts, 2)
    assert found == ([1], [1 << 3 | 1], [3], [3])
    assert (kinds[0, 0], spans[0, 0].tolist(), counts[0].tolist()) == (3, [13, 17], [3, 0])


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="elements instead of"):
        native.scan_examples((ITEM,), (b"a", b"b"), *arrays(1, 1), 1)
    with pytest.raises(TypeError):
        native.scan_examples((ITEM, "a"), (b"a",), *arrays(1, 2), 1)
    with pytest.raises(TypeError):
        native.scan_examples([ITEM], (b"a",), *arrays(1, 1), 1)
    one = np.zeros(24, np.int64)
    with pytest.raises(ValueError, match="shares memory"):
        native.scan_examples((ITEM,), (b"a",), np.zeros(1, np.uint8), one[:2], one[1:2], 1)
    with pytest.raises(ValueError, match="place"):
        native.split_records(b"abc", 4)
    with pytest.raises(ValueError, match="place"):
        native.split_records(b"abc", -1)


def values(
    kind: int, span: tuple[int, int], count: int, out: Any, width: int = -1, indices: Any = None
) -> None:
    where = np.array([kind], np.uint8), np.array([span], np.int64), np.array([count], np.int64)
    native.example_values((ITEM,), *where, out, width, indices, 1)


@pytest.mark.parametrize(
    ("kind", "span", "count", "size", "width"),
    [
        (3, (13, 18), 3, 3, -1),  # beyond the item
        (3, (-1, 17), 3, 3, -1),
        (3, (17, 13), 3, 3, -1),
        (3, (13, 17), 2, 2, -1),  # more values than were counted, and fewer
        (3, (13, 17), 4, 4, -1),
        (3, (13, 17), 3, 2, -1),
        (3, (13, 17), 3, 2, 2),
        (3, (13, 17), -1, 0, -1),
        (3, (13, 17), 1 << 62, 3, -1),
        (2, (13, 17), 1, 1, -1),  # of another type
        (1, (13, 17), 1, 1, -1),
        (6, (13, 17), 3, 3, -1),
        (9, (13, 17), 3, 3, -1),
        (0, (13, 17), 3, 3, -1),
    ],
)
def test_spans_that_do_not_fit_are_refused(
    kind: int, span: tuple[int, int], count: int, size: int, width: int
) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        values(kind, span, count, np.zeros(size, np.int64), width)
    with pytest.raises(ValueError):  # noqa: PT011
        values(min(kind, 4), span, count + 1, np.zeros(size, object), width)


def test_values_and_their_places() -> None:
    out, indices = np.zeros(3, np.int64), np.zeros((3, 2), np.int64)
    values(3, (13, 17), 3, out, indices=indices)
    assert out.tolist() == [1, 2, 128]
    assert indices.tolist() == [[0, 0], [0, 1], [0, 2]]
    wide = np.full((1, 5), 7)
    values(3, (13, 17), 3, wide, 5)
    assert wide.tolist() == [[1, 2, 128, 7, 7]]
    with pytest.raises(ValueError, match="indices"):
        values(3, (13, 17), 3, wide, 5, np.zeros((5, 2), np.int64))


def test_strings_take_the_place_of_others() -> None:
    out = np.array([b"other"], object)
    values(1, (6, 7), 1, out)
    assert out.tolist() == [b"a"]


@given(
    st.lists(st.binary(max_size=40), max_size=8),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=2),
    st.integers(0, 400),
)
def test_records_are_split_as_by_python(
    records: list[bytes], changes: list[tuple[int, int]], length: int
) -> None:
    buffer = bytearray(b"??" + b"".join(map(framed, records)))
    for place, value in changes:
        if place < len(buffer):
            buffer[place] ^= value
    content = bytes(buffer[: max(2, len(buffer) - length // 8)])
    found, expected = native.split_records(content, 2), split_records(content, 2)
    assert found[:3] == tuple(expected)[:3]
    if not expected.wrong and len(content) - expected.place >= 12:
        assert found[3] == expected.length


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000, 300_000])
def test_a_checksum_of_any_length(size: int) -> None:
    record = np.random.default_rng(0).bytes(size)
    assert native.split_records(framed(record), 0) == ([record], size + 16, 0, 0)
