"""Every message and enum that we share with TensorFlow has TensorFlow's names, numbers and types.

Both libraries are imported into this one process, which is itself part of what is tested. TensorFlow ships no
Python modules for the messages of its two services; their descriptors are read from its shared library.
"""

from __future__ import annotations

import importlib
import mmap
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool

import tensorfleet.proto

tensorflow = pytest.importorskip("tensorflow")

SERVICE_FILES = ("tensorflow/core/protobuf/master.proto", "tensorflow/core/protobuf/worker.proto")

# TensorFlow's fields that we do not declare; their numbers are reserved.
LEFT_OUT = {
    "TensorInfo": {"composite_tensor"},
    "MetaGraphDef": {"object_graph_def"},
    "RecvTensorRequest": {"transport_options"},
    "RecvTensorResponse": {"transport_options"},
}

# Of TensorFleet, gRPC, TensorBoard, and of TensorFlow 1's contrib.
OTHERS = ("fleet_pb2", "health_pb2", "projector_config_pb2", "session_bundle_pb2")


def ours() -> Iterator[Any]:
    """Yields the descriptors of our messages and enums, nested ones too, but not those of other protocols."""
    for info in pkgutil.iter_modules(tensorfleet.proto.__path__):
        if info.name in OTHERS:
            continue
        file = importlib.import_module(f"tensorfleet.proto.{info.name}").DESCRIPTOR
        yield from file.enum_types_by_name.values()
        pending = list(file.message_types_by_name.values())
        while pending:
            message = pending.pop(0)
            yield message
            yield from message.enum_types
            pending.extend(message.nested_types)


OURS = {descriptor.full_name.removeprefix("tensorfleet."): descriptor for descriptor in ours()}
MESSAGES = sorted(name for name, descriptor in OURS.items() if hasattr(descriptor, "fields"))
ENUMS = sorted(OURS.keys() - set(MESSAGES))


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def embedded_file(library: mmap.mmap, name: str) -> bytes:
    """Returns the serialised FileDescriptorProto of `name` that the C++ code in `library` registers."""
    # Field 1 is the name, field 2 the package. The end is where no field of a FileDescriptorProto follows.
    begin = library.find(b"\x0a" + bytes([len(name)]) + name.encode() + b"\x12\x0atensorflow")
    assert begin >= 0, f"{name} is not in TensorFlow's library"
    data = library[begin : begin + 100_000]
    length_delimited = {number << 3 | 2 for number in (1, 2, 3, 4, 5, 6, 7, 8, 12)}
    end = 0
    while data[end] in length_delimited:
        last = data[end] >> 3 == 12  # `syntax`, written last
        size, at = varint(data, end + 1)
        end = at + size
        if last:
            break
    return data[:end]


@pytest.fixture(scope="module")
def theirs() -> descriptor_pool.DescriptorPool:
    """Returns a pool that has all of TensorFlow's messages."""
    for folder in ("framework", "protobuf", "util"):
        package = f"tensorflow.core.{folder}"
        for info in pkgutil.iter_modules([str(Path(tensorflow.__file__).parent / "core" / folder)]):
            if info.name.endswith("_pb2"):
                importlib.import_module(f"{package}.{info.name}")
    importlib.import_module("tensorflow.python.checkpoint.checkpoint_management")
    pool = descriptor_pool.Default()
    with (
        (Path(tensorflow.__file__).parent / "libtensorflow_cc.so.2").open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as library,
    ):
        for name in SERVICE_FILES:
            pool.AddSerializedFile(embedded_file(library, name))
    return pool


def type_name(field: Any) -> str:
    """Returns the message or enum of a field without the package that it is in; empty for scalars."""
    of = field.message_type or field.enum_type
    return of.full_name.removeprefix("tensorflow.").removeprefix("tensorfleet.") if of else ""


def oneof_name(field: Any) -> str | None:
    """Returns the oneof that was declared around a field; that of an `optional` field is not one."""
    oneof = field.containing_oneof
    return None if oneof is None or oneof.name == f"_{field.name}" else str(oneof.name)


def facts(field: Any) -> tuple[object, ...]:
    return (
        field.number,
        field.json_name,
        field.type,
        field.is_repeated,
        field.is_packed,
        # Presence means nothing in the entries of a map; they differ only by the syntax of the file.
        field.has_presence and not field.containing_type.GetOptions().map_entry,
        type_name(field),
        oneof_name(field),
    )


def test_the_two_libraries_share_something() -> None:
    assert len(MESSAGES) > 150
    assert {"GraphDef", "RunStepRequest", "RecvTensorRequest", "ConfigProto.Experimental"} <= set(MESSAGES)
    assert {"DataType", "error.Code"} <= set(ENUMS)


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name: str, theirs: descriptor_pool.DescriptorPool) -> None:
    expected = theirs.FindMessageTypeByName(f"tensorflow.{name}")
    left_out = LEFT_OUT.get(name, set())
    assert {field.name: facts(field) for field in OURS[name].fields} == {
        field.name: facts(field) for field in expected.fields if field.name not in left_out
    }


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_numbers_of_left_out_fields_are_reserved(name: str, theirs: descriptor_pool.DescriptorPool) -> None:
    declared = descriptor_pb2.DescriptorProto()
    OURS[name].CopyToProto(declared)
    reserved = {number for span in declared.reserved_range for number in range(span.start, span.end)}
    expected = theirs.FindMessageTypeByName(f"tensorflow.{name}")
    assert {expected.fields_by_name[field].number for field in LEFT_OUT[name]} <= reserved


@pytest.mark.parametrize("name", ENUMS)
def test_enum(name: str, theirs: descriptor_pool.DescriptorPool) -> None:
    expected = theirs.FindEnumTypeByName(f"tensorflow.{name}")
    assert {value.name: value.number for value in OURS[name].values} == {
        value.name: value.number for value in expected.values
    }
