"""Nodes as the bytes that they are in a serialized GraphDef, made once and kept by their operations.

A program asks for its whole graph again and again: for each summary, checkpoint and export. Of 10,000 nodes,
messages that are filled attribute by attribute take ten times as long as these bytes, which protobuf reads at
once.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import attr_value
from tensorfleet.core.dtypes import DType
from tensorfleet.core.proto_field import field, text

MAX_BYTES = 4096
"""Nodes with a larger constant are not kept in this form: the constant would be in memory twice."""

_MAX_KNOWN = 4096
_MAX_HASHED = 64
_HASHED = frozenset((bool, int, bytes, tuple, type(None)))
_known: dict[Any, bytes] = {}
"""Attributes that many nodes have, encoded; forgotten when they are `_MAX_KNOWN`."""


def encode(
    name: str, op: str, inputs: Sequence[str], device: str, attributes: Mapping[str, Any]
) -> bytes | None:
    """The field `node` of a GraphDef with the node of these parts; None if it holds a large constant."""
    fields = [text(1, name), _op_field(op)]
    for source in inputs:
        fields.append(text(3, source))
    if device:
        fields.append(text(4, device))
    data = encode_attributes(attributes)
    if data is None:
        return None
    fields.append(data)
    return field(1, b"".join(fields))


def encode_attributes(attributes: Mapping[str, Any]) -> bytes | None:
    """The fields `attr` of a NodeDef, by which to tell nodes with equal ones; None with a large constant."""
    fields = []
    for key, value in attributes.items():
        data = _attribute(key, value)
        if data is None:
            return None
        fields.append(data)
    return fields[0] if len(fields) == 1 else b"".join(fields)


@functools.cache
def _op_field(op: str) -> bytes:
    return text(2, op)


def _attribute(key: str, value: Any) -> bytes | None:
    """The field `attr` of a NodeDef; None if the value is large."""
    kind = type(value)
    known: Any = None
    if kind is DType:
        known = key, kind, value.enum  # a DType's own hash is Python code
    elif kind in _HASHED:
        # The kind belongs to it, as True equals 1.
        known = key, kind, value
    elif kind is np.ndarray or isinstance(value, np.generic):
        if value.nbytes > MAX_BYTES:
            return None
        if value.nbytes <= _MAX_HASHED and not value.dtype.hasobject:
            known = key, value.dtype, value.shape, value.strides, value.tobytes()
    if known is not None:
        found = _known.get(known)
        if found is not None:
            return found
    message = attr_value.AttrValue()
    attr_value.to_proto(value, message)
    if message.ByteSize() > MAX_BYTES:
        return None
    data = field(5, text(1, key) + field(2, message.SerializeToString()))
    if known is not None and len(data) < 4 * _MAX_HASHED:
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        _known[known] = data
    return data
