"""SequenceExamples by the compiled scanner: the same arrays as by protobuf, or it leaves them to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dtypes import DType
from tensorfleet.proto.example_pb2 import SequenceExample
from tensorfleet.proto.feature_pb2 import BytesList, Feature, FloatList, Int64List
from tensorfleet_service.devices import native as kernels
from tensorfleet_service.records.encoded_sequences import EncodedSequences, Irregular
from tensorfleet_service.records.sequences import Fixed, SequenceBatch, Sequences, Sparse

pytestmark = pytest.mark.skipif(kernels.native is None, reason="no compiled kernels")

native: Any = kernels.native

integers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4).map(
    lambda v: Feature(int64_list=Int64List(value=v))
)
floats = st.lists(st.floats(width=32, allow_nan=False), max_size=4).map(
    lambda v: Feature(float_list=FloatList(value=v))
)
texts = st.lists(st.binary(max_size=20), max_size=4).map(lambda v: Feature(bytes_list=BytesList(value=v)))
features = st.one_of(integers, floats, texts, st.just(Feature()))
names = st.sampled_from(("a", "b", "ä", "another"))


@st.composite
def sequences(draw: Any) -> bytes:
    made = SequenceExample()
    for name in draw(st.sets(names)):
        made.context.feature[name].CopyFrom(draw(features))
    for name in draw(st.sets(names)):
        kind = draw(st.sampled_from((integers, floats, texts, features)))
        made.feature_lists.feature_list[name].feature.extend(draw(st.lists(kind, max_size=5)))
    return made.SerializeToString()


types = st.sampled_from((dtypes.int64, dtypes.float32, dtypes.string))


def read(batch: Sequences, method: str, feature: Any) -> list[Any]:
    found = getattr(batch, method)(feature)
    batch.fill()
    return list(found) if isinstance(found, tuple) else [found]


def wanted(method: str, key: str, dtype: DType, size: int, default: bool) -> Any:
    if method.endswith("sparse"):
        return Sparse(key, dtype)
    value = np.full(size if default else 0, b"x" if dtype is dtypes.string else 7, dtype.np)
    return Fixed(key, dtype, (size,), value if method == "context_dense" else None, default)


methods = st.sampled_from(("context_sparse", "context_dense", "steps_sparse", "steps_dense"))


@given(st.lists(sequences(), min_size=1, max_size=4), methods, names, types, st.integers(0, 3), st.booleans())
def test_what_is_read_is_what_protobuf_reads(
    items: list[bytes], method: str, key: str, dtype: DType, size: int, default: bool
) -> None:
    feature = wanted(method, key, dtype, size, default)
    for single in (False, True) if len(items) == 1 else (False,):
        try:
            found = read(EncodedSequences(items, [key], [key], single), method, feature)
        except Irregular:
            found = []
        try:
            expected = read(SequenceBatch(items, (), single), method, feature)
        except errors.InvalidArgumentError:
            assert not found
            continue
        for a, b in zip(found, expected, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("feature", "dtype", "value"),
    [
        (Feature(bytes_list=BytesList(value=[b"text"])), dtypes.string, b"text"),
        (Feature(int64_list=Int64List(value=[5])), dtypes.int64, 5),
        (Feature(float_list=FloatList(value=[0.5])), dtypes.float32, 0.5),
    ],
)
def test_a_scalar_of_a_single_sequence(feature: Feature, dtype: DType, value: Any) -> None:
    made = SequenceExample()
    made.context.feature["a"].CopyFrom(feature)
    wanted = Fixed("a", dtype, (), np.empty(0, dtype.np), False)
    (found,) = read(EncodedSequences([made.SerializeToString()], ["a"], [], True), "context_dense", wanted)
    assert found.shape == ()
    assert found[()] == value


@given(sequences(), st.data())
def test_damaged_ones_are_read_as_by_protobuf_or_not_at_all(item: bytes, data: Any) -> None:
    changed = bytearray(item)
    for _ in range(data.draw(st.integers(1, 3)) if changed else 0):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    items = [bytes(changed[: data.draw(st.integers(0, len(changed)))])]
    for method in ("context_sparse", "steps_sparse"):
        try:
            found = read(EncodedSequences(items, ["a"], ["a"], False), method, Sparse("a", dtypes.int64))
        except Irregular:
            continue
        try:
            expected = read(SequenceBatch(items, (), False), method, Sparse("a", dtypes.int64))
        except errors.InvalidArgumentError:
            continue  # such as damage in a feature that nobody wants
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def list_of(steps: int) -> bytes:
    made = SequenceExample()
    made.context.feature["c"].int64_list.value.append(1)
    for step in range(steps):
        made.feature_lists.feature_list["a"].feature.add().int64_list.value.append(step)
    return made.SerializeToString()


def test_what_serializers_write_is_read_by_the_scanner() -> None:
    batch = EncodedSequences([list_of(n) for n in (3, 0, 5)], ["c"], ["a"], False)
    empty: Any = np.zeros(0, np.int64)
    assert read(batch, "context_dense", Fixed("c", dtypes.int64, (), empty))[0].tolist() == [1, 1, 1]
    values, lengths = read(batch, "steps_dense", Fixed("a", dtypes.int64, (), may_lack=True))
    assert values.tolist() == [[0, 1, 2, 0, 0], [0] * 5, [0, 1, 2, 3, 4]]
    assert lengths.tolist() == [3, 0, 5]


def test_one_name_twice_is_left_to_protobuf() -> None:
    with pytest.raises(Irregular):
        EncodedSequences([list_of(2) + list_of(3)], [], ["a"], False)


def test_places_outside_of_items_are_refused() -> None:
    item = list_of(2)
    places, lists = np.zeros((2, 4), np.int32), np.array([[0, len(item), 2]], np.int32)
    with pytest.raises(ValueError, match="number of steps"):
        native.scan_steps((item,), lists, 1, np.zeros((1, 4), np.int32), 1)
    with pytest.raises(ValueError, match="elements instead of"):
        native.scan_steps((item,), lists, 2, np.zeros((1, 4), np.int32), 1)
    assert native.scan_steps((item,), np.array([[0, len(item) + 1, 2]], np.int32), 2, places, 1) is None
    assert native.scan_steps((item,), np.array([[-1, len(item), 2]], np.int32), 2, places, 1) is None
    with pytest.raises(ValueError, match="longer than its item"):
        native.scan_examples((item,), (b"a",), np.zeros((1, 4, 4), np.int32), 4, 1, np.array([len(item) + 1]))
    with pytest.raises(ValueError, match="in no item"):
        native.example_values(
            (item,), 1, places, 2, ((0, np.zeros(0, np.int64), -1, None),), 1, np.array([0, 1], np.int32)
        )
    with pytest.raises(TypeError):
        native.scan_sequences((item,), (b"a",), np.zeros(1, np.int32), np.zeros((1, 1, 3), np.int32), 1)
    shared = np.zeros(16, np.int32)
    with pytest.raises(ValueError, match="shares memory"):
        native.scan_sequences((item,), (b"a",), shared[:2].view(np.int64), shared[1:4], 1)
