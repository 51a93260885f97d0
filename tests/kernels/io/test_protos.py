"""DecodeProtoV2 and EncodeProto: sources of definitions, limits, and what is read and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2

import tensorfleet as tf
from tensorfleet.core import dtypes, errors
from tensorfleet_service.kernels.io import protos
from tests.kernels.harness import run_op

_F = descriptor_pb2.FieldDescriptorProto


def definitions() -> descriptor_pb2.FileDescriptorSet:
    """Two files, the one that imports the other first."""
    leaf = descriptor_pb2.FileDescriptorProto(name="leaf.proto", package="p")
    leaf.message_type.add(name="Leaf").field.add(
        name="x", number=1, type=_F.TYPE_SINT64, label=_F.LABEL_REPEATED
    )
    top = descriptor_pb2.FileDescriptorProto(name="top.proto", package="p", dependency=["leaf.proto"])
    message = top.message_type.add(name="Top")
    message.field.add(name="leaf", number=1, type=_F.TYPE_MESSAGE, type_name=".p.Leaf", label=1)
    message.field.add(name="t", number=2, type=_F.TYPE_STRING, label=1, default_value="none")
    message.field.add(name="g", number=3, type=_F.TYPE_GROUP, type_name=".p.Leaf", label=1)
    return descriptor_pb2.FileDescriptorSet(file=[top, leaf])


SOURCE = b"bytes://" + definitions().SerializeToString()


def strings(*items: bytes) -> Any:
    return np.array(items, object)


def decode(messages: Any, fields: dict[str, dtypes.DType], kind: bytes = b"p.Top", **attrs: Any) -> Any:
    attrs = {"descriptor_source": SOURCE, "message_type": kind, **attrs}
    names = [name.encode() for name in fields]
    return run_op("DecodeProtoV2", messages, field_names=names, output_types=list(fields.values()), **attrs)


def encode(values: Any, name: str, kind: bytes, count: int | None = None, source: bytes = SOURCE) -> Any:
    sizes = np.full((*values.shape[:-1], 1), values.shape[-1] if count is None else count, np.int32)
    attrs = {"message_type": kind, "descriptor_source": source}
    return run_op("EncodeProto", sizes, [values], field_names=[name.encode()], **attrs)


def test_what_is_encoded_is_decoded() -> None:
    numbers = np.array([[0, -1, 2**62], [-(2**63), 2**63 - 1, 5]])
    leaves = encode(numbers, "x", b"p.Leaf")
    tops = encode(leaves.reshape(2, 1), "leaf", b"p.Top")
    sizes, found, text = decode(tops, {"leaf": dtypes.string, "t": dtypes.string})
    assert sizes.tolist() == [[1, 0], [1, 0]]
    assert text.tolist() == [[b"none"], [b"none"]]
    assert found.tolist() == leaves.reshape(2, 1).tolist()
    sizes, again = decode(found, {"x": dtypes.int64}, b"p.Leaf")
    assert sizes.tolist() == [[[3]], [[3]]]
    assert again.tolist() == numbers.reshape(2, 1, 3).tolist()


def test_a_group_is_read_to_its_own_end() -> None:
    groups = encode(strings(b"\x08\x06").reshape(1, 1), "g", b"p.Top")
    assert groups.tolist() == [b"\x1b\x08\x06\x1c"]
    found = decode(strings(b"\x1b\x2b\x1b\x1c\x2c\x1c", groups[0]), {"g": dtypes.string})[1]
    assert found.tolist() == [[b"\x2b\x1b\x1c\x2c"], [b"\x08\x06"]]
    for wrong in (b"\x1b" * 200, b"\x1b\x2b\x1c", b"\x1c", b"\x1b"):
        with pytest.raises(errors.DataLossError, match=r"group|cut off|type of a value"):
            decode(strings(wrong), {"g": dtypes.string})


def test_the_source_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "set.pb"
    path.write_bytes(definitions().SerializeToString())
    source = str(path).encode()
    assert decode(strings(b""), {"t": dtypes.string}, descriptor_source=source)[1].tolist() == [[b"none"]]
    with pytest.raises(errors.NotFoundError, match=r"gone\.pb"):
        decode(strings(b""), {"t": dtypes.string}, descriptor_source=str(tmp_path / "gone.pb").encode())


def test_a_large_file_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "set.pb"
    path.write_bytes(definitions().SerializeToString() + bytes(1000))
    monkeypatch.setattr(protos, "MAX_DESCRIPTORS", 500)
    with pytest.raises(errors.ResourceExhaustedError, match="more than 500 bytes"):
        decode(strings(b""), {"t": dtypes.string}, descriptor_source=str(path).encode())


def test_a_long_message_makes_no_tensor_over_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protos, "MAX_VALUES", 2000)
    long = encode(np.zeros((1, 1000), np.int64), "x", b"p.Leaf")[0]
    assert decode(strings(long, b""), {"x": dtypes.int64}, b"p.Leaf")[1].shape == (2, 1000)
    with pytest.raises(errors.ResourceExhaustedError, match="decode fewer messages"):
        decode(strings(long, b"", b""), {"x": dtypes.int64}, b"p.Leaf")


def test_definitions_that_are_not_complete_say_what_is_missing() -> None:
    found = definitions()
    del found.file[1]
    with pytest.raises(errors.InvalidArgumentError, match=r"leaf\.proto.*--include_imports"):
        decode(strings(b""), {"t": dtypes.string}, descriptor_source=b"bytes://" + found.SerializeToString())
    wrong = definitions()
    wrong.file[0].message_type[0].field[0].type_name = ".p.Nothing"
    with pytest.raises(errors.InvalidArgumentError, match=r"top\.proto"):
        decode(strings(b""), {"t": dtypes.string}, descriptor_source=b"bytes://" + wrong.SerializeToString())


def test_deep_texts_are_an_error_of_the_message() -> None:
    deep = b"file { message_type {" + b"nested_type {" * 5000
    with pytest.raises(errors.DataLossError, match="Unable to parse text protobuf"):
        decode(
            strings(deep),
            {"file": dtypes.string},
            b"google.protobuf.FileDescriptorSet",
            descriptor_source=b"local://",
            message_format=b"text",
        )


@pytest.mark.parametrize("scope", ["tensorflow", "tensorfleet"])
def test_the_messages_of_tensorflow_are_known_by_their_names(scope: str) -> None:
    value = tf.Summary.Value(tag="loss", simple_value=2.5).SerializeToString()
    fields = {"simple_value": dtypes.float64, "tag": dtypes.string}
    found = decode(strings(value), fields, f"{scope}.Summary.Value".encode(), descriptor_source=b"local://")
    assert [x.tolist() for x in found] == [[[1, 1]], [[2.5]], [[b"loss"]]]


def test_a_session_decodes() -> None:
    message = tf.train.Int64List(value=[3, 4]).SerializeToString()
    decoded = tf.io.decode_proto([message, b""], "tensorflow.Int64List", ["value"], [tf.int64])
    back = tf.io.encode_proto(decoded.sizes, decoded.values, ["value"], "tensorflow.Int64List")
    with tf.Session() as session:
        values, again = session.run([decoded.values[0], back])
    assert values.tolist() == [[3, 4], [0, 0]]
    assert again.tolist() == [message, b""]
