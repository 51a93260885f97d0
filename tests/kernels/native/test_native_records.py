"""Records and Examples by the compiled module: what it refuses, and that it splits as Python does."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tensorfleet.proto.example_pb2 import Example
from tensorfleet.proto.feature_pb2 import BytesList, Feature, Features
from tensorfleet.records.tfrecord import framed, split_records
from tensorfleet_service.devices import native as kernels

pytestmark = pytest.mark.skipif(kernels.native is None, reason="no compiled kernels")

native: Any = kernels.native

ITEM = b"\x0a\x0f\x0a\x0d\x0a\x01a\x12\x08\x1a\x06\x0a\x04\x01\x02\x80\x01"  # "a": 1, 2, 128


def places(keys: int, items: int) -> Any:
    return np.zeros((keys, items, 4), np.int32)


def test_an_example_is_scanned() -> None:
    found = places(1, 3)
    assert native.scan_examples((ITEM, b"\xff"), (b"a",), found, 3, 2) == ([1], [1 << 3 | 1], [3], [3])
    assert found.tolist() == [[[3, 13, 17, 3], [0] * 4, [0] * 4]]


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="elements instead of"):
        native.scan_examples((ITEM,), (b"a", b"b"), places(1, 1), 1, 1)
    with pytest.raises(ValueError, match="more items than"):
        native.scan_examples((ITEM, ITEM), (b"a", b"b"), places(2, 1), 1, 1)
    with pytest.raises(ValueError, match="size"):
        native.scan_examples((ITEM,), (b"a", b"b"), places(1, 1), 1 << 62, 1)
    with pytest.raises(TypeError):
        native.scan_examples((ITEM, "a"), (b"a",), places(1, 2), 2, 1)
    with pytest.raises(TypeError):
        native.scan_examples([ITEM], (b"a",), places(1, 1), 1, 1)
    with pytest.raises(TypeError):
        native.scan_examples((ITEM,), (b"a",), places(1, 1).astype(np.int64), 1, 1)
    with pytest.raises(ValueError, match="place"):
        native.split_records(b"abc", 4)
    with pytest.raises(ValueError, match="place"):
        native.split_records(b"abc", -1)


def values(
    kind: int, span: tuple[int, int], count: int, out: Any, width: int = -1, indices: Any = None
) -> None:
    where = np.array([kind, *span, count], np.int32)
    native.example_values((ITEM,), 1, where, 1, ((0, out, width, indices),), 1)


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
        (3, (13, 17), (1 << 31) - 2, 3, -1),
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


def strings_example(*texts: bytes) -> bytes:
    feature = Feature(bytes_list=BytesList(value=texts))
    return Example(features=Features(feature={"s": feature})).SerializeToString()


def scanned(items: tuple[bytes, ...], *keys: bytes) -> tuple[Any, int]:
    where = places(len(keys), len(items))
    assert native.scan_examples(items, keys, where, len(items), 2)[0] == []
    return where, len(items)


def test_all_columns_in_one_call() -> None:
    items = (ITEM, strings_example(b"x", b"long enough"), b"")
    where = scanned(items, b"a", b"s")
    out, wide, texts = np.zeros(3, np.int64), np.full((3, 4), 7), np.empty(2, object)
    indices = np.zeros((2, 2), np.int64)
    columns = (0, out, -1, None), (1, texts, -1, indices), (0, wide, 4, None)
    native.example_values(items, 2, *where, columns, 2)
    assert out.tolist() == [1, 2, 128]
    assert wide.tolist() == [[1, 2, 128, 7], [7] * 4, [7] * 4]
    assert texts.tolist() == [b"x", b"long enough"]
    assert indices.tolist() == [[1, 0], [1, 1]]


def test_columns_that_do_not_fit_are_refused() -> None:
    where = scanned((ITEM,), b"a")
    one = np.zeros(6, np.int64)
    for columns, error, text in (
        (((1, one[:3], -1, None),), ValueError, "no feature"),
        (((-1, one[:3], -1, None),), ValueError, "no feature"),
        (((0, one[:3], -1, None), (0, one[2:5], -1, None)), ValueError, "shares memory"),
        (([0, one[:3], -1, None],), TypeError, "tuple"),
        ([], TypeError, "tuple"),
    ):
        with pytest.raises(error, match=text):
            native.example_values((ITEM,), 1, *where, columns, 1)
    where, _ = scanned((ITEM, b""), b"a")
    with pytest.raises(ValueError, match="shares memory"):
        native.example_values((ITEM,), 1, where, 2, ((0, where.view(np.int64).reshape(-1), 4, None),), 1)


def references(strings: list[bytes]) -> list[int]:
    return [sys.getrefcount(text) for text in strings]


def test_strings_are_released() -> None:
    """Equal ones are one object, which goes with the last array that has it."""
    items = tuple(strings_example(b"word %d" % (i % 5), b"own %d" % i, b"w" * 100) for i in range(200))
    where = scanned(items, b"s")
    first, second = np.empty(600, object), np.empty((200, 4), object)
    native.example_values(items, 1, *where, ((0, first, -1, None), (0, second, 4, None)), 2)
    assert first.tolist() == [text for row in second[:, :3].tolist() for text in row]
    assert first[0] is first[15]
    word, own, long = first[0], first[1], first[2]
    before = references([word, own, long])
    held = [sum(text is each for text in second.reshape(-1)) for each in (word, own, long)]
    del second
    assert references([word, own, long]) == [a - b for a, b in zip(before, held, strict=True)]
    native.example_values(items, 1, *where, ((0, first, -1, None),), 2)
    # Others have taken their places: now only this function has them.
    fresh = b"fresh %d" % len(items)
    assert len(set(references([word, own, long, fresh]))) == 1


def test_without_memory_nothing_is_leaked() -> None:
    memory = pytest.importorskip("_testcapi")
    items = tuple(strings_example(b"word %d" % (i % 5), b"own %d" % i) for i in range(100))
    where = scanned(items, b"s")
    none = sys.getrefcount(None)
    failures = 0
    for start in range(1, 120):
        out = np.empty(200, object)
        columns = ((0, out, -1, None),)
        memory.set_nomemory(start, start + 1)
        try:
            native.example_values(items, 1, *where, columns, 1)
        except MemoryError:
            failures += 1
        finally:
            memory.remove_mem_hooks()
        del out, columns
    assert failures > 50
    assert abs(sys.getrefcount(None) - none) < 50


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
