"""Values: what becomes of Python's, how messages carry them, and which messages are refused."""

from __future__ import annotations

import collections
import struct
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from tensorfleet.core import dtypes, long_texts, shapes, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet.core.tensor_util import convert_value, make_ndarray, make_tensor_proto, to_proto
from tensorfleet.proto.tensor_pb2 import TensorProto

NUMERIC = [
    dt
    for dt in map(dtypes.from_enum, range(1, 24))
    if dt.np is not None and dt is not dtypes.string and not dt.is_quantized
]


def message(dt: DType, dims: list[int], **fields: Any) -> TensorProto:
    shape = {"dim": [{"size": size} for size in dims]}
    return TensorProto(dtype=dt.enum, tensor_shape=shape, **fields)


def same(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, np.int32(1)),
        (2**31 - 1, np.int32(2**31 - 1)),
        (2**31, np.int64(2**31)),
        (-(2**31) - 1, np.int64(-(2**31) - 1)),
        (2**63, np.uint64(2**63)),
        (1.5, np.float32(1.5)),
        (float("inf"), np.float32("inf")),
        (True, np.bool_(True)),
        (1j, np.complex128(1j)),
        ([1, 2], np.array([1, 2], np.int32)),
        ([1, 2**40], np.array([1, 2**40], np.int64)),
        ([1, 2.5], np.array([1, 2.5], np.float32)),
        ([True, 2], np.array([1, 2], np.int32)),
        ([[1], [2]], np.array([[1], [2]], np.int32)),
        ([], np.zeros(0, np.float32)),
        ([[], []], np.zeros((2, 0), np.float32)),
        (np.float64(1), np.float64(1)),
        (np.array([1, 2]), np.array([1, 2])),
        (np.array([1, 2], ">i4"), np.array([1, 2], np.int32)),
        (bytearray(b"ab"), np.array([97, 98], np.uint8)),
    ],
)
def test_types_are_inferred(value: Any, expected: Any) -> None:
    assert same(convert_value(value), expected)
    assert same(make_ndarray(make_tensor_proto(value)), expected)


@pytest.mark.parametrize("dt", NUMERIC)
@pytest.mark.parametrize("value", [1, [0, 1], [[1, 1, 0]], np.array([1.0, 0.0]), np.int64(1), []])
def test_values_take_the_wanted_type(dt: DType, value: Any) -> None:
    if dt is dtypes.bool and not isinstance(value, (np.ndarray, np.generic)):
        value = np.array(value, bool).tolist()
    expected = np.array(value).astype(dt.np)
    assert same(convert_value(value, dt), expected)
    assert same(make_ndarray(make_tensor_proto(value, dt)), expected)
    assert make_tensor_proto(value, dt).dtype == dt.enum


@pytest.mark.parametrize(
    ("value", "dt", "expected"),
    [(300, dtypes.uint8, 44), (-1, dtypes.uint16, 65535), (128, dtypes.int8, -128)],
)
def test_integers_wrap_around_like_tensorflows(value: int, dt: DType, expected: int) -> None:
    assert convert_value(value, dt) == expected
    assert convert_value([value], dt).tolist() == [expected]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("grün", "grün".encode()),
        (b"a\0", b"a\0"),
        ([b"a", b"\xff\0"], [b"a", b"\xff\0"]),
        (np.array(["a", "bc"]), [b"a", b"bc"]),
        (np.array([b"x"], object), [b"x"]),
        (np.str_("s"), b"s"),
        ([["a"], ["b"]], [[b"a"], [b"b"]]),
    ],
)
def test_strings_are_object_arrays_of_bytes(value: Any, expected: Any) -> None:
    array = convert_value(value)
    assert array.dtype == object
    assert array.tolist() == expected
    for proto in (make_tensor_proto(value), to_proto(array)):
        assert make_ndarray(proto).tolist() == expected


def test_missing_elements_repeat_the_last() -> None:
    assert convert_value([1, 2], shape=[2, 2]).tolist() == [[1, 2], [2, 2]]
    assert make_ndarray(make_tensor_proto([1, 2], shape=[2, 2])).tolist() == [[1, 2], [2, 2]]
    assert convert_value("a", shape=[2]).tolist() == [b"a", b"a"]
    assert convert_value([], shape=[2]).tolist() == [0.0, 0.0]
    assert convert_value(7, dtypes.int64, shapes.TensorShape([2])).tolist() == [7, 7]
    assert convert_value([1, 2, 3, 4], shape=[2, 2]).tolist() == [[1, 2], [3, 4]]


def test_one_value_fills_a_large_shape_without_memory() -> None:
    array = convert_value(1.5, shape=[10**6, 10**6])
    assert array.shape == (10**6, 10**6)
    proto = to_proto(array)
    assert list(proto.float_val) == [1.5]
    assert proto.ByteSize() < 50


def test_constants_do_not_follow_their_source() -> None:
    source = np.array([1, 2])
    for value in (
        convert_value(source),
        convert_value(source, dtypes.int64),
        convert_value(source, shape=[2, 1]),
    ):
        source[0] = 9
        assert value.ravel()[0] == 1
        source[0] = 1


@pytest.mark.parametrize(
    ("value", "options", "kind", "text"),
    [
        (1.5, {"dtype": dtypes.int32}, TypeError, "Expected int32, but got 1.5 of type 'float'."),
        ([1, [2]], {"dtype": dtypes.bool}, TypeError, "Expected bool, but got 1 of type 'int'."),
        ("a", {"dtype": dtypes.float32}, TypeError, "Expected float32, but got a of type 'str'."),
        ([1.5], {"dtype": "string"}, TypeError, "Expected string, but got 1.5 of type 'float'."),
        (1j, {"dtype": dtypes.float32}, TypeError, "Expected float32, but got 1j of type 'complex'."),
        ([1, 2], {"dtype": dtypes.qint8}, TypeError, "Expected qint8, but got 1 of type 'int'."),
        (None, {}, ValueError, "None values not supported."),
        (
            1,
            {"dtype": dtypes.resource},
            TypeError,
            "`dtype` <dtype: 'resource'> is not compatible with 1 of dtype int64.",
        ),
        ([1, 2, 3], {"shape": [2]}, ValueError, "Too many elements provided. Takes at most 2, but got 3."),
        (
            [1, 2],
            {"shape": [3], "verify_shape": True},
            TypeError,
            "Expected Tensor's shape: (3,), but got (2,).",
        ),
        (
            [1, 2],
            {"shape": [3], "allow_broadcast": True},
            TypeError,
            "Expected Tensor's shape: (3,), but got (2,).",
        ),
        (
            1,
            {"verify_shape": True, "allow_broadcast": True},
            ValueError,
            "allow_broadcast and verify_shape are not both allowed.",
        ),
        (np.array([1]), {"dtype": dtypes.string}, TypeError, "Expected binary or unicode string, got 1"),
    ],
)
def test_bad_values(value: Any, options: dict[str, Any], kind: type[Exception], text: str) -> None:
    for convert in (convert_value, make_tensor_proto):
        with pytest.raises(kind) as caught:
            convert(value, **options)
        assert str(caught.value) == text


@pytest.mark.parametrize("value", [[None], [1, "a"], 2**64, object(), {"a": 1}])
def test_values_without_a_common_type(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^Failed to convert elements of .* to Tensor"):
        convert_value(value)


@pytest.mark.parametrize(
    ("value", "expected", "dtype"),
    [
        (range(3), [0, 1, 2], "int32"),
        (range(0), [], "int32"),
        (collections.deque([1.0, 2.0]), [1.0, 2.0], "float32"),
        (collections.UserList(["a", "b"]), [b"a", b"b"], "object"),
        ([range(2), (3, 4)], [[0, 1], [3, 4]], "int32"),
        ((collections.deque([1]), range(5, 6)), [[1], [5]], "int32"),
    ],
)
def test_sequences(value: Any, expected: Any, dtype: str) -> None:
    array = make_ndarray(make_tensor_proto(value))
    assert (array.tolist(), array.dtype.name) == (expected, dtype)
    assert make_ndarray(make_tensor_proto(range(3), np.float32)).dtype == np.float32


@pytest.mark.parametrize("value", [[[1, 2], [3]], [range(2), [3]], [np.array([1, 2]), np.array([3, 4])]])
def test_values_that_are_not_dense(value: Any) -> None:
    with pytest.raises(ValueError, match=r"inhomogeneous shape|to be a dense tensor with shape"):
        convert_value(value)


def test_graph_tensors_are_not_values() -> None:
    class Tensor:
        def consumers(self) -> None: ...

    with pytest.raises(TypeError, match=r"^Expected any non-tensor type, but got a tensor instead.$"):
        convert_value([1, Tensor()])
    with pytest.raises(TypeError, match=r"^Expected float32, but got .* of type 'Tensor'.$"):
        convert_value(Tensor(), dtypes.float32)


@pytest.mark.parametrize("dt", NUMERIC)
@pytest.mark.parametrize("dims", [(), (1,), (3,), (2, 3), (0, 2)])
def test_both_forms_of_message_carry_every_bit(dt: DType, dims: tuple[int, ...]) -> None:
    array = (np.arange(np.prod(dims)) - 1).reshape(dims).astype(dt.np)
    for proto in (make_tensor_proto(array), to_proto(array)):
        back = make_ndarray(proto)
        assert same(back, array)
        assert back.flags.writeable
    assert to_proto(array).tensor_content == array.tobytes()
    assert same(make_ndarray(to_proto(array.T)), array.T.copy())


@pytest.mark.parametrize("dt", NUMERIC)
def test_a_typed_field_repeats_its_last_element(dt: DType) -> None:
    proto = make_tensor_proto(np.array([0, 1]).astype(dt.np), shape=[5])
    assert proto.tensor_content == b""
    assert same(make_ndarray(proto), np.array([0, 1, 1, 1, 1]).astype(dt.np))
    assert same(make_ndarray(message(dt, [2])), np.zeros(2, dt.np))


def test_quantized_values() -> None:
    array = convert_value([(1,), (-2,)], dtypes.qint8)
    assert array.dtype == dtypes.qint8.np
    proto = to_proto(array)
    assert (proto.dtype, proto.tensor_content) == (dtypes.qint8.enum, b"\x01\xfe")
    assert same(make_ndarray(proto), array)
    assert make_ndarray(message(dtypes.qint8, [2], int_val=[3]))["qint8"].tolist() == [3, 3]


def test_half_precision_travels_as_bits() -> None:
    assert list(make_tensor_proto(1.0, dtypes.bfloat16).half_val) == [0x3F80]
    assert list(make_tensor_proto(1.0, dtypes.float16).half_val) == [0x3C00]
    assert make_ndarray(message(dtypes.bfloat16, [], half_val=[0x3F80])) == ml_dtypes.bfloat16(1)


def test_types_of_a_byte_or_less() -> None:
    assert make_tensor_proto(1.0, dtypes.float8_e5m2).float8_val == b"\x3c"
    assert list(make_tensor_proto([-1, 7], dtypes.int4).int_val) == [-1, 7]
    assert list(make_tensor_proto([3, 0], dtypes.uint2).int_val) == [3, 0]
    for dtype, values in (
        (dtypes.float8_e4m3fn, [1.5, -2]),
        (dtypes.int4, [-8, 7]),
        (dtypes.uint4, [15, 0]),
        (dtypes.int2, [-2, 1]),
        (dtypes.uint2, [3, 2]),
        (dtypes.float4_e2m1fn, [-6, 0.5]),
    ):
        array = np.array(values).astype(dtype.np)
        for proto in (to_proto(array), make_tensor_proto(array)):
            assert same(make_ndarray(proto), array)
    assert same(
        make_ndarray(message(dtypes.float8_e5m2, [2], float8_val=b"\x3c")),
        np.ones(2, ml_dtypes.float8_e5m2),
    )
    with pytest.raises(ValueError, match="out of range for int4"):
        make_ndarray(message(dtypes.int4, [], int_val=[8]))


@pytest.mark.parametrize(
    ("proto", "text"),
    [
        (message(dtypes.float32, [-1]), "no negative dimension: \\[-1\\]"),
        (message(dtypes.float32, [2**40, 2**40]), "too many elements"),
        (message(dtypes.float32, [2**40, 2**40, 0]), "too many elements"),
        (message(dtypes.float32, [2**38], float_val=[1, 2]), "2 elements stand for .*larger than 2GB"),
        (
            message(dtypes.float32, [2], tensor_content=b"1234567"),
            "has 7 bytes, but float32 of shape \\[2\\] takes 8",
        ),
        (message(dtypes.float32, [2], tensor_content=b"123456789"), "has 9 bytes"),
        (message(dtypes.int32, [1], int_val=[1, 2]), "2 elements do not fit the shape \\[1\\]"),
        (message(dtypes.uint8, [1], int_val=[300]), "out of range for uint8"),
        (message(dtypes.float16, [1], half_val=[70000]), "out of range for float16"),
        (message(dtypes.complex64, [1], scomplex_val=[1.0]), "half a complex number"),
        (message(dtypes.string, [1], string_val=[b"a", b"b"]), "2 elements do not fit"),
        (
            message(dtypes.string, [2], tensor_content=b"\x01\x01a"),
            "2 strings end at byte 4, but there are 3 bytes",
        ),
        (TensorProto(dtype=1, tensor_shape={"unknown_rank": True}), "known rank"),
    ],
)
def test_contradictory_messages_are_refused(proto: TensorProto, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make_ndarray(proto)


@pytest.mark.parametrize("enum", [0, 20, 99])
def test_messages_of_types_without_arrays_are_refused(enum: int) -> None:
    with pytest.raises(TypeError):
        make_ndarray(TensorProto(dtype=enum))


def test_any_byte_but_zero_is_true() -> None:
    array = make_ndarray(message(dtypes.bool, [3], tensor_content=b"\x00\x01\x07"))
    assert array.view(np.uint8).tolist() == [0, 1, 1]


def test_arrays_of_no_tensor_type_are_refused() -> None:
    with pytest.raises(TypeError, match="to a TensorFlow DType"):
        to_proto(np.array(["2020"], "M8[D]"))


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_the_raw_form_of_strings_is_read_back(strings: list[bytes]) -> None:
    array = np.empty(len(strings), object)
    array[:] = strings
    raw = tensor_util.string_bytes(array)
    assert tensor_util.strings_from_bytes(raw, len(strings)).tolist() == strings
    assert make_ndarray(message(dtypes.string, [len(strings)], tensor_content=raw)).tolist() == strings
    with pytest.raises(ValueError, match="strings end at byte"):
        tensor_util.strings_from_bytes(raw + b"x", len(strings))
    if any(strings):
        with pytest.raises(ValueError, match=r"strings end at byte|strings need"):
            tensor_util.strings_from_bytes(raw[:-1], len(strings))


def test_lengths_are_varints() -> None:
    array = np.array([b"a", b"x" * 300], object)
    assert tensor_util.string_bytes(array) == b"\x01" + struct.pack("BB", 0xAC, 0x02) + b"a" + b"x" * 300
    for endless in (b"\xff" * 20, b"\xff"):
        with pytest.raises(ValueError, match="does not end"):
            tensor_util.strings_from_bytes(endless, 1)
    with pytest.raises(ValueError, match="5 strings need at least 5 bytes"):
        tensor_util.strings_from_bytes(b"abc", 5)


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits memory on Linux alone")
def test_a_message_without_memory_is_an_error_not_a_crash() -> None:
    """Protobuf itself ends the process where it cannot copy the bytes of a field."""
    program = """
import resource
import numpy as np
from tensorfleet.core import tensor_util
value = np.ones(25 << 20, np.float32)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
used = int(status["VmData"].split()[0]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + (120 << 20), resource.RLIM_INFINITY))
try:
    tensor_util.to_proto(value)
except MemoryError as error:
    print("refused:", error)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended
    assert "refused: Unable to allocate" in ended.stdout


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_util, "_PART", 4)
    monkeypatch.setattr(tensor_util, "_LARGE", 8)


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("dtype", ["int32", "int8", "uint64", "float16", "bool", "complex64", "float64"])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 10])
def test_numbers_are_read_in_parts(dtype: str, count: int) -> None:
    array = np.arange(count).astype(dtype)
    read = make_ndarray(make_tensor_proto(array))
    np.testing.assert_array_equal(read, array)
    assert read.dtype == array.dtype
    made = message(dtypes.as_dtype(dtype), [count])
    written = tensor_util.elements_proto(array)
    made.MergeFrom(written)
    np.testing.assert_array_equal(make_ndarray(made), array)


@pytest.mark.usefixtures("in_parts")
def test_numbers_out_of_range_in_a_later_part() -> None:
    with pytest.raises(ValueError, match="out of range for int8"):
        make_ndarray(message(dtypes.int8, [5], int_val=[1, 2, 3, 4, 300]))
    with pytest.raises(ValueError, match="half a complex number"):
        make_ndarray(message(dtypes.complex64, [5], scomplex_val=[1] * 9))


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("length", [1, 200])
@pytest.mark.parametrize("count", [0, 1, 3, 8])
def test_strings_as_bytes_in_parts(length: int, count: int) -> None:
    array = np.array([b"%d" % i * length for i in range(count)] + [None], object)[:-1]
    data = tensor_util.string_bytes(array)
    np.testing.assert_array_equal(tensor_util.strings_from_bytes(data, count), array)
    for wrong in (data + b"a", data[:-1]) if count else (b"a",):
        with pytest.raises(ValueError, match="strings"):
            tensor_util.strings_from_bytes(wrong, count)


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.arange(12, dtype=np.int32)[::2],
        np.array([[b"a", b"bc"], [b"", b"d" * 300]], object),
    ],
)
def test_what_is_put_into_a_message(array: np.ndarray[Any, Any]) -> None:
    made = TensorProto()
    assert tensor_util.put(array, made)
    assert made.tensor_content
    np.testing.assert_array_equal(make_ndarray(made), array)


@pytest.mark.usefixtures("in_parts")
def test_what_is_not_put_into_a_message_as_bytes() -> None:
    made = TensorProto()
    for array in (np.float32(1), np.broadcast_to(np.float32(1), (100,)), np.array([b"a"], object)):
        assert not tensor_util.put(array, made)
    assert made == TensorProto()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.float32).reshape(3, 4).T,
        np.arange(6).astype(">i8"),
        np.array([True, False]),
        np.arange(5).astype(dtypes.bfloat16.np),
        np.broadcast_to(np.int32(3), (2, 3)),
        np.array([[b"a", b"bc" * 100], [b"", b"x"]], object),
        np.array("\u00e9", object),
        np.zeros((0, 2), object),
        np.zeros((0, 2)),
        np.float64(2),
    ],
    ids=str,
)
def test_messages_written_without_protobuf(array: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tensor_util.to_proto(array).SerializeToString()
    for name in ("_LARGE", "_PART"):
        monkeypatch.setattr(tensor_util, name, 1)
    monkeypatch.setattr(long_texts, "COPIED", 3)
    assert tensor_util.serialized(array) == expected


def test_a_large_message_is_written_without_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused:
        def __init__(self, **fields: Any) -> None:
            assert not {"tensor_content", "string_val"} & fields.keys()

        def SerializeToString(self) -> bytes:
            return b"head"

    monkeypatch.setattr(tensor_util, "TensorProto", Refused)
    numbers = np.zeros(1 << 18, np.float32)
    assert tensor_util.serialized(numbers) == b"head\x22\x80\x80\x40" + numbers.tobytes()
    assert tensor_util.serialized(np.array(b"abc", object)) == b"head\x42\x03abc"
