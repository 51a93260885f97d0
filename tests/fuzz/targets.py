"""Parsers of what comes from outside, each as a function of bytes.

A target returns, or raises what its parser promises to raise; anything else is a defect. Each has *seeds*,
inputs that are right, of which fuzzers make others that are almost so.
"""

from __future__ import annotations

import json
import socket
import struct
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

import tensorfleet as tf
import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.checkpoint import slices, table
from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.checkpoint.bundle_writer import BundleWriter
from tensorfleet.core import attr_value, device, dtypes, errors, tensor_util
from tensorfleet.core.environment import SettingsError
from tensorfleet.core.files import local_path
from tensorfleet.proto import attr_value_pb2, config_pb2, graph_pb2, tensor_pb2
from tensorfleet.proto.example_pb2 import Example
from tensorfleet.proto.feature_pb2 import BytesList, Feature, Features, FloatList, Int64List
from tensorfleet.records import tfrecord
from tensorfleet.wire import hello
from tensorfleet.wire.frames import (
    HEADER,
    MAGIC,
    FrameTooLarge,
    Kind,
    encode,
    encode_pushes,
    encode_with_meta,
    pushed_edges,
    unpack_error,
)
from tensorfleet.wire.reader import Reader
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.devices import ipc, native
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.graph import message_pieces
from tensorfleet_service.kernels.text import regex
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.members import LocalMember
from tensorfleet_service.records import examples, message_fields
from tensorfleet_service.settings import settings
from tensorfleet_service.state.files import ConfinedFiles
from tensorfleet_service.worker.worker import Worker

MAX_ELEMENTS = 1 << 20
"""Inputs whose values are larger than this are right, and would only take the fuzzer's time."""


@dataclass(frozen=True)
class Target:
    """A parser under test.

    Attributes:
        run: parses an input.
        raises: what it may raise.
        seeds: inputs that are right.
    """

    run: Callable[[bytes], object]
    raises: tuple[type[BaseException], ...]
    seeds: Callable[[], list[bytes]]


class _Bytes:
    """A socket that these bytes come from, and that takes whatever is sent."""

    family = socket.AF_INET

    def __init__(self, data: bytes) -> None:
        self._rest = memoryview(data)

    def recv_into(self, view: Any, size: int = 0, flags: int = 0) -> int:
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def sendall(self, data: bytes) -> None:
        """Nobody is there to hear it."""

    def settimeout(self, seconds: float | None) -> None:
        """Nothing here waits."""


def _reader(data: bytes) -> Reader:
    sock: Any = _Bytes(data)
    return Reader(sock)


def frames(data: bytes) -> None:
    """Frames one after the other, those over the limits skipped."""
    reader = _reader(data)
    reader.max_head = reader.max_payload = 1 << 20
    while True:
        try:
            frame = reader.read()
        except FrameTooLarge as e:
            reader.skip(e)
            continue
        for value in frame.tensors:
            assert value.nbytes <= 1 << 23
        if frame.kind == Kind.PUSH_ALL:
            pushed_edges(frame)
        elif frame.kind == Kind.ERROR:
            assert isinstance(unpack_error(frame), errors.OpError)


def _frames() -> list[bytes]:
    tensors = [np.arange(6.0).reshape(2, 3), np.float32(1), np.array([b"a", b"bc"], object), np.zeros((0, 5))]
    made = [
        encode(Kind.RUN, 1, 2, b"", tensors),
        encode_with_meta(Kind.RUN, 1, 2, b"meta", tensors),
        encode_pushes(3, [1, 2], [np.float32(1), np.float32(2)]),
        encode(Kind.ERROR, 1, 3, b"text"),
        encode(Kind.CALL, 1, 3, bytes(100)),
        [HEADER.pack(1, 0, 1, 18, 0, 0, 1 << 40) + bytes(18)],
    ]
    return [b"".join(map(bytes, frame)) for frame in made]


def greeting(data: bytes) -> None:
    """The first frame of a connection."""
    sock: Any = _Bytes(data)
    about, arena = hello.answer_hello(sock, Reader(sock), {"task": "x"})
    assert isinstance(about, dict)
    assert arena is None


def _greetings() -> list[bytes]:
    about = {"task": "/job:worker/replica:0/task:0", "incarnation": 5, "shared_memory": 1 << 28}
    texts = [b"{}", json.dumps(about).encode(), b"[" * 500, b'{"a": 1e999}', b'{"a": ' + b"9" * 4000 + b"}"]
    return [encode(Kind.HELLO, 0, 0, MAGIC + text)[0] for text in texts]


@cache
def _master() -> Master:
    name = "/job:worker/replica:0/task:0"
    worker = Worker(name, task_devices(name, 1, cpus=1, gpus=0), 1, files=ConfinedFiles())
    return Master(lambda handle, _: [LocalMember(worker, handle, True)], lambda _: None)


def graph(data: bytes) -> None:
    """A graph is imported, and its last node made ready to run."""
    made = graph_pb2.GraphDef.FromString(data)
    session = _master().create_session(made, config_pb2.ConfigProto())
    try:
        if made.node:
            session.prepare((), (), (made.node[-1].name,))
    finally:
        _master().close_session(session.handle)


def _graphs() -> list[bytes]:
    found = []
    for make in (_arithmetic, _loop, _strings):
        with tf.Graph().as_default() as made:
            make()
        found.append(made.as_graph_def().SerializeToString())
    return found


def _arithmetic() -> None:
    x = tf.placeholder_with_default([[1.0, 2.0]], [None, 2])
    v = tf.Variable([1.0, 2.0])
    tf.assign_add(v, tf.reduce_sum(tf.matmul(x, tf.ones([2, 2])), 0))


def _loop() -> None:
    tf.while_loop(lambda i: i < 3, lambda i: tf.cond(i > 1, lambda: i + 1, lambda: i + 2), [0])


def _strings() -> None:
    tf.data.Dataset.range(3).map(lambda n: n * 2).make_one_shot_iterator().get_next()
    tf.regex_replace(tf.as_string(tf.range(3)), "1", "x")


def attribute(data: bytes) -> None:
    """An attribute of a node."""
    attr_value.from_proto(attr_value_pb2.AttrValue.FromString(data))


def _attributes() -> list[bytes]:
    values = [1, 2.0, True, b"s", (2, None), None, [1, 2], [b"a"], np.arange(3), tf.float32.base_dtype]
    found = []
    for value in values:
        made = attr_value_pb2.AttrValue()
        attr_value.to_proto(value, made)
        found.append(made.SerializeToString())
    return found


def tensor(data: bytes) -> None:
    """A tensor in a message."""
    array = tensor_util.array_of(tensor_pb2.TensorProto.FromString(data), 1 << 20)
    if array.size <= MAX_ELEMENTS:
        array.tolist()


def _tensors() -> list[bytes]:
    values = [np.arange(6.0).reshape(2, 3), np.float32(1), np.array([b"a", b"bc"], object), np.zeros((0, 5))]
    found = [tensor_util.make_tensor_proto(value) for value in values]
    found.append(tensor_pb2.TensorProto(dtype=1, float_val=[1.0]))
    found[-1].tensor_shape.dim.add(size=1000)
    return [made.SerializeToString() for made in found]


def strings(data: bytes) -> None:
    """A tensor of strings."""
    if data:
        tensor_util.strings_from_bytes(data[1:], data[0])


def sstable(data: bytes) -> None:
    """The index of a checkpoint."""
    table.read(data)


def _tables() -> list[bytes]:
    items = [(b"key%d" % i, b"value" * (i % 7)) for i in range(40)]
    return [table.write([]), table.write(sorted(items)), table.write([(b"", b"x" * 300_000), (b"a", b"")])]


def checkpoint(data: bytes) -> None:
    """A checkpoint with this index, read with the data of a right one."""
    with tempfile.TemporaryDirectory() as directory:
        prefix = str(Path(directory) / "m")
        Path(f"{prefix}.index").write_bytes(data)
        Path(f"{prefix}.data-00000-of-00001").write_bytes(bytes(200))
        with BundleReader(prefix) as reader:
            for name in list(reader.entries)[:20]:
                if np.prod([abs(d) for d in reader.shape(name)], dtype=float) <= MAX_ELEMENTS:
                    reader.read(name)


def _indexes() -> list[bytes]:
    with tempfile.TemporaryDirectory() as directory:
        prefix = str(Path(directory) / "m")
        with BundleWriter(prefix) as writer:
            writer.add("x", np.arange(6.0))
            writer.add("s", np.array([b"a", b"bc"], object))
            writer.add("part", np.arange(2.0), "4 0,2")
        index = Path(f"{prefix}.index").read_bytes()
    # Blocks whose checksum is right: what a fuzzer changes in the file itself goes no further than that.
    items = table.read(index)
    shorter = {key: value[:-1] for key, value in items.items()}
    return [index, table.write(sorted(shorter.items()))]


def cluster(data: bytes) -> None:
    """A ClusterSpec in JSON."""
    settings._cluster_spec(settings._json(data.decode("utf-8", "replace"), "X"), "X")


def _clusters() -> list[bytes]:
    return [
        b'{"ps": ["a:1"], "worker": {"0": "b:2", "5": "[::1]:3"}}',
        b'{"worker": [null]}',
        b'{"a": {"-1": "b:2"}}',
        b"[" * 100_000,
        b'{"a": {"' + b"9" * 5000 + b'": "b:1"}}',
    ]


def device_name(data: bytes) -> None:
    """The name of a device."""
    text = data.decode("utf-8", "replace")
    device.parse(text)
    device.canonical_name(text)


def slice_spec(data: bytes) -> None:
    """The part of a variable that is saved."""
    slices.parse(data.decode("utf-8", "replace"))


def path(data: bytes) -> None:
    """The name of a file, for a task that lets ops use none."""
    text = data.decode("utf-8", "surrogateescape")
    local_path(text)
    ConfinedFiles().open_for_read(text)


def expression(data: bytes) -> None:
    """A pattern, a replacement and a text, with zero bytes between them."""
    pattern, _, rest = data.partition(b"\0")
    rewrite, _, text = rest.partition(b"\0")
    regex.replacer(pattern, rewrite, True)(text)


_FEATURES = {b"a": dtypes.int64, b"b": dtypes.float32, b"c": dtypes.string}


def _columns(data: bytes, compiled: Any) -> object:
    """What parsers make of an Example, beside a good one and alone: for each the values, or the error."""
    before, native.native = native.native, compiled
    try:
        return [
            _outcome(parser, items, defaults)
            for parser, defaults in _parsers()
            for items in ([_examples()[0], data], [data])
        ]
    finally:
        native.native = before


def _parsers() -> list[tuple[examples.ExampleParser, list[Any]]]:
    ragged = [(key, dtype, dtypes.int32) for key, dtype in _FEATURES.items()]
    made: list[tuple[examples.ExampleParser, list[Any]]] = [
        (examples.ExampleParser(list(_FEATURES.items()), [], ragged), [])
    ]
    for dims in ((2,), (None,), (None, 2)):
        dense = [examples.dense_feature(key, dtype, dims) for key, dtype in _FEATURES.items()]
        shape = dims if None not in dims else ()
        defaults: list[Any] = [
            np.full(shape, b"d" if dtype is dtypes.string else 7, dtype.np) for dtype in _FEATURES.values()
        ]
        made.append((examples.ExampleParser([], dense), defaults))
    return made


def _outcome(parser: examples.ExampleParser, items: list[bytes], defaults: list[Any]) -> object:
    try:
        parts = parser.parse(items, (), defaults, len(items) == 1)
    except errors.InvalidArgumentError as e:
        return e.message
    return [
        (value.shape, value.dtype, value.tobytes() if value.dtype != object else value.tolist())
        for part in parts
        for value in part
    ]


def example(data: bytes) -> None:
    """An Example: the compiled scanner and the other one say the same of it."""
    assert _columns(data, native.native) == _columns(data, None)


def _examples() -> list[bytes]:
    features = {
        "a": Feature(int64_list=Int64List(value=[1, 300, -5])),
        "b": Feature(float_list=FloatList(value=[0.5, 2.0])),
        "c": Feature(bytes_list=BytesList(value=[b"x", b"yz" * 20])),
        "other": Feature(int64_list=Int64List(value=[7])),
    }
    made = [dict(list(features.items())[:n]) for n in (4, 1, 0)]
    loose = b"\x0a\x11\x0a\x0f\x0a\x01a\x12\x0a\x1a\x08\x08\x05\x0a\x02\x06\x07\x08\x01"
    serialized = [Example(features=Features(feature=each)).SerializeToString() for each in made]
    return [*serialized, loose]


def records(data: bytes) -> None:
    """A buffer of records, by the compiled module and by Python."""
    found = tfrecord.split_records(data, 0)
    if native.native is not None:
        assert native.native.split_records(data, 0)[:3] == tuple(found)[:3]


@cache
def _shared_gpu() -> ipc.Imports:
    """A receiver that has opened one chunk of another task's GPU; nothing is copied out of it."""
    imports = ipc.Imports(lambda verb, number, meta: None, Traffic())
    chunk: Any = SimpleNamespace(size=1 << 20)
    imports._chunks[1] = chunk, chunk
    return imports


def gpu_place(data: bytes) -> None:
    """Where a tensor lies in a GPU's memory."""
    _shared_gpu().arrived(data)


def _gpu_places() -> list[bytes]:
    return [
        struct.pack("<QQBB", 1, 512, dtypes.float64.enum, 0),
        struct.pack("<QQBB2Q", 1, 1024, dtypes.float32.enum, 2, 16, 1000),
    ]


_VALUES = {
    "half_val": dtypes.int32,
    "float_val": dtypes.float32,
    "double_val": dtypes.float64,
    "int_val": dtypes.int32,
    "string_val": dtypes.string,
    "int64_val": dtypes.int64,
    "bool_val": dtypes.bool,
    "uint32_val": dtypes.uint32,
    "uint64_val": dtypes.uint64,
}


@cache
def _message_fields() -> dict[str, message_fields.Field]:
    known = tensor_pb2.TensorProto.DESCRIPTOR.fields_by_name
    return {name: message_fields.Field(known[name], dtype) for name, dtype in _VALUES.items()}


def message(data: bytes) -> None:
    """The fields of a message: what protobuf reads as well has the same values."""
    fields = _message_fields()
    parts = message_fields.split(data, {field.number: field for field in fields.values()})
    values = {name: field.values([parts[field.number]])[0] for name, field in fields.items()}
    try:
        expected = tensor_pb2.TensorProto.FromString(data)
    except DecodeError:
        return  # a part that was not asked for is not looked into
    for name, found in values.items():
        wanted = np.array(getattr(expected, name), _VALUES[name].np)
        np.testing.assert_array_equal(found, wanted, name)  # one NaN for another


def _messages() -> list[bytes]:
    loose = b"\x3d\0\0\x80\x3f\x39\0\x38\x96\x01"  # numbers that are not packed, and one in a wrong form
    return [_varied_tensor().SerializeToString(), loose, b"\x0b\x13\x14\x0c" + b"\x3a\x02\x80\x01"]


def _varied_tensor() -> tensor_pb2.TensorProto:
    return tensor_pb2.TensorProto(
        half_val=[1, 2],
        float_val=[0.5, -1.0],
        double_val=[2.0],
        int_val=[-1, 300],
        string_val=[b"a", b""],
        int64_val=[-(1 << 63)],
        bool_val=[True, False],
        uint32_val=[1 << 31],
        uint64_val=[1 << 63],
    )


def pieces(data: bytes) -> None:
    """A graph that is read in pieces: as protobuf reads it at once."""
    expected: graph_pb2.GraphDef | None = None
    with suppress(DecodeError):
        expected = graph_pb2.GraphDef.FromString(data)
    found = graph_pb2.GraphDef()
    size, message_pieces.PIECE = message_pieces.PIECE, 20
    try:
        message_pieces.merge(found, data)
    except DecodeError:
        assert expected is None
        return
    finally:
        message_pieces.PIECE = size
    assert expected is not None
    assert found.SerializeToString(deterministic=True) == expected.SerializeToString(deterministic=True)


TARGETS = {
    "pieces": Target(pieces, (), _graphs),
    "message": Target(message, (ValueError,), _messages),
    "example": Target(example, (), _examples),
    "records": Target(
        records, (), lambda: [b"".join(map(tfrecord.framed, (b"", b"abc", b"x" * 50))), tfrecord.framed(b"a")]
    ),
    "frames": Target(frames, (EOFError, ValueError), _frames),
    "greeting": Target(greeting, (EOFError, ValueError, errors.OpError, RecursionError), _greetings),
    "gpu place": Target(gpu_place, (ValueError,), _gpu_places),
    "graph": Target(graph, (errors.OpError, DecodeError), _graphs),
    "attribute": Target(attribute, (ValueError, TypeError, DecodeError), _attributes),
    "tensor": Target(tensor, (ValueError, TypeError, DecodeError), _tensors),
    "strings": Target(strings, (ValueError,), lambda: [b"\3\1\0\2abc", b"\1\x80\1" + bytes(128)]),
    "sstable": Target(sstable, (table.CorruptTable,), _tables),
    "checkpoint": Target(checkpoint, (errors.OpError,), _indexes),
    "cluster": Target(cluster, (SettingsError,), _clusters),
    "device": Target(
        device_name, (ValueError,), lambda: [b"/job:a/replica:0/task:1/device:GPU:0", b"/cpu:0"]
    ),
    "slice": Target(slice_spec, (errors.InvalidArgumentError,), lambda: [b"10 4 0,5:-", b"3 0,1"]),
    "path": Target(path, (errors.OpError, OSError), lambda: [b"/tmp/x", b"file:///a/../b", b"gs://a/b"]),
    "regex": Target(
        expression, (errors.InvalidArgumentError,), lambda: [b"(a+)+$\0[\\1]\0aaab", b"\\pL\0\0x"]
    ),
}
