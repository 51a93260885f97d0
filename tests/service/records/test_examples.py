"""Examples as arrays: whatever a serializer writes, the scanner finds what protobuf's own parser finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tensorfleet.core import dtypes, errors
from tensorfleet.proto.example_pb2 import Example
from tensorfleet.proto.feature_pb2 import BytesList, Feature, Features, FloatList, Int64List
from tensorfleet_service.devices import native
from tensorfleet_service.records.examples import ExampleParser, dense_feature


@pytest.fixture(params=["numpy", "compiled"], scope="module", autouse=True)
def scanner(request: pytest.FixtureRequest) -> Iterator[None]:
    """Everything here holds of both scanners."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setattr(native, "native", None)
        elif native.native is None:
            pytest.skip("no compiled kernels")
        yield


KEYS = ["a", "bc", "k" * 200]
TYPES = {b"ints": dtypes.int64, b"floats": dtypes.float32, b"strings": dtypes.string}

ints = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300), max_size=5)
floats = st.lists(st.floats(width=32, allow_nan=False), max_size=5)
strings = st.lists(st.binary(max_size=300), max_size=3)


def feature(kind: bytes, values: Any) -> Feature:
    if kind == b"ints":
        return Feature(int64_list=Int64List(value=values))
    if kind == b"floats":
        return Feature(float_list=FloatList(value=values))
    return Feature(bytes_list=BytesList(value=values))


examples = st.fixed_dictionaries(
    {},
    optional={
        "ints": ints,
        "floats": floats,
        "strings": strings,
        "other": ints,
        "unset": st.none(),
        **{key: strings for key in KEYS},
    },
)


def serialized(values: dict[str, Any]) -> bytes:
    features = {
        key: Feature()
        if items is None
        else feature(
            key.encode() if key.encode() in TYPES else b"ints" if key == "other" else b"strings", items
        )
        for key, items in values.items()
    }
    return Example(features=Features(feature=features)).SerializeToString()


@given(st.lists(examples, max_size=12), st.integers(1, 12), st.booleans())
def test_columns_are_what_protobuf_reads(made: list[dict[str, Any]], times: int, merged: bool) -> None:
    """Also of several messages in one string, which count as one, and of many Examples alike."""
    items = [serialized(values) for values in made for _ in range(times)]
    rows = [values for values in made for _ in range(times)]
    if merged:
        items = [serialized({"other": [1]}) + item for item in items]
    parser = ExampleParser(list(TYPES.items()), [])
    for _ in range(2):  # the second time with what the first has learnt
        indices, values, shapes, *_ = parser.parse(items, (), (), False)
        for place, key in enumerate(TYPES):
            expected = [row.get(key.decode(), []) for row in rows]
            assert values[place].tolist() == [value for row in expected for value in row]
            assert shapes[place].tolist() == [len(items), max(map(len, expected), default=0)]
            assert indices[place].tolist() == [
                [row, column] for row, items_of in enumerate(expected) for column in range(len(items_of))
            ]


@given(
    st.lists(st.tuples(st.integers(0, 255), st.floats(width=32, allow_nan=False)), min_size=1, max_size=40)
)
def test_dense_features_of_one_layout(rows: list[tuple[int, float]]) -> None:
    items = [
        serialized({"ints": [number], "floats": [value, -value], "strings": [b"%03d" % number]})
        for number, value in rows
    ]
    parser = ExampleParser(
        [],
        [
            dense_feature(b"ints", dtypes.int64, ()),
            dense_feature(b"floats", dtypes.float32, (2, 1)),
            dense_feature(b"strings", dtypes.string, (1,)),
        ],
    )
    *_, dense, _, _ = parser.parse(items, (), [np.zeros(0)] * 3, False)
    assert dense[0].tolist() == [number for number, _ in rows]
    assert dense[1].tolist() == [[[value], [-value]] for _, value in rows]
    assert dense[2].tolist() == [[b"%03d" % number] for number, _ in rows]


@given(st.binary(max_size=80) | st.builds(lambda a, n: serialized({"ints": a})[:n], ints, st.integers(0, 40)))
def test_no_bytes_are_taken_for_something_else(data: bytes) -> None:
    """Either the values that protobuf reads, or InvalidArgumentError."""
    parser = ExampleParser([(b"ints", dtypes.int64)], [])
    try:
        expected = Example.FromString(data)
    except Exception:
        expected = None
    try:
        _, (values,), *_ = parser.parse([data] * 9, (), (), False)
    except errors.InvalidArgumentError:
        return
    assert expected is not None
    assert values.tolist() == list(expected.features.feature["ints"].int64_list.value) * 9


def test_errors_name_the_example() -> None:
    parser = ExampleParser([], [dense_feature(b"ints", dtypes.int64, (2,))])
    good, bad = serialized({"ints": [1, 2]}), serialized({"ints": [1]})
    with pytest.raises(
        errors.InvalidArgumentError, match=r"Name: two, Key: ints, Index: 1\..*Values size: 1"
    ):
        parser.parse([good, bad], (b"one", b"two"), [np.zeros(0)], False)


def field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def raw(number: int, content: bytes) -> bytes:
    """An Example whose feature "ints" has a list of this number and content."""
    return field(1, field(1, field(1, b"ints") + field(2, field(number, content))))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x08\x05", [5]),
        (b"\x08\x05\x08\x80\x01", [5, 128]),
        (
            field(1, b"\x05\x06") + b"\x08\x07" + field(1, b"") + field(1, b"\xff" * 9 + b"\x01"),
            [5, 6, 7, -1],
        ),
        (b"", []),
    ],
)
def test_integers_with_tags_of_their_own(content: bytes, expected: list[int]) -> None:
    parser = ExampleParser([(b"ints", dtypes.int64)], [dense_feature(b"ints", dtypes.int64, (None,))])
    items = [raw(3, content), serialized({"ints": [1, 2, 300]})]
    _, (values,), _, (dense,), *_ = parser.parse(items, (), [np.array([9])], False)
    assert values.tolist() == [*expected, 1, 2, 300]
    longest = max(3, len(expected))
    assert dense.tolist() == [expected + [9] * (longest - len(expected)), [1, 2, 300] + [9] * (longest - 3)]


def test_floats_with_tags_of_their_own() -> None:
    one, two = np.array([1, 2], "<f4").tobytes()[:4], np.array([1, 2], "<f4").tobytes()
    parser = ExampleParser([(b"ints", dtypes.float32)], [])
    contents = [b"\x0d" + one, field(1, two) + b"\x0d" + one, field(1, two)]
    _, (values,), *_ = parser.parse([raw(2, content) for content in contents], (), (), False)
    assert values.tolist() == [1, 1, 2, 1, 1, 2]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (
            raw(3, field(1, b"\xff" * 10 + b"\x01")),
            "Can't parse serialized Example: a varint is longer than ten",
        ),
        (raw(3, field(1, b"\x80")), "Could not parse example input"),
        (raw(3, b"\x08"), "Could not parse example input"),
        (raw(3, field(1, b"\x01"))[:-1], "Could not parse example input"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "Could not parse example input"),
        (b"\x0a\x05\x0a\x7f\x0a\x01a", "Could not parse example input"),
        (b"\x0a\xff\xff\xff\xff\x0f", "Could not parse example input"),
        (raw(3, b"\x0a\x7f\x01"), "Could not parse example input"),
        (raw(3, b"\x0a\xff\xff\xff\xff\x07"), "Could not parse example input"),
        (raw(3, b"\x0a" + b"\xff" * 9 + b"\x01"), "Could not parse example input"),
        (raw(3, field(1, b"\x01")) + b"\x7b" * 20, "Could not parse example input"),  # groups without ends
        (raw(2, field(1, b"\0" * 3)), "Could not parse example input"),
        (raw(2, field(1, b"\0" * 4)), "Data types don't match"),
        (raw(1, field(1, b"a")), "Expected type: int64, Actual type: string"),
    ],
)
def test_damaged_examples(item: bytes, text: str) -> None:
    parser = ExampleParser([(b"ints", dtypes.int64)], [])
    with pytest.raises(errors.InvalidArgumentError, match=text):
        parser.parse([serialized({"ints": [1]}), item], (), (), False)


def test_keys_in_any_order_and_twice() -> None:
    first, second = (serialized({"ints": [n], "floats": [n], "strings": [b"%d" % n]}) for n in (1, 2))
    twice = first[2:] + second[2:]
    item = b"\x0a" + bytes([len(twice)]) + twice
    parser = ExampleParser(list(TYPES.items()), [])
    _, values, *_ = parser.parse([item, first], (), (), False)
    assert [part.tolist() for part in values] == [[2, 1], [2, 1], [b"2", b"1"]]


def test_many_keys_and_examples() -> None:
    """More than one thread's share, and more keys than a small table has room for."""
    keys = [f"feature {i}" for i in range(300)]
    items = [serialized({key: [b"%d" % i] * (i % 3) for key in keys}) for i in range(50)]
    parser = ExampleParser([], [], [(key.encode(), dtypes.string, dtypes.int32) for key in keys])
    *_, values, splits = parser.parse(items, (), (), False)
    expected = [b"%d" % i for i in range(50) for _ in range(i % 3)]
    assert all(part.tolist() == expected for part in values)
    assert all(part.tolist() == np.cumsum([0] + [i % 3 for i in range(50)]).tolist() for part in splits)
