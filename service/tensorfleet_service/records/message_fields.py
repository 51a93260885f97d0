"""Chosen fields of serialized protobuf messages, read and written without the messages as objects.

An object loses what DecodeProtoV2 and EncodeProto have to keep: whether a number of proto3 that is zero was
written, a field of a submessage as the bytes that came, and values of enums that the enum does not have.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from google.protobuf.descriptor import FieldDescriptor

from tensorfleet.checkpoint import varint
from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet_service.records.columns import object_array
from tensorfleet_service.records.spans import integers

Array = np.ndarray[Any, Any]

_VARINT, _FIXED64, _LENGTH, _GROUP, _END_GROUP, _FIXED32 = range(6)
_SIZES = {_FIXED64: 8, _FIXED32: 4}
_PACKED = {"<f8": "<d", "<f4": "<f", "<u8": "<Q", "<u4": "<I", "<i4": "<i", "<i8": "<q"}
_MAX_NUMBER = (1 << 29) - 1
_MAX_DEPTH = 100  # of groups in groups, as protobuf has it
_F = FieldDescriptor


@dataclass(frozen=True)
class _Kind:
    """A field type: its name, its wire type, and the dtypes that can have its values, the narrowest first.

    `stored` is the dtype of a number of this type, little-endian where its size is fixed.
    """

    name: str
    wire: int
    dtypes: tuple[DType, ...]
    stored: str = "O"


_INT32, _INT64 = (dtypes.int32, dtypes.int64), (dtypes.int64,)
_UINT32, _UINT64 = (dtypes.uint32, dtypes.uint64), (dtypes.uint64,)
_TEXT = (dtypes.string,)
_KINDS: dict[int, _Kind] = {
    _F.TYPE_DOUBLE: _Kind("double", _FIXED64, (dtypes.float64,), "<f8"),
    _F.TYPE_FLOAT: _Kind("float", _FIXED32, (dtypes.float32, dtypes.float64), "<f4"),
    _F.TYPE_INT64: _Kind("int64", _VARINT, _INT64, "i8"),
    _F.TYPE_UINT64: _Kind("uint64", _VARINT, _UINT64, "u8"),
    _F.TYPE_INT32: _Kind("int32", _VARINT, _INT32, "i4"),
    _F.TYPE_FIXED64: _Kind("fixed64", _FIXED64, _UINT64, "<u8"),
    _F.TYPE_FIXED32: _Kind("fixed32", _FIXED32, _UINT32, "<u4"),
    _F.TYPE_BOOL: _Kind("bool", _VARINT, (dtypes.bool,), "?"),
    _F.TYPE_STRING: _Kind("string", _LENGTH, _TEXT),
    _F.TYPE_GROUP: _Kind("group", _GROUP, _TEXT),
    _F.TYPE_MESSAGE: _Kind("message", _LENGTH, _TEXT),
    _F.TYPE_BYTES: _Kind("bytes", _LENGTH, _TEXT),
    _F.TYPE_UINT32: _Kind("uint32", _VARINT, _UINT32, "u4"),
    _F.TYPE_ENUM: _Kind("enum", _VARINT, (dtypes.int32,), "i4"),
    _F.TYPE_SFIXED32: _Kind("sfixed32", _FIXED32, _INT32, "<i4"),
    _F.TYPE_SFIXED64: _Kind("sfixed64", _FIXED64, _INT64, "<i8"),
    _F.TYPE_SINT32: _Kind("sint32", _VARINT, _INT32, "i4"),
    _F.TYPE_SINT64: _Kind("sint64", _VARINT, _INT64, "i8"),
}


class Field:
    """A field of a message type, whose values are of a dtype.

    Attributes:
        number: its number in messages.
        repeated: whether it may have several values.
        default: the value where it has none.
    """

    def __init__(self, descriptor: FieldDescriptor, dtype: DType) -> None:
        self.number = descriptor.number
        self.repeated = descriptor.is_repeated
        self._dtype = dtype
        self._kind = _KINDS[descriptor.type]
        self._is_signed = descriptor.type in (_F.TYPE_SINT32, _F.TYPE_SINT64)
        self._is_packed = self.repeated and descriptor.is_packed
        self.default = self._default(descriptor)

    def _default(self, descriptor: FieldDescriptor) -> Any:
        if self._kind.stored == "O":
            given = None if self.repeated else descriptor.default_value
            return given.encode() if isinstance(given, str) else given or b""
        return 0 if self.repeated else descriptor.default_value

    @property
    def type_name(self) -> str:
        """The name of its type in definitions of messages."""
        return self._kind.name

    @property
    def number_name(self) -> str:
        """The name of the type of its values in C++, however they are coded."""
        if self.is_number and self._kind.name != "enum":
            kind = np.dtype(self._kind.stored)
            return {"f8": "double", "f4": "float", "b1": "bool"}.get(kind.str[1:], kind.name)
        return {"bytes": "string", "group": "message"}.get(self._kind.name, self._kind.name)

    @property
    def fits(self) -> bool:
        """Whether values of the dtype can be those of the field."""
        return self._dtype in self._kind.dtypes

    @property
    def is_number(self) -> bool:
        """Whether it has numbers; else strings, or messages."""
        return self._kind.stored != "O"

    # Reading

    def takes(self, wire: int) -> bool:
        """Whether its value may be in this form: as its type has it, or as a list of such numbers."""
        return wire == self._kind.wire or (wire == _LENGTH and self.is_number)

    def values(self, pieces: Sequence[Sequence[bytes]]) -> tuple[Array, Array]:
        """The values of all messages, one after the other, and the count of each message.

        Args:
            pieces: for each message the parts that `split` found.

        Raises:
            ValueError: a list of numbers ends inside of one.
        """
        if not self.is_number:
            kept = pieces if self.repeated else [found[-1:] for found in pieces]
            return object_array(list(chain.from_iterable(kept))), np.array(list(map(len, kept)), np.int64)
        joined = [b"".join(found) for found in pieces]
        if self._kind.wire == _VARINT:
            numbers, found = integers(joined)
            counts = np.array(found, np.int64)
            values = self._from_varints(numbers)
        else:
            size = _SIZES[self._kind.wire]
            if any(len(piece) % size for piece in chain.from_iterable(pieces)):
                raise ValueError("a list of numbers ends inside of one")
            values = np.frombuffer(b"".join(joined), self._kind.stored)
            counts = np.array([len(piece) // size for piece in joined], np.int64)
        if not self.repeated:  # the last one counts
            has = counts > 0
            values, counts = values[np.cumsum(counts)[has] - 1], has.astype(np.int64)
        return values.astype(self._dtype.np), counts

    def _from_varints(self, numbers: Array) -> Array:
        stored = np.dtype(self._kind.stored)
        if stored.kind == "b":
            return np.not_equal(numbers, 0)
        if not self._is_signed:
            return numbers.astype(stored)
        coded = numbers.astype(f"u{stored.itemsize}")  # 0, -1, 1, -2, … are written as 0, 1, 2, 3, …
        numbers = (coded >> 1).astype(stored)
        numbers ^= -(coded & 1).astype(stored)
        return numbers

    # Writing

    def written(self, values: Array) -> bytes:
        """The field with these values, of rank 1, as it is in a message."""
        write = self._writer()
        items = values.tolist() if not self.is_number else values.astype(self._kind.stored).tolist()
        if self._is_packed:
            content = b"".join(map(write, items))
            return self._tag(_LENGTH) + varint.encode(len(content)) + content if items else b""
        tag = self._tag(self._kind.wire)
        return b"".join(tag + write(item) for item in items)

    def _tag(self, wire: int) -> bytes:
        return varint.encode(self.number << 3 | wire)

    def _writer(self) -> Callable[[Any], bytes]:
        kind = self._kind
        if kind.wire == _LENGTH:
            return lambda item: varint.encode(len(item)) + item
        if kind.wire == _GROUP:
            end = self._tag(_END_GROUP)
            return lambda item: bytes(item) + end
        if kind.wire != _VARINT:
            return struct.Struct(_PACKED[kind.stored]).pack
        if self._is_signed:
            return lambda item: varint.encode(item << 1 if item >= 0 else (-item << 1) - 1)
        return lambda item: varint.encode(item & 0xFFFF_FFFF_FFFF_FFFF)


def split(message: bytes, fields: dict[int, Field]) -> dict[int, list[bytes]]:
    """The parts of a message that belong to some fields, by the fields' numbers.

    A part is what stands between a tag, a length, and the next tag: a number, packed numbers, a string, or
    the content of a message. Parts in a form that the field's type does not have are left out.

    Raises:
        ValueError: it is no message.
    """
    found: dict[int, list[bytes]] = {number: [] for number in fields}
    place, end = 0, len(message)
    while place < end:
        number, wire, place = _read_tag(message, place)
        start, stop, place = _extent(message, number, wire, place)
        field = fields.get(number)
        if field is not None and field.takes(wire):
            found[number].append(message[start:stop])
    return found


def _read_tag(message: bytes, place: int) -> tuple[int, int, int]:
    tag, place = varint.decode(message, place)
    number = tag >> 3
    if not 0 < number <= _MAX_NUMBER:
        raise ValueError(f"{number} is not the number of a field")
    return number, tag & 7, place


def _extent(message: bytes, number: int, wire: int, place: int) -> tuple[int, int, int]:
    """Begin and end of the value at `place`, and the position after it."""
    if wire == _GROUP:
        return _group_extent(message, number, place)
    start = place
    if wire == _VARINT:
        place = varint.decode(message, place)[1]
    elif wire == _LENGTH:
        size, start = varint.decode(message, place)
        place = start + size
    elif wire in _SIZES:
        place += _SIZES[wire]
    else:
        raise ValueError(f"{wire} is not the type of a value")
    if place > len(message):
        raise ValueError("a value is cut off")
    return start, place, place


def _group_extent(message: bytes, number: int, place: int) -> tuple[int, int, int]:
    start, before = place, place
    inside = [number]
    while inside:
        if len(inside) > _MAX_DEPTH:
            raise ValueError(f"groups are nested more than {_MAX_DEPTH} deep")
        before = place
        number, wire, place = _read_tag(message, place)
        if wire == _GROUP:
            inside.append(number)
        elif wire == _END_GROUP:
            if inside.pop() != number:
                raise ValueError("a group ends that has not begun")
        else:
            place = _extent(message, number, wire, place)[2]
    return start, before, place
