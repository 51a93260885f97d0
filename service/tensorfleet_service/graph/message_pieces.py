"""Large messages read, written and copied in pieces: protobuf does each by one call, which no thread
interrupts.

A message's bytes are its fields one after the other, and to merge the bytes of two is to read them joined. So
the fields are merged about a megabyte at a time; of one that is larger, its own fields; of packed numbers,
some of them. What has no parts, a string or bytes, is copied by one call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tensorfleet.proto import function_pb2
from tensorfleet.proto.tensor_pb2 import TensorProto

Apart = dict[tuple[str, int], memoryview]
"""The bytes of tensors, by the name of a message's repeated field, and the place in it."""

PIECE = 1 << 20
"""Number of bytes from which on a message is read in pieces, and of each of these, about."""

LARGEST = 1 << 31
"""Number of bytes from which on protobuf writes and reads no message."""

MANY = 1 << 12
"""Number of messages in a field from which on they are written one by one."""

_LOOKED_AT = 64
"""Number of messages in a field of which it is seen whether they have many themselves."""

_MAX_DEPTH = 8
"""Messages within messages that are read in pieces; what is deeper is read by one call."""

_SHORT = 1 << 15  # bytes; more than a field with a length of two bytes has
_LENGTH = 2  # the wire type of what comes with its length
_FIXED = {
    FieldDescriptor.TYPE_DOUBLE: 8,
    FieldDescriptor.TYPE_FIXED64: 8,
    FieldDescriptor.TYPE_SFIXED64: 8,
    FieldDescriptor.TYPE_FLOAT: 4,
    FieldDescriptor.TYPE_FIXED32: 4,
    FieldDescriptor.TYPE_SFIXED32: 4,
}
_BY_LENGTH = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)

_Message = TypeVar("_Message", bound=Message)


def parse(message: type[_Message], data: bytes, apart: Apart | None = None) -> _Message:
    """The message of bytes.

    Args:
        apart: gets the bytes of large tensors, which are left empty in the message. For messages whose
            tensors are in repeated fields, or in messages there.

    Raises:
        DecodeError: they are not such a message.
    """
    if len(data) < 2 * PIECE:
        return message.FromString(data)
    made = message()
    _merge(made, data, 0, len(data), 0, apart)
    return made


def merge(made: Message, data: bytes) -> None:
    """Merges the fields in bytes into a message. Raises as `parse`."""
    _merge(made, data, 0, len(data), 0)


def _merge(
    made: Any,
    data: bytes,
    begin: int,
    end: int,
    depth: int,
    apart: Apart | None = None,
    place: tuple[str, int] | None = None,
) -> None:
    """Merges the fields in `data[begin:end]`; `place` is that in a field of the whole message."""
    fields = made.DESCRIPTOR.fields_by_number
    for tag, first, content, after in pieces(data, begin, end):
        field = fields.get(tag >> 3) if tag and depth < _MAX_DEPTH else None
        if field is not None:
            here = place
            if apart is not None and not depth and field.is_repeated and field.message_type is not None:
                here = field.name, len(getattr(made, field.name))
            _merge_large(made, field, data, first, content, after, depth, apart, here)
        else:
            made.MergeFromString(data[first:after])  # and says what is wrong with what is no field


def pieces(data: bytes | memoryview, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """What is in `data[begin:end]`, the fields of a message, in their order.

    Each is either a large field that comes with its length (its tag, where that begins, where its content
    does, and where that ends), or, with 0 for the tag, about a megabyte of other fields at most. The last one
    may hold what is no field.
    """
    done = at = begin
    while True:
        # The quick way over what nearly all fields are: a tag of one byte, and a length of one or two.
        stop = min(done + PIECE, end - _SHORT)
        while at < stop and data[at] & 0x87 == _LENGTH:
            size = data[at + 1]
            if size < 0x80:
                at += size + 2
            elif data[at + 2] < 0x80:
                at += (size & 0x7F) + (data[at + 2] << 7) + 3
            else:
                break
        if at - done < PIECE:
            found = next(_fields(data, at, end), None)
            if found is None:
                break
            tag, first, content, at = found
            if at - content > PIECE and tag & 7 == _LENGTH:
                if done < first:
                    yield 0, done, done, first
                yield tag, first, content, at
                done = at
        if at - done >= PIECE:
            yield 0, done, done, at
            done = at
    if done < end:
        yield 0, done, done, end


def _merge_large(
    made: Any,
    field: FieldDescriptor,
    data: bytes,
    first: int,
    content: int,
    after: int,
    depth: int,
    apart: Apart | None,
    place: tuple[str, int] | None,
) -> None:
    """Merges one field, whose tag begins at `first`."""
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        _merge_entry(made, field, data, content, after, depth)
    elif field.message_type is not None:
        if field.is_repeated:
            part = getattr(made, field.name).add()
        else:
            part = getattr(made, field.name)
            part.SetInParent()
        if apart is not None and place is not None and field.message_type is TensorProto.DESCRIPTOR:
            apart[place] = memoryview(data)[content:after]
        else:
            _merge(part, data, content, after, depth + 1, apart, place)
    elif field.is_repeated and field.type not in _BY_LENGTH:
        for part in packed(field, memoryview(data)[content:after], PIECE):
            made.MergeFromString(part)
    else:
        made.MergeFromString(data[first:after])


def packed(field: Any, data: memoryview, size: int) -> Iterator[bytes]:
    """The bytes of messages that have some of a field's packed numbers each, of about so many bytes."""
    tag, width = _encoded(field.number << 3 | _LENGTH), _FIXED.get(field.type, 0)
    begin, end = 0, len(data)
    while begin < end:
        until = min(begin + (size // width * width if width else size), end)
        while until < end and not width and data[until - 1] & 0x80 and until - begin < size + 16:
            until += 1  # to the end of a number
        yield tag + _encoded(until - begin) + bytes(data[begin:until])
        begin = until


def _merge_entry(made: Any, field: FieldDescriptor, data: bytes, begin: int, end: int, depth: int) -> None:
    """Sets an entry of a map, whose last key counts, and which replaces one with the same key."""
    entry = field.message_type
    assert entry is not None
    key, value = entry.fields_by_number[1], entry.fields_by_number[2]
    found = list(_fields(data, begin, end))
    known = all(tag >> 3 in (1, 2) and tag & 7 == _LENGTH for tag, *_ in found)
    whole = bool(found) and found[-1][3] == end
    if not known or not whole or value.message_type is None or key.type != FieldDescriptor.TYPE_STRING:
        made.MergeFromString(_encoded(field.number << 3 | _LENGTH) + _encoded(end - begin) + data[begin:end])
        return
    # The entry with an empty value is read first, so that protobuf looks at the key.
    small = b"".join(data[first:after] for tag, first, _, after in found if tag >> 3 == 1)
    made.MergeFromString(_encoded(field.number << 3 | _LENGTH) + _encoded(len(small)) + small)
    names = [data[content:after] for tag, _, content, after in found if tag >> 3 == 1]
    part = getattr(made, field.name)[names[-1].decode() if names else ""]
    for tag, _, content, after in found:
        if tag >> 3 == 2:
            _merge(part, data, content, after, depth + 1)


def _fields(data: bytes | memoryview, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields in `data[begin:end]`: tag, where it begins, where its content does, and where that ends.

    It ends before what is no field; the content of numbers is given as empty.
    """
    while begin < end:
        # Nearly all fields have a tag, and a length, of one or two bytes.
        tag, at = data[begin], begin + 1
        if tag & 0x80:
            tag, at = _varint(data, begin, end)
        kind = tag & 7
        if at < 0:
            return
        if kind == _LENGTH:
            if at >= end:
                return
            size = data[at]
            at += 1
            if size & 0x80:
                size, at = _varint(data, at - 1, end)
            after = at + size
        elif kind == 0:
            _, at = _varint(data, at, end)
            after = at
        elif kind == 1:
            after = at = at + 8
        elif kind == 5:
            after = at = at + 4
        else:
            return
        if at < 0 or after > end:
            return
        yield tag, begin, at, after
        begin = after


def _varint(data: bytes | memoryview, begin: int, end: int) -> tuple[int, int]:
    """The number at a place, and where it ends; -1 if it does not."""
    value = shift = 0
    for at in range(begin, min(end, begin + 10)):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at + 1
        shift += 7
    return 0, -1


def _encoded(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


class Joined:
    """A message, and the bytes of fields that it has besides, in pieces."""

    def __init__(self, message: Message, pieces: list[bytes]) -> None:
        self.message = message
        self.pieces = pieces

    def ByteSize(self) -> int:
        return self.message.ByteSize() + sum(map(len, self.pieces))


def with_length(number: int, pieces: list[bytes]) -> list[bytes]:
    """The bytes of a field that comes with its length, in pieces, of those of its content."""
    return [_encoded(number << 3 | _LENGTH) + _encoded(sum(map(len, pieces))), *pieces]


def serialize(message: Message | Joined) -> bytes:
    """The bytes of a message; where it has very many nodes, or what is said about these, one by one.

    Raises:
        EncodeError, ValueError: it has more than protobuf's 2 GiB.
    """
    if isinstance(message, Joined):
        if message.ByteSize() >= LARGEST:
            raise ValueError("it has more than 2 GiB")
        return b"".join((serialize(message.message), *message.pieces))
    if not _has_many(message):
        return bytes(message.SerializeToString())
    rest = type(message)()
    parts: list[bytes] = []
    own = dict(_parts(message))
    for field, value in message.ListFields():
        if field.name in own:
            tag = _encoded(field.number << 3 | _LENGTH)
            few = not field.is_repeated or len(value) < MANY
            for part in value if field.is_repeated else (value,):
                data = serialize(part) if few else part.SerializeToString()
                parts += (tag, _encoded(len(data)), data)
        elif field.is_repeated or field.message_type is not None:
            getattr(rest, field.name).MergeFrom(value)
        else:
            setattr(rest, field.name, value)
    return b"".join((rest.SerializeToString(), *parts))


_WITH_MANY = frozenset(
    (
        *("GraphDef", "NodeDef", "FunctionDefLibrary", "FunctionDef"),
        *("RunMetadata", "StepStats", "DeviceStepStats", "NodeExecStats"),
    )
)
"""The messages that may be very many, and those that have such."""


_known_parts: dict[str, list[tuple[str, bool]]] = {}


def _parts(message: Message) -> list[tuple[str, bool]]:
    """The fields of a message that may have very many parts, and whether each is repeated."""
    descriptor = message.DESCRIPTOR
    found = _known_parts.get(descriptor.full_name)
    if found is None:
        found = _known_parts[descriptor.full_name] = [
            (field.name, field.is_repeated)
            for field in descriptor.fields
            if field.message_type is not None and field.message_type.name in _WITH_MANY
        ]
    return found


def _has_many(message: Any) -> bool:
    for name, is_repeated in _parts(message):
        if not is_repeated:
            if message.HasField(name) and _has_many(getattr(message, name)):
                return True
        else:
            values = getattr(message, name)
            if len(values) >= MANY or any(_has_many(value) for value in values[:_LOOKED_AT]):
                return True
    return False


def copied(function: function_pb2.FunctionDef) -> function_pb2.FunctionDef:
    """A copy of a function, node by node if they are many."""
    made = function_pb2.FunctionDef()
    if len(function.node_def) < MANY:
        made.CopyFrom(function)
        return made
    made.signature.CopyFrom(function.signature)
    for name in ("ret", "control_ret"):
        getattr(made, name).update(getattr(function, name))
    for name in ("attr", "arg_attr", "resource_arg_unique_id"):
        getattr(made, name).MergeFrom(getattr(function, name))
    for begin in range(0, len(function.node_def), MANY):
        made.node_def.extend(function.node_def[begin : begin + MANY])
    return made
