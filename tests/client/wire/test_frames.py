"""Frames over socket pairs: what is sent arrives, what is no frame is refused, and senders never wait."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet.wire.connection import Connection
from tensorfleet.wire.frames import (
    DEAD,
    DESCRIPTOR,
    HEADER,
    TRACE,
    Frame,
    Kind,
    encode,
    encode_with_meta,
    pack_error,
    unpack_error,
)
from tensorfleet.wire.limits import MAX_HEAD_BYTES, MAX_SEND_BUFFERS, READ_BUFFER_BYTES, SMALL_BYTES
from tensorfleet.wire.reader import Reader
from tests.client.wire.sockets import TIMEOUT, Pair, in_thread, join


def transfer(pair: Pair, buffers: Sequence[Any], frames: int = 1) -> list[Frame]:
    """Sends the bytes on one side, and reads the frames on the other."""
    sender = in_thread(pair[0].sendall, b"".join(buffers))
    reader = Reader(pair[1])
    result = [reader.read() for _ in range(frames)]
    join(sender)
    assert not reader.buffered
    return result


def same(got: Any, sent: Any) -> None:
    """Same values bit by bit, same shape, same dtype; a number stays a number."""
    assert isinstance(got, np.generic) == (sent.shape == () and sent.dtype != object)
    assert got.dtype == sent.dtype
    assert got.shape == sent.shape
    if sent.dtype == object:
        assert got.tolist() == sent.tolist()
    else:
        assert got.tobytes() == sent.tobytes()


DTYPES = [
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float16,
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e5m2,
    ml_dtypes.int4,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
]


def values(dtype: Any, shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape))
    return (np.arange(count) % 100 + 1).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_dtypes_and_ranks(pair: Pair, dtype: Any) -> None:
    sent = [
        values(dtype, ())[()],
        values(dtype, (5,)),
        values(dtype, (2, 3, 4)),
        values(dtype, (0,)),
        values(dtype, (3, 0, 2)),
        values(dtype, (6, 8))[::2, ::-3],
        np.broadcast_to(values(dtype, (3,)), (4, 3)),
        values(dtype, (4, 5)).T,
        np.broadcast_to(values(dtype, ())[()], (50_000,)),
    ]
    (frame,) = transfer(pair, encode(Kind.RESULT, 7, 8, b"", sent))
    assert (frame.kind, frame.number, frame.detail, frame.meta, frame.flags) == (Kind.RESULT, 7, 8, b"", 0)
    for got, value in zip(frame.tensors, sent, strict=True):
        same(got, value)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_single_tensor(pair: Pair, dtype: Any, shape: tuple[int, ...]) -> None:
    sent = values(dtype, shape)[()]
    (frame,) = transfer(pair, encode(Kind.PUSH, 1, 2, b"", [sent]))
    same(frame.tensors[0], sent)


def strings(items: Any, shape: tuple[int, ...]) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)


@pytest.mark.parametrize(
    "sent",
    [
        strings([b"alone"], ()),
        strings([b""], ()),
        strings([], (0,)),
        strings([], (2, 0)),
        strings([b"a", b"", b"\x00\xff", b"x" * 127], (2, 2)),
        strings([b"y" * 128, b"z" * 70_000, b""], (3,)),
        strings([str(i).encode() for i in range(24)], (2, 3, 4))[:, ::-1, ::2],
    ],
    ids=lambda value: str(value.shape),
)
def test_strings(pair: Pair, sent: Any) -> None:
    (frame,) = transfer(pair, encode(Kind.RUN, 1, 0, b"", [sent, sent]))
    for got in frame.tensors:
        same(got, sent)


@pytest.mark.parametrize("tensors", [[], [np.float32(3)], [np.arange(3), np.int64(4)]], ids=len)
@pytest.mark.parametrize("meta", [b"", b"m", b"n" * 100_000], ids=len)
def test_metas(pair: Pair, meta: bytes, tensors: list[Any]) -> None:
    (frame,) = transfer(pair, encode_with_meta(Kind.RUN, 1, 2, meta, tensors, TRACE))
    assert frame.meta == meta
    assert frame.flags & TRACE
    assert not frame.flags & DEAD
    for got, sent in zip(frame.tensors, tensors, strict=True):
        same(got, sent)


def test_numbers_are_one_write() -> None:
    assert len(encode(Kind.PUSH, 1, 2, b"", [np.float32(1)])) == 1
    assert len(encode(Kind.PUSH, 1, 2, b"", [np.ones(100), np.ones(100)])) == 1


def test_large_tensors_are_not_copied_to_be_sent() -> None:
    sent = np.ones(SMALL_BYTES, np.float32)
    _, payload = encode(Kind.PUSH, 1, 2, b"", [sent])
    assert np.shares_memory(np.frombuffer(payload, np.uint8), sent)


def test_several_frames_in_one_write(pair: Pair) -> None:
    buffers = [b for i in range(100) for b in encode(Kind.PUSH, i, 2 * i, b"", [np.full(i, i)])]
    for i, frame in enumerate(transfer(pair, buffers, 100)):
        assert (frame.number, frame.detail) == (i, 2 * i)
        same(frame.tensors[0], np.full(i, i))


def test_frames_byte_by_byte(pair: Pair) -> None:
    sent = [np.float64(1.5), np.arange(7, dtype=np.int16), strings([b"ab", b"c"], (2,)), np.float32(-2)]
    data = b"".join(
        [
            *encode(Kind.CALL, 1, 2, b"meta"),
            *encode_with_meta(Kind.RUN, 3, 4, b"more", sent),
            *encode(Kind.PUSH, 5, 6, b"", [np.float32(7)]),
            *encode(Kind.ABORT, 8, 9),
        ]
    )
    # The next byte is sent when the reader asks for it: every read gets exactly one.
    reader = Reader(OneByteSocket(data))  # type: ignore[arg-type]
    frames = [reader.read() for _ in range(4)]
    assert [(f.kind, f.number, f.detail, f.meta) for f in frames] == [
        (Kind.CALL, 1, 2, b"meta"),
        (Kind.RUN, 3, 4, b"more"),
        (Kind.PUSH, 5, 6, b""),
        (Kind.ABORT, 8, 9, b""),
    ]
    for got, value in zip(frames[1].tensors, sent, strict=True):
        same(got, value)
    same(frames[2].tensors[0], np.float32(7))


class OneByteSocket:
    """A socket that hands out one byte a call."""

    def __init__(self, data: bytes) -> None:
        self._data = iter(data)

    def recv_into(self, view: memoryview, size: int = 0, flags: int = 0) -> int:
        for byte in self._data:
            view[0] = byte
            return 1
        return 0


def test_large_tensors_through_a_connection(pair: Pair) -> None:
    connection = Connection(pair[0], "large")
    rng = np.random.default_rng(1)
    sent = [rng.random((3, 1 << 17)), np.float32(1), rng.random((1 << 18, 2), np.float32), np.arange(3)]
    received: list[Frame] = []
    reader = Reader(pair[1])
    thread = in_thread(lambda: received.extend(reader.read() for _ in range(3)))
    for i in range(3):
        connection.send(encode(Kind.RESULT, i, 0, b"", sent))
    join(thread)
    connection.close()
    for i, frame in enumerate(received):
        assert frame.number == i
        for got, value in zip(frame.tensors, sent, strict=True):
            same(got, value)


def test_a_frame_of_more_buffers_than_one_system_call_takes(pair: Pair) -> None:
    count = MAX_SEND_BUFFERS * 3 + 1
    sent = [np.full(SMALL_BYTES, i, np.int16) for i in range(count)]
    connection = Connection(pair[0], "many")
    connection.send(encode(Kind.RESULT, 1, 0, b"", sent))
    frame = Reader(pair[1]).read()
    connection.close()
    for got, value in zip(frame.tensors, sent, strict=True):
        same(got, value)


# ---------------------------------------------------------------------------- what is no frame


def raw(kind: int, count: int, head: bytes, payload: bytes, head_size: int | None = None) -> bytes:
    size = len(head) if head_size is None else head_size
    return HEADER.pack(kind, 0, count, size, 1, 2, len(payload)) + head + payload


def descriptor(enum: int, dims: tuple[int, ...], size: int) -> bytes:
    return DESCRIPTOR.pack(enum, len(dims), size) + struct.pack(f"<{len(dims)}Q", *dims)


FLOAT, STRING, RESOURCE = 1, 7, 20

WRONG = {
    "head too large": raw(Kind.CALL, 0, b"", b"", MAX_HEAD_BYTES + 1),
    "text": b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
    "ones": b"\xff" * 100,
    "tensors without descriptors": raw(Kind.PUSH, 1, b"", bytes(4)),
    "too few descriptors": raw(Kind.PUSH, 2, descriptor(FLOAT, (), 4), bytes(8)),
    "cut descriptor": raw(Kind.PUSH, 1, descriptor(FLOAT, (3,), 12)[:-1], bytes(12)),
    "unknown dtype": raw(Kind.PUSH, 1, descriptor(99, (1,), 4), bytes(4)),
    "resource": raw(Kind.PUSH, 1, descriptor(RESOURCE, (), 8), bytes(8)),
    "rank too high": raw(Kind.PUSH, 1, DESCRIPTOR.pack(FLOAT, 200, 4) + bytes(1600), bytes(4)),
    "more bytes than numbers": raw(Kind.PUSH, 1, descriptor(FLOAT, (3,), 16), bytes(16)),
    "fewer bytes than numbers": raw(Kind.PUSH, 1, descriptor(FLOAT, (3,), 8), bytes(8)),
    "half a number": raw(Kind.PUSH, 1, descriptor(FLOAT, (1,), 3), bytes(3)),
    "number of many bytes": raw(Kind.PUSH, 1, descriptor(FLOAT, (), 400), bytes(400)),
    "number of no bytes": raw(Kind.PUSH, 1, descriptor(FLOAT, (), 0), b""),
    "large and too short": raw(
        Kind.PUSH, 1, descriptor(FLOAT, (READ_BUFFER_BYTES,), READ_BUFFER_BYTES), bytes(READ_BUFFER_BYTES)
    ),
    "product of dimensions overflows": raw(Kind.PUSH, 1, descriptor(FLOAT, (1 << 63, 1 << 63), 4), bytes(4)),
    "beyond all memory": raw(Kind.PUSH, 1, descriptor(FLOAT, (1 << 58,), 1 << 60), bytes(4)),
    "strings larger than the payload": raw(Kind.PUSH, 1, descriptor(STRING, (1,), 6 << 30), b""),
    "numbers larger than the payload": raw(Kind.PUSH, 1, descriptor(FLOAT, (1 << 28,), 1 << 30), bytes(4)),
    "a payload larger than the tensors": raw(Kind.PUSH, 1, descriptor(FLOAT, (1,), 4), bytes(8)),
    "too many strings": raw(Kind.PUSH, 1, descriptor(STRING, (5,), 3), b"\0\0\0"),
    "strings end early": raw(Kind.PUSH, 1, descriptor(STRING, (2,), 4), b"\1\7ab"),
    "strings end late": raw(Kind.PUSH, 1, descriptor(STRING, (1,), 4), b"\1abc"),
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_frame(pair: Pair, data: bytes) -> None:
    sender = in_thread(pair[0].sendall, data)
    with pytest.raises(ValueError, match=r"frame|tensor|string"):
        Reader(pair[1]).read()
    join(sender)


def test_the_end_of_the_stream_anywhere(pair: Pair) -> None:
    whole = b"".join(
        encode_with_meta(
            Kind.RUN, 1, 2, b"meta", [np.float32(1), np.arange(3, dtype=np.int16), strings([b"xy"], (1,))]
        )
    )
    for length in range(len(whole)):
        one, other = socket.socketpair()
        with one, other:
            one.sendall(whole[:length])
            one.shutdown(socket.SHUT_WR)
            other.settimeout(TIMEOUT)
            with pytest.raises(EOFError):
                Reader(other).read()


def test_the_end_of_the_stream_in_a_large_tensor(pair: Pair) -> None:
    whole = b"".join(encode(Kind.PUSH, 1, 2, b"", [np.ones(1 << 18)]))

    def send() -> None:
        pair[0].sendall(whole[:-1])
        pair[0].shutdown(socket.SHUT_WR)

    sender = in_thread(send)
    with pytest.raises(EOFError):
        Reader(pair[1]).read()
    join(sender)


def test_a_silent_peer_is_a_timeout(pair: Pair) -> None:
    pair[1].settimeout(0.01)
    with pytest.raises(TimeoutError):
        Reader(pair[1]).read()


def test_errors_travel() -> None:
    for sent in (errors.AbortedError(None, None, "gone ü"), errors.InvalidArgumentError(None, None, "")):
        code, text = pack_error(sent)
        got = unpack_error(Frame(Kind.ERROR, 0, 1, code, text, ()))
        assert type(got) is type(sent)
        assert got.message == sent.message
