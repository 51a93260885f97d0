"""decode_proto and encode_proto: the values, shapes and errors of TensorFlow."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow")

import numpy as np
import tensorflow.compat.v1 as real
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import tensorfleet as fleet

real.disable_v2_behavior()

pytestmark = pytest.mark.slow

_F = descriptor_pb2.FieldDescriptorProto
_TYPES = {name[len("TYPE_") :].lower(): number for name, number in _F.Type.items() if number != _F.TYPE_GROUP}


def _definitions(syntax: str) -> descriptor_pb2.FileDescriptorSet:
    """A message with a field of each type, single and repeated ("r_…")."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{syntax}.proto", package="p", syntax=syntax)
    enum = file.enum_type.add(name="E")
    enum.value.add(name="A", number=0)
    enum.value.add(name="B", number=5)
    message = file.message_type.add(name="M")
    for name, number in _TYPES.items():
        for repeated in (False, True):
            field = message.field.add(name="r_" * repeated + name, number=number + 20 * repeated, type=number)
            field.label = _F.LABEL_REPEATED if repeated else _F.LABEL_OPTIONAL
            field.type_name = {"enum": ".p.E", "message": ".p.M"}.get(name, "")
            if not field.type_name:
                field.ClearField("type_name")
    if syntax == "proto2":
        message.field.add(name="number", number=60, type=5, label=1, default_value="42")
        message.field.add(name="text", number=61, type=9, label=1, default_value="hey")
        message.field.add(name="packed", number=62, type=5, label=3).options.packed = True
        message.extension_range.add(start=100, end=200)
        file.extension.add(name="ext", number=101, type=5, label=1, extendee=".p.M")
    return descriptor_pb2.FileDescriptorSet(file=[file])


_PROTO2, _PROTO3 = (_definitions(f"proto{version}") for version in (2, 3))
_SOURCES = {2: b"bytes://" + _PROTO2.SerializeToString(), 3: b"bytes://" + _PROTO3.SerializeToString()}
_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_PROTO2.file[0])  # type: ignore[no-untyped-call]
_MESSAGE: Any = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("p.M"))


def _outcome(tf: Any, make: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            tensors = make(tf)
            found = [np.asarray(value) for value in session.run(tensors)]
            return [t.shape.as_list() for t in tensors], [(x.dtype, x.shape, x.tolist()) for x in found]
        except tf.errors.OpError as e:
            return type(e).__name__, e.message
        except ValueError as e:
            return type(e).__name__, ""


def _same(make: Any, message: bool = True) -> Any:
    """The outcome, which is TensorFlow's, with the first line of an error's message."""
    ours, theirs = _outcome(fleet, make), _outcome(real, make)
    if isinstance(theirs[0], str):
        assert ours[0] == theirs[0], (ours, theirs)
        assert not message or ours[1].split("\n")[0] in theirs[1]
    else:
        assert ours == theirs
    return ours


def _decode(messages: Any, fields: dict[str, str], version: int = 2, **attrs: Any) -> Any:
    def make(tf: Any) -> Any:
        types = [getattr(tf, dtype) for dtype in fields.values()]
        given = {"message_type": "p.M", "descriptor_source": _SOURCES[version], **attrs}
        decoded = tf.io.decode_proto(messages, field_names=list(fields), output_types=types, **given)
        return [decoded.sizes, *decoded.values]

    return make


def _encode(sizes: Any, fields: dict[str, Any], version: int = 2) -> Any:
    return lambda tf: [
        tf.io.encode_proto(sizes, list(fields.values()), list(fields), "p.M", _SOURCES[version])
    ]


_FULL = _MESSAGE(int32=3, r_int32=[1, 2, 3], string="x", message=_MESSAGE(int32=9), packed=[4, 5])
_ALL = {name: "string" if name in ("string", "bytes", "message") else name for name in _TYPES} | {
    **{"double": "float64", "float": "float32", "enum": "int32", "fixed32": "uint32", "fixed64": "uint64"},
    **{"sfixed32": "int32", "sfixed64": "int64", "sint32": "int32", "sint64": "int64"},
}
_EXTREMES = _MESSAGE(
    double=1e300,
    float=-2.5,
    int64=-(2**63),
    uint64=2**64 - 1,
    int32=-(2**31),
    fixed64=2**64 - 1,
    fixed32=2**32 - 1,
    bool=True,
    string="ä",
    bytes=b"\xff",
    message=_MESSAGE(int32=1),
    uint32=2**32 - 1,
    enum=5,
    sfixed32=-5,
    sfixed64=-6,
    sint32=-(2**31),
    sint64=-(2**63),
)
for _name in _TYPES:
    getattr(_EXTREMES, f"r_{_name}").extend([getattr(_EXTREMES, _name)] * 2)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("prefix", ["", "r_"])
def test_fields_of_every_type(prefix: str, version: int) -> None:
    fields = {prefix + name: dtype for name, dtype in _ALL.items()}
    messages = [[_EXTREMES.SerializeToString(), b""], [_FULL.SerializeToString()] * 2]
    found = _same(_decode(messages, fields, version))
    sizes = np.array(found[1][0][2])
    values = {name: np.array(x[2], x[0]) for name, x in zip(fields, found[1][1:], strict=True)}
    written = _same(_encode(sizes.astype(np.int32), values, version))
    again = _same(_decode(np.array(written[1][0][2], object), fields, version))
    assert again[1] == found[1]


def test_dtypes_that_do_not_fit() -> None:
    for name in _TYPES:
        for dtype in ("float32", "float64", "int32", "int64", "uint32", "uint64", "bool", "string"):
            _same(_decode([b""], {name: dtype}))
            value = np.array([[b""]], object) if dtype == "string" else np.zeros((1, 1), dtype)
            _same(_encode([[1]], {name: value}))


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (
            _FULL.SerializeToString(),
            {"r_int32": "int32", "packed": "int32", "number": "int64", "text": "string"},
        ),
        (_FULL.SerializeToString(), {}),
        (
            _FULL.SerializeToString() + _MESSAGE(int32=4, message=_MESSAGE()).SerializeToString(),
            {"int32": "int32"},
        ),
        (b"\xca\x01\x02\x01\x02\xc8\x01\x05", {"r_int32": "int32"}),  # packed and not
        (b"\xca\x01\x02\x01\x80", {"r_int32": "int32"}),
        *[
            (wrong, {"int32": "int32"})
            for wrong in (b"\x08", b"\xff\xff", b"\x00", b"\x0c", b"\x0b", b"\x28\x03\x80")
        ],
        (b"\x0b\x28\x03\x0c\x28\x04", {"int32": "int32"}),  # a group that is not asked for
        (b"\x4a\x7fabc", {"string": "string"}),
        (b"\x29" + b"\1" * 8, {"int32": "int32"}),  # of another type
        (b"\x28\xff\xff\xff\xff\x7f", {"int32": "int64"}),  # more than 32 bits
        (b"\x70\x09", {"enum": "int32"}),
        (b"\x28\x00", {"int32": "int32"}),
        (b"\x4a\x01\xff", {"string": "string"}),
        (b"\xa8\x06\x07", {"p.ext": "int32"}),
        (b"", {"p.M": "int32"}),
        (b"", {"nope": "int32"}),
    ],
)
def test_messages(message: bytes, fields: dict[str, str]) -> None:
    for version in (2, 3):
        for sanitize in (False, True):
            _same(_decode([message], fields, version, sanitize=sanitize), message=message == b"")


def test_texts() -> None:
    fields = {"r_int32": "int32", "int32": "int32", "message": "string"}
    _same(_decode(["int32: 4 r_int32: [1, 2] message { int32: -1 }", ""], fields, message_format="text"))
    _same(_decode(["int32: x"], fields, message_format="text"), message=False)
    _same(_decode(["[p.ext]: 3"], {"p.ext": "int32"}, message_format="text"))


def test_what_cannot_be() -> None:
    one = {"int32": "int32"}
    _same(_decode([b""], one, message_type="p.N"))
    _same(_decode([b""], one, message_format="json"))
    _same(_decode([b""], one, descriptor_source=b"bytes://abc"), message=False)
    _same(_decode(np.zeros((0,), object).astype("S"), one))
    _same(
        _decode(
            [b""], {"simple_value": "float32"}, message_type="tensorflow.Summary.Value", descriptor_source=""
        )
    )


@pytest.mark.parametrize(
    ("sizes", "fields"),
    [
        ([[2, 1]], {"r_int32": [[3, 4]], "int32": [[1]]}),  # in the order of their numbers
        ([[2]], {"int32": [[3, 4]]}),
        ([[0, 3]], {"int32": [[3]], "packed": [[1, 2, 3]]}),
        ([[-1, 0]], {"int32": [[3]], "packed": [[1]]}),
        ([[2, 1]], {"int32": [[3]], "r_int32": [[1]]}),
        ([[1, 1, 1]], {"int32": [[3]], "packed": [[1]]}),
        ([1], {"int32": [3]}),
        ([[1, 1]], {"int32": [[3]], "enum": [[1], [2]]}),
        ([[1]], {"nope": [[3]]}),
        ([[1]], {"string": [["ä"]]}),
        ([[1]], {"int32": np.array([[2**33 + 7]])}),
        ([[1]], {"float": np.array([[1e300]])}),
        (np.zeros((0, 2, 1), np.int32), {"int32": np.zeros((0, 2, 1), np.int32)}),
    ],
)
def test_writing(sizes: Any, fields: dict[str, Any]) -> None:
    for version in (2, 3):
        if version == 2 or "packed" not in fields:
            _same(_encode(sizes, fields, version))
