"""Tensors read from the bytes of their messages, by parts where these are large.

Protobuf copies each string and each field of bytes by one call, and what is taken out of a message is copied
again: half a second for 256 MiB, in which no other thread of the process runs. Here, large contents are
never in a message.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.descriptor import FieldDescriptor

from tensorfleet.core import string_arrays, tensor_util
from tensorfleet.core.long_texts import bytes_of
from tensorfleet.proto.tensor_pb2 import TensorProto
from tensorfleet.proto.tensor_shape_pb2 import TensorShapeProto
from tensorfleet_service.graph import message_pieces

_FIELDS = TensorProto.DESCRIPTOR.fields_by_name
_NUMBERS: dict[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for kind, names in {
        "<f4": ("float_val", "scomplex_val"),
        "<f8": ("double_val", "dcomplex_val"),
        "<i4": ("int_val", "half_val"),
        "<i8": ("int64_val",),
        "<u4": ("uint32_val",),
        "<u8": ("uint64_val",),
        "?": ("bool_val",),
    }.items()
    for name in names
}
"""The fields with elements one by one, and what these are."""

_BY_TAG = {_FIELDS[name].number << 3 | 2: name for name in _NUMBERS}
_CONTENT, _FLOAT8, _STRING = (
    _FIELDS[name].number << 3 | 2 for name in ("tensor_content", "float8_val", "string_val")
)
_VARINTS = 1 << 16
"""Number of bytes of numbers of several lengths that are read at a time."""

_FIXED = (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE)


class _Fields:
    """What a message has, in the form in which `tensor_util` reads one."""

    def __init__(self) -> None:
        self.dtype = 0
        self.tensor_shape = TensorShapeProto()
        self.tensor_content: Any = b""
        self.float8_val: Any = b""
        self.string_val: Any = ()
        self.numbers: dict[str, list[Any]] = {}

    def __getattr__(self, name: str) -> Any:
        dtype = _NUMBERS.get(name)
        if dtype is None:
            raise AttributeError(name)
        return np.concatenate([np.empty(0, dtype), *self.numbers.pop(name, ())])


def array(data: bytes | memoryview) -> np.ndarray[Any, Any]:
    """The array in the bytes of a `TensorProto`.

    Raises:
        DecodeError: they are no such message.
        TypeError, ValueError: as `tensor_util.make_ndarray`.
    """
    if len(data) >= 2 * message_pieces.PIECE:
        fields: Any = _read(memoryview(data))
        if fields is not None:
            return tensor_util.make_ndarray(fields)
    return tensor_util.make_ndarray(message_pieces.parse(TensorProto, bytes_of(data)))


def _read(data: memoryview) -> _Fields | None:
    """The fields; None where there are variants, which are messages themselves."""
    made, strings = _Fields(), string_arrays.Gathered()
    for tag, first, content, after in message_pieces.pieces(data, 0, len(data)):
        if tag == _CONTENT:
            made.tensor_content = data[content:after]
        elif tag == _FLOAT8:
            made.float8_val = data[content:after]
        elif tag == _STRING:
            strings.add([bytes_of(data[content:after])])
        elif tag in _BY_TAG:
            name = _BY_TAG[tag]
            made.numbers.setdefault(name, []).extend(_packed(name, data[content:after]))
        else:
            part = TensorProto.FromString(bytes_of(data[first:after]))
            if part.variant_val:
                return None
            made.dtype = part.dtype or made.dtype
            made.tensor_shape.MergeFrom(part.tensor_shape)
            made.tensor_content = part.tensor_content or made.tensor_content
            made.float8_val = part.float8_val or made.float8_val
            strings.add(list(part.string_val))
            for name in _NUMBERS:
                if values := getattr(part, name):
                    made.numbers.setdefault(name, []).extend(_listed(name, values))
    made.string_val = strings.taken()
    return made


def _packed(name: str, data: memoryview) -> list[Any]:
    """The numbers of a field in their packed form, as arrays."""
    field, dtype = _FIELDS[name], _NUMBERS[name]
    if field.type in _FIXED and len(data) % dtype.itemsize == 0:
        return [np.frombuffer(data, dtype)]
    return [
        found
        for part in message_pieces.packed(field, data, _VARINTS)
        for found in _listed(name, getattr(TensorProto.FromString(part), name))
    ]


def _listed(name: str, values: Any) -> list[Any]:
    return [np.array(values[i : i + _VARINTS], _NUMBERS[name]) for i in range(0, len(values), _VARINTS)]
