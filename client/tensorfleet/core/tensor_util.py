"""Between arrays and `TensorProto` messages: `tf.make_tensor_proto`, `tf.make_ndarray`, the wire form.

A message holds its elements either as raw bytes (`tensor_content`, little-endian, row-major) or one by one
in the field of its type, where the last one stands for all that are missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.core import dtypes, string_arrays
from tensorfleet.core.dtypes import DType
from tensorfleet.core.long_texts import bytes_of
from tensorfleet.core.shapes import format_dims, to_proto as _shape_proto
from tensorfleet.core.tensor_convert import as_bytes, convert, convert_value
from tensorfleet.proto.tensor_pb2 import TensorProto, VariantTensorDataProto

__all__ = [
    "array_of",
    "as_bytes",
    "constant_proto",
    "convert_value",
    "elements_proto",
    "make_ndarray",
    "make_tensor_proto",
    "message_array",
    "put",
    "serialized",
    "serialized_pieces",
    "string_bytes",
    "strings_from_bytes",
    "to_proto",
]

_MAX_ELEMENTS = 2**63 - 1
_LARGE = 1 << 20  # bytes
_LARGE_PART = 1 << 25  # bytes of strings, which may be long ones
_PART = 1 << 16  # numbers or strings that are taken at a time
_MESSAGES = 1 << 12  # that are taken at a time
_CONTENT_TAG, _STRING_TAG = (
    bytes((TensorProto.DESCRIPTOR.fields_by_name[name].number << 3 | 2,))
    for name in ("tensor_content", "string_val")
)
_COPIES = 3  # of a tensor: its bytes, those in the message, and those in a message around it
_MAX_CONTENT = 2**31 - 1  # protobuf's limit on one message, in bytes

# The field for each type's elements, one by one, and the dtype whose numbers go into it.
_BITS = np.dtype(np.uint16)
_BYTE = np.dtype(np.uint8)
_FIELDS: dict[DType, tuple[str, np.dtype[Any]]] = {
    **dict.fromkeys((*dtypes.FLOAT8_DTYPES, dtypes.float4_e2m1fn), ("float8_val", _BYTE)),
    **dict.fromkeys((dtypes.int4, dtypes.int2), ("int_val", np.dtype(np.int8))),
    **dict.fromkeys((dtypes.uint4, dtypes.uint2), ("int_val", _BYTE)),
    dtypes.float16: ("half_val", _BITS),
    dtypes.bfloat16: ("half_val", _BITS),
    dtypes.float32: ("float_val", np.dtype(np.float32)),
    dtypes.float64: ("double_val", np.dtype(np.float64)),
    dtypes.int64: ("int64_val", np.dtype(np.int64)),
    dtypes.uint32: ("uint32_val", np.dtype(np.uint32)),
    dtypes.uint64: ("uint64_val", np.dtype(np.uint64)),
    dtypes.bool: ("bool_val", np.dtype(np.bool_)),
    dtypes.complex64: ("scomplex_val", np.dtype(np.float32)),
    dtypes.complex128: ("dcomplex_val", np.dtype(np.float64)),
    dtypes.int8: ("int_val", np.dtype(np.int8)),
    dtypes.uint8: ("int_val", np.dtype(np.uint8)),
    dtypes.int16: ("int_val", np.dtype(np.int16)),
    dtypes.uint16: ("int_val", np.dtype(np.uint16)),
    dtypes.int32: ("int_val", np.dtype(np.int32)),
    dtypes.qint8: ("int_val", np.dtype(np.int8)),
    dtypes.quint8: ("int_val", np.dtype(np.uint8)),
    dtypes.qint16: ("int_val", np.dtype(np.int16)),
    dtypes.quint16: ("int_val", np.dtype(np.uint16)),
    dtypes.qint32: ("int_val", np.dtype(np.int32)),
}
# The types that TensorFlow's own client never writes as raw bytes, though every reader accepts them so.
_ONE_BY_ONE = dtypes.SMALL_INTEGER_DTYPES | frozenset(
    (dtypes.bool, dtypes.uint16, dtypes.complex64, dtypes.complex128)
)


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Iterable[Any] | None = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> TensorProto:
    """The message for `values`, field by field what TensorFlow makes (`tf.make_tensor_proto`).

    Accepts what `convert_value` accepts; a `TensorProto` is returned as it is. Raises TypeError and
    ValueError as `convert_value` does, and ValueError beyond 2 GiB.

    Example:
        >>> tf.make_ndarray(tf.make_tensor_proto([1, 2]))
        array([1, 2], dtype=int32)
    """
    if isinstance(values, TensorProto):
        return values
    array, dt, dims = convert(values, dtype, shape, verify_shape, allow_broadcast)
    array = np.asarray(array)
    if dt is dtypes.string:
        return _message(dtypes.string, dims, string_val=array.ravel().tolist())
    if array.size > 1 and array.size == math.prod(dims) and dt not in _ONE_BY_ONE:
        return _raw(array, dt, dims)
    return _one_by_one(array, dt, dims)


def to_proto(array: np.ndarray[Any, Any] | np.generic) -> TensorProto:
    """The message for an array, as raw bytes wherever possible: the quickest to write and to read.

    Strings go one by one, and so does the one value of a view that repeats it (all strides zero).
    Raises TypeError for arrays of no tensor type, ValueError beyond 2 GiB.
    """
    dt = dtypes.from_numpy(array.dtype)
    dims = array.shape
    if array.size > 1 and not any(array.strides):
        array = np.asarray(array)[(slice(1),) * array.ndim]
        if dt is not dtypes.string:
            return _one_by_one(array, dt, dims)
    if dt is dtypes.string:
        listed = np.asarray(array).ravel().tolist()
        if listed and isinstance(listed[0], VariantTensorDataProto):
            return _message(dtypes.variant, dims, variant_val=listed)
        items = [as_bytes(item) for item in listed]
        return _message(dtypes.string, dims, string_val=items)
    return _raw(array, dt, dims)


def constant_proto(array: np.ndarray[Any, Any] | np.generic) -> TensorProto:
    """The message for an array in a graph, in the form that `make_tensor_proto` gives it.

    Programs that read graphs look for a scalar in the field of its type (`.float_val[0]`).
    """
    dt = dtypes.from_numpy(array.dtype)
    if dt is not dtypes.string and (array.size <= 1 or (dt in _ONE_BY_ONE and any(array.strides))):
        return _one_by_one(np.asarray(array), dt, array.shape)
    return to_proto(array)


def elements_proto(array: np.ndarray[Any, Any]) -> TensorProto:
    """A message with the elements of an array alone, one by one, without type and shape."""
    dt = dtypes.from_numpy(array.dtype)
    if dt is dtypes.string:
        return TensorProto(string_val=[as_bytes(item) for item in array.ravel().tolist()])
    message = _one_by_one(array, dt, ())
    message.ClearField("dtype")
    message.ClearField("tensor_shape")
    return message


def _raw(array: np.ndarray[Any, Any] | np.generic, dt: DType, dims: tuple[int, ...]) -> TensorProto:
    return _message(dt, dims, tensor_content=_content(array, dt))


def _content(array: np.ndarray[Any, Any] | np.generic, dt: DType) -> bytes:
    if array.nbytes > _MAX_CONTENT:
        raise ValueError("Cannot create a tensor proto whose content is larger than 2GB.")
    if not array.dtype.isnative:
        array = array.astype(dt.np)
    if array.nbytes >= _LARGE:
        np.empty(_COPIES * array.nbytes, np.uint8)  # raises MemoryError; without memory protobuf crashes
        return bytes_of(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return array.tobytes()


def serialized(array: np.ndarray[Any, Any] | np.generic) -> bytes:
    """As `to_proto(array).SerializeToString()`, which copies a large array twice, each time by one call.

    Raises as `to_proto`.
    """
    parts = serialized_pieces(array, 0)
    return bytes(to_proto(array).SerializeToString()) if parts is None else b"".join(parts)


def serialized_pieces(array: np.ndarray[Any, Any] | np.generic, least: int) -> list[bytes] | None:
    """What is joined `serialized(array)`; None for small arrays, and for less than `least` bytes of strings.

    Raises as `to_proto`.
    """
    dt = dtypes.from_numpy(array.dtype)
    repeats = array.size > 1 and not any(array.strides)
    is_text = dt is dtypes.string and array.size and isinstance(np.asarray(array).flat[0], (bytes, str))
    if repeats or not (is_text or (dt is not dtypes.string and array.nbytes >= _LARGE)):
        return None
    if is_text and array.size < _PART and sum(map(len, np.asarray(array).ravel().tolist())) < least:
        return None
    parts = [_message(dt, array.shape).SerializeToString()]
    if is_text:
        flat = np.asarray(array).ravel()
        for begin in range(0, flat.size, _PART):
            pieces: list[bytes] = []
            for item in map(as_bytes, flat[begin : begin + _PART].tolist()):
                pieces += (_STRING_TAG, _varint(len(item)), item)
            parts.append(b"".join(pieces))
    else:
        content = _content(array, dt)
        parts += (_CONTENT_TAG, _varint(len(content)), content)
    return parts


def put(array: np.ndarray[Any, Any] | np.generic, proto: TensorProto) -> bool:
    """Puts an array of very many bytes, or strings, into a message, as raw bytes; False if it is not such."""
    dt = dtypes.from_numpy(array.dtype)
    if array.size > 1 and not any(array.strides):
        return False
    if dt is dtypes.string:
        if array.size < _PART or isinstance(np.asarray(array).flat[0], VariantTensorDataProto):
            return False
        content = string_bytes(np.asarray(array))
        if len(content) > _MAX_CONTENT:
            raise ValueError("Cannot create a tensor proto whose content is larger than 2GB.")
        proto.tensor_content = content
    elif array.nbytes < _LARGE:
        return False
    else:
        proto.tensor_content = _content(array, dt)
    proto.dtype = dt.enum  # type: ignore[assignment]
    proto.tensor_shape.CopyFrom(_shape_proto(array.shape))
    return True


def _one_by_one(array: np.ndarray[Any, Any], dt: DType, dims: tuple[int, ...]) -> TensorProto:
    field, written = _FIELDS[dt]
    flat = np.ascontiguousarray(array).reshape(-1)
    # The bits beside those of a small integer may be anything.
    made = flat.astype(written) if dt in dtypes.SMALL_INTEGER_DTYPES else flat.view(written)
    numbers = made.tobytes() if field == "float8_val" else made.tolist()
    return _message(dt, dims, **{field: numbers})


def _message(dt: DType, dims: tuple[int, ...], **elements: Any) -> TensorProto:
    dtype: Any = dt.enum  # the stubs want the enum's own class, which slows down every call
    return TensorProto(dtype=dtype, tensor_shape=_shape_proto(dims), **elements)


def make_ndarray(tensor: TensorProto) -> np.ndarray[Any, Any]:
    """The array that a message holds, as a writable copy (`tf.make_ndarray`); strings as bytes objects.

    Raises as `array_of`.
    """
    return array_of(tensor, _MAX_ELEMENTS)


def array_of(tensor: TensorProto, unrolled: int) -> np.ndarray[Any, Any]:
    """The array that a message holds; strings as bytes objects, variants as their messages.

    One element that stands for more than `unrolled` bytes stays one: the array is a view that repeats it.

    Raises TypeError for a type without arrays, ValueError for a message that contradicts itself: negative
    or overflowing dimensions, content of another length, too many elements, elements out of their range,
    several that stand for more than 2 GB.
    """
    if tensor.dtype == dtypes.variant.enum:
        return _variants(tensor)
    dt = _tensor_type(tensor.dtype)
    dims = tuple([dim.size for dim in tensor.tensor_shape.dim])
    count = _count(dims, tensor.tensor_shape.unknown_rank)
    content = tensor.tensor_content  # a copy, each time
    if dt is dtypes.string:
        if content:
            return strings_from_bytes(content, count).reshape(dims)
        strings = _padded(string_arrays.vector(tensor.string_val), count, b"", dims, unrolled)
        return strings.reshape(dims)
    if content:
        return _from_content(content, dt, count, dims).reshape(dims)
    return _padded(_from_fields(tensor, dt), count, np.zeros((), dt.np)[()], dims, unrolled).reshape(dims)


def _variants(tensor: TensorProto) -> np.ndarray[Any, Any]:
    """An object array of the messages of variants."""
    dims = tuple([dim.size for dim in tensor.tensor_shape.dim])
    count = _count(dims, tensor.tensor_shape.unknown_rank)
    if tensor.tensor_content:
        parts = strings_from_bytes(tensor.tensor_content, count).tolist()
        try:
            messages = string_arrays.vector([VariantTensorDataProto.FromString(part) for part in parts])
        except DecodeError as e:
            raise ValueError(f"The content of a tensor of variants is damaged: {e}") from None
    else:
        messages = message_array(tensor.variant_val)
    # One does not stand for several: each would be decoded, from a message of a few bytes.
    if len(messages) != count:
        raise ValueError(f"{len(messages)} messages are not the {count} variants of {format_dims(dims)}")
    return messages.reshape(dims)


def message_array(messages: Sequence[Any]) -> np.ndarray[Any, Any]:
    """An object array of the messages in a field."""
    result = string_arrays.empty(len(messages))
    for begin in range(0, len(messages), _MESSAGES):  # what stands for one is made when it is taken
        result[begin : begin + _MESSAGES] = messages[begin : begin + _MESSAGES]
    return result


def _tensor_type(enum: int) -> DType:
    dt = dtypes.from_enum(enum).base
    if dt.np is None:
        raise TypeError(f"Unsupported tensor type: {enum}: a {dt.name} has no array.")
    return dt


def _count(dims: tuple[int, ...], unknown_rank: bool) -> int:
    if unknown_rank:
        raise ValueError("A tensor's shape must have a known rank.")
    if dims and min(dims) < 0:
        raise ValueError(f"A tensor's shape must have no negative dimension: {format_dims(dims)}")
    # Zero may hide an overflow from the product, but not from whoever multiplies only some of them.
    if math.prod(size for size in dims if size) > _MAX_ELEMENTS:
        raise ValueError(f"The shape {format_dims(dims)} has too many elements")
    return math.prod(dims)


def _from_content(content: bytes, dt: DType, count: int, dims: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if len(content) != count * dt.size:
        raise ValueError(
            f"tensor_content has {len(content)} bytes, but {dt.name} of shape {format_dims(dims)} "
            f"takes {count * dt.size}"
        )
    if dt is dtypes.bool:
        return np.frombuffer(content, np.uint8).astype(np.bool_)  # a bool made of any other byte breaks numpy
    return np.frombuffer(content, dt.np).copy()


def _from_fields(tensor: TensorProto, dt: DType) -> np.ndarray[Any, Any]:
    field, written = _FIELDS[dt]
    if field == "float8_val":
        return np.frombuffer(tensor.float8_val, dt.np).copy()
    values = getattr(tensor, field)
    if len(values) <= _PART:
        return _numbers(values, field, dt, written)
    # A part at a time: NumPy takes them by one call, during which no other thread runs.
    if dt.is_complex and len(values) % 2:
        raise ValueError(f"{field} holds half a complex number")
    parts = (values[begin : begin + _PART] for begin in range(0, len(values), _PART))
    return np.concatenate([_numbers(part, field, dt, written) for part in parts])


def _numbers(values: Sequence[Any], field: str, dt: DType, written: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The elements of a field as an array."""
    given: np.ndarray[Any, Any] = np.array(values)
    if dt in dtypes.SMALL_INTEGER_DTYPES:
        small = given.astype(dt.np)
        if not np.array_equal(small.astype(given.dtype), given):
            raise ValueError(f"{field} holds a number out of range for {dt.name}")
        return small
    numbers = given.astype(written)
    if written.kind in "iu" and not np.array_equal(numbers, given):
        raise ValueError(f"{field} holds a number out of range for {dt.name}")
    if dt.is_complex and numbers.size % 2:
        raise ValueError(f"{field} holds half a complex number")
    return numbers.view(dt.np)


def _padded(
    values: np.ndarray[Any, Any], count: int, zero: Any, dims: tuple[int, ...], unrolled: int
) -> np.ndarray[Any, Any]:
    """`values` with the last one (or `zero`, if there is none) repeated up to `count` elements."""
    if values.size < 2 and count * values.itemsize > unrolled:
        return np.broadcast_to(values[-1:] if values.size else np.array([zero], values.dtype), (count,))
    if values.size == count:
        return values
    if values.size > count:
        raise ValueError(f"{values.size} elements do not fit the shape {format_dims(dims)}")
    if count * values.itemsize > _MAX_CONTENT:
        raise ValueError(
            f"{values.size} elements stand for the shape {format_dims(dims)}, which is larger than 2GB"
        )
    padded = np.empty(count, values.dtype)
    padded[: values.size] = values
    padded[values.size :] = values[-1] if values.size else zero
    return padded


def string_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """The raw form of a string tensor: every length as a varint, then every string's bytes."""
    flat = array.ravel()
    heads, bodies = [], []
    for begin in range(0, flat.size, _PART):
        items = [as_bytes(item) for item in flat[begin : begin + _PART].tolist()]
        lengths = list(map(len, items))
        heads.append(bytes(lengths) if max(lengths) < 0x80 else b"".join(map(_varint, lengths)))
        bodies.append(b"".join(items))
    return b"".join((*heads, *bodies))


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def strings_from_bytes(buf: bytes | bytearray | memoryview, n: int) -> np.ndarray[Any, Any]:
    """The `n` strings of a raw string tensor, as an object array of shape [n].

    Raises ValueError where `buf` ends too early or too late.
    """
    lengths, end = _lengths(buf, n)
    result = string_arrays.empty(n)
    for first in range(0, n, _PART):
        ends = list(accumulate(lengths[first : first + _PART], initial=end))
        end = ends[-1]
        if end <= len(buf):
            if end - ends[0] <= _LARGE_PART:
                items = [bytes(buf[begin:until]) for begin, until in pairwise(ends)]
            else:
                items = [bytes_of(memoryview(buf)[begin:until]) for begin, until in pairwise(ends)]
            result[first : first + _PART] = items
    if end != len(buf):
        raise ValueError(f"{n} strings end at byte {end}, but there are {len(buf)} bytes")
    return result


def _lengths(buf: bytes | bytearray | memoryview, n: int) -> tuple[Sequence[int], int]:
    """The first `n` varints of `buf`, and where they end."""
    if n > len(buf):
        raise ValueError(f"{n} strings need at least {n} bytes, but there are {len(buf)}")
    head = bytes(buf[:n])
    if head.isascii():
        return head, n
    lengths = []
    position = 0
    for _ in range(n):
        number = shift = 0
        while True:
            if position == len(buf) or shift > 63:
                raise ValueError("A string's length does not end")
            byte = buf[position]
            position += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        lengths.append(number)
    return lengths, position
