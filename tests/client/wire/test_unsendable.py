"""Values that cannot be sent: an error for their step, which keeps back no other frame."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors, tensor_util
from tensorfleet.wire import buffers, frames, shared_memory
from tensorfleet.wire.connection import Connection, cork
from tensorfleet.wire.frames import Kind, encode, unpack_error
from tensorfleet.wire.reader import Reader


class Handle:
    """Something that is no tensor."""


class NoMemory:
    """A tensor whose bytes there is no memory for."""

    dtype = np.dtype(np.float32)
    shape = (7,)
    nbytes = 28

    def tobytes(self) -> bytes:
        raise MemoryError("28 bytes")


@pytest.mark.skipif(not shared_memory.SUPPORTED, reason="needs memory files")
def test_a_frame_that_cannot_be_sent_keeps_no_shared_memory() -> None:
    arena = shared_memory.Arena(4 << 20)
    large = np.zeros(1 << 20, np.uint8)
    for _ in range(10):
        with pytest.raises(errors.OpError):
            encode(Kind.RESULT, 1, tensors=[large, Handle()], arena=arena)
    assert arena.lent == 0
    assert arena.put(large) is not None
    arena.close()


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (Handle(), errors.INVALID_ARGUMENT, "A Handle is no tensor"),
        (np.zeros(3, "datetime64[s]"), errors.INVALID_ARGUMENT, "datetime64"),
        (NoMemory(), errors.RESOURCE_EXHAUSTED, r"float32 tensor of shape \[7\] is sent: 28 bytes"),
    ],
    ids=["no tensor", "no such type", "no memory"],
)
def test_encode_says_what_cannot_be_sent(value: Any, code: int, text: str) -> None:
    with pytest.raises(errors.OpError, match=text) as caught:
        encode(Kind.RESULT, 1, tensors=[np.float32(1), value])
    assert caught.value.error_code == code


@pytest.fixture
def pair() -> Any:
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    connection = Connection(ours)
    yield connection, Reader(theirs)
    connection.close()
    theirs.close()


@pytest.mark.parametrize("value", [np.zeros((1,) * 33), np.zeros((1,) * 64, np.int32)], ids=["33", "64"])
def test_tensors_of_the_highest_ranks_travel(pair: Any, value: Any) -> None:
    connection, reader = pair
    connection.send(encode(Kind.RESULT, 1, tensors=[value]))
    (got,) = reader.read().tensors
    assert got.shape == value.shape


def test_one_bad_tensor_ends_its_step_and_no_other(pair: Any) -> None:
    connection, reader = pair
    with cork():
        connection.push(1, 5, np.float32(2))
        connection.push(2, 6, NoMemory())
        connection.push(2, 7, np.float32(3))
        connection.push(3, 8, np.float32(4))
    frames = [reader.read() for _ in range(3)]
    assert [(f.kind, f.number) for f in frames] == [(Kind.PUSH, 1), (Kind.ABORT, 2), (Kind.PUSH, 3)]
    assert unpack_error(frames[1]).error_code == errors.RESOURCE_EXHAUSTED


def test_no_tensor_is_refused_by_push(pair: Any) -> None:
    connection, reader = pair
    with cork():
        connection.push(1, 5, np.float32(2))
        with pytest.raises(errors.InvalidArgumentError, match="Handle is no tensor"):
            connection.push(1, 6, Handle())
    assert reader.read().detail == 5


@pytest.mark.parametrize("kind", ["numbers", "strings"])
def test_a_tensor_without_memory_leaves_the_connection_in_order(
    pair: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The reader skips the frame; what follows is read."""
    connection, reader = pair
    large = np.zeros(100_000, np.float32) if kind == "numbers" else np.array([b"x" * 100_000] * 3, object)
    connection.send(encode(Kind.RUN, 7, tensors=[np.float32(1), large, np.zeros(50_000, np.int8)]))
    connection.send(encode(Kind.RUN, 8, tensors=[np.float32(5)]))

    def none(*_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(buffers.SHARED, "take", none)
        patch.setattr(tensor_util, "strings_from_bytes", none)
        with pytest.raises(frames.FrameTooLarge) as caught:
            reader.read()
    assert caught.value.number == 7
    assert "Out of memory for a received tensor" in caught.value.reason
    reader.skip(caught.value)
    assert reader.read().tensors == [5]


def test_tensors_longer_than_their_frame_are_refused_before_memory_is_taken(pair: Any) -> None:
    connection, reader = pair
    head = frames.DESCRIPTOR.pack(1, 1, 4 << 30) + (1 << 30).to_bytes(8, "little")
    connection.send([frames.HEADER.pack(Kind.RUN, 0, 1, len(head), 1, 1, 16) + head + bytes(16)])
    with pytest.raises(ValueError, match="larger than it says"):
        reader.read()
