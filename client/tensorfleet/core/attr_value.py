"""Attribute values: between AttrValue messages and plain Python values.

Every value has one Python form, from which its kind can be told without the op's definition:

    string bytes      int  int        float float     bool bool      type DType
    shape  tuple of int | None, or None for an unknown rank          tensor np.ndarray or np.generic
    func   NameAttrList (the message itself)                         list(…) a list of one of these
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes, shapes, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet.proto import attr_value_pb2

AttrValue = attr_value_pb2.AttrValue
NameAttrList = attr_value_pb2.NameAttrList

MAX_ITEMS = 1 << 20
"""Limit on the values of a list."""

MAX_UNROLLED = 16 << 20
"""Bytes up to which a constant of one repeated element becomes an array of its own."""


def to_proto(value: Any, proto: attr_value_pb2.AttrValue) -> None:
    """Sets the message `proto` to an attribute's Python value."""
    kind = type(value)
    if kind is DType:
        proto.type = value.enum
    elif kind is bool:
        proto.b = value
    elif kind is int:
        proto.i = value
    elif kind is bytes:
        proto.s = value
    elif kind is tuple or value is None:
        proto.shape.CopyFrom(shapes.to_proto(value))
    elif kind is float:
        proto.f = value
    elif kind is list:
        proto.list.SetInParent()
        for item in value:
            _append(item, proto.list)
    elif isinstance(value, (np.ndarray, np.generic)):
        proto.tensor.CopyFrom(tensor_util.constant_proto(value))
    elif kind is NameAttrList:
        proto.func.CopyFrom(value)
    else:
        raise TypeError(f"{value!r} is not an attribute value")


def _append(item: Any, values: attr_value_pb2.AttrValue.ListValue) -> None:
    kind = type(item)
    if kind is DType:
        values.type.append(item.enum)
    elif kind is bool:
        values.b.append(item)
    elif kind is int:
        values.i.append(item)
    elif kind is bytes:
        values.s.append(item)
    elif kind is tuple or item is None:
        values.shape.append(shapes.to_proto(item))
    elif kind is float:
        values.f.append(item)
    elif isinstance(item, (np.ndarray, np.generic)):
        values.tensor.append(tensor_util.constant_proto(item))
    elif kind is NameAttrList:
        values.func.append(item)
    else:
        raise TypeError(f"{item!r} is not an attribute value")


def from_proto(proto: attr_value_pb2.AttrValue) -> Any:
    """The Python value of a message; an empty message reads as an empty list.

    Raises:
        ValueError, TypeError: it contradicts itself, or has too many values.
    """
    match proto.WhichOneof("value"):
        case "type":
            return dtypes.from_enum(proto.type)
        case "i":
            return proto.i
        case "b":
            return proto.b
        case "s":
            return proto.s
        case "tensor":
            return tensor_util.array_of(proto.tensor, MAX_UNROLLED)
        case "shape":
            return shapes.from_proto(proto.shape)
        case "f":
            return proto.f
        case "func":
            return proto.func
        case "placeholder":
            raise ValueError(f"Attribute placeholder {proto.placeholder!r} outside of a function body")
    values = proto.list
    for _, items in values.ListFields():
        if len(items) > MAX_ITEMS:
            raise ValueError(f"It is a list of {len(items)} values, of which there may be {MAX_ITEMS}")
    return (
        [dtypes.from_enum(t) for t in values.type]
        or list(values.i)
        or list(values.s)
        or list(values.f)
        or list(values.b)
        or [shapes.from_proto(s) for s in values.shape]
        or [tensor_util.array_of(t, MAX_UNROLLED) for t in values.tensor]
        or list(values.func)
    )
