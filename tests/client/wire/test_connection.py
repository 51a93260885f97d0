"""Connections that never keep a sender waiting, and the memory of what is received."""

from __future__ import annotations

import socket
import threading
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet.wire import buffers, connection
from tensorfleet.wire.connection import Connection, cork
from tensorfleet.wire.frames import Frame, Kind, encode, pushed_edges
from tensorfleet.wire.limits import MAX_PUSHES, SMALL_BYTES
from tensorfleet.wire.reader import Reader
from tests.client.wire.sockets import TIMEOUT, Pair, in_thread, join


def test_sending_does_not_wait_for_the_reader(pair: Pair) -> None:
    connection = Connection(pair[0], "slow reader")
    tensor = np.arange(1 << 17, dtype=np.float64)  # 1 MiB
    count = 50

    def send() -> None:
        for i in range(count):
            connection.send(encode(Kind.PUSH, i, 2 * i, b"", [tensor]))

    # Nobody reads yet: a sender that waited would never come back, and the test would time out.
    sender = in_thread(send)
    join(sender)
    connection.send(encode(Kind.ABORT, count, 0, b"last"))
    reader = Reader(pair[1])
    for i in range(count):
        frame = reader.read()
        assert (frame.number, frame.detail) == (i, 2 * i)
        assert frame.tensors[0][i] == i
        assert np.array_equal(frame.tensors[0], tensor)
    frame = reader.read()
    assert (frame.kind, frame.number, frame.meta) == (Kind.ABORT, count, b"last")
    connection.close()


def test_frames_of_several_threads_stay_whole_and_in_their_order(pair: Pair) -> None:
    connection = Connection(pair[0], "threads")

    def send(thread: int) -> None:
        for i in range(200):
            tensor = np.full(SMALL_BYTES if i % 50 == 0 else 3, i, np.int32)
            connection.send(encode(Kind.PUSH, thread, i, b"", [tensor]))

    threads = [in_thread(send, number) for number in range(4)]
    reader = Reader(pair[1])
    following = [0] * 4
    for _ in range(800):
        frame = reader.read()
        assert frame.detail == following[frame.number]
        assert (frame.tensors[0] == frame.detail).all()
        following[frame.number] += 1
    for thread in threads:
        join(thread)
    connection.close()


def stuffed(sock: socket.socket) -> Connection:
    """A connection whose writer waits for the peer to read."""
    connection = Connection(sock, "stuffed")
    connection.send(encode(Kind.PUSH, 1, 1, b"", [np.zeros(32 << 20, np.uint8)]))
    assert connection._writer is not None
    assert connection._queue
    return connection


def test_close_while_the_writer_waits(pair: Pair) -> None:
    connection = stuffed(pair[0])
    connection.close()
    assert connection._writer is not None
    join(connection._writer)
    assert not connection._queue
    connection.close()  # again is nothing
    with pytest.raises(OSError, match="connection closed"):
        connection.send(encode(Kind.ABORT, 1))


def test_close_while_the_writer_is_idle(pair: Pair) -> None:
    connection = stuffed(pair[0])
    Reader(pair[1]).read()
    connection.close()
    assert connection._writer is not None
    join(connection._writer)


def test_a_peer_that_is_gone(pair: Pair) -> None:
    connection = stuffed(pair[0])
    pair[1].close()
    assert connection._writer is not None
    join(connection._writer)  # it has closed the connection, which the reading thread sees
    with pytest.raises((EOFError, OSError)):
        connection.reader.read()
    with pytest.raises(OSError, match=r"."):
        connection.send(encode(Kind.ABORT, 1))


class Writes:
    """Counts the system calls by which a connection sends."""

    def __init__(self, connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        send = connection._send

        def counted(buffers: list[Any]) -> None:
            self.count += 1
            assert len(buffers) == 1
            send(buffers)

        monkeypatch.setattr(connection, "_send", counted)


def test_held_frames_are_one_write(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Connection(pair[0], "held")
    writes = Writes(connection, monkeypatch)
    reader = Reader(pair[1])
    with cork():
        connection.send(encode(Kind.RUN_GRAPH, 1, 0))
        with cork():
            connection.send(encode(Kind.PUSH, 2, 0, b"", [np.float32(1)]))
        assert writes.count == 0  # the inner block ends within the outer one
        connection.send(encode(Kind.PUSH, 3, 0, b"", [np.arange(3)]))
    assert writes.count == 1
    assert [reader.read().number for _ in range(3)] == [1, 2, 3]
    connection.send(encode(Kind.PUSH, 4, 0))
    assert writes.count == 2
    connection.close()


def test_held_small_tensors_of_a_step_are_one_frame(pair: Pair) -> None:
    connection = Connection(pair[0], "held")
    large = np.arange(100_000)
    with cork():
        connection.send(encode(Kind.RUN_GRAPH, 1, 0))
        connection.push(1, 8, large + 8)
        connection.push(1, 7, np.float32(1.5))
        connection.push(1, 1 << 63, np.array([b"a", b"bc"], object))
        connection.push(1, 6, large + 6)
        connection.push(2, 5, np.arange(3))
        connection.push(1, 9, np.zeros((2, 0), np.int8))
        connection.send(encode(Kind.RESULT, 1))
    reader = Reader(pair[1])
    assert reader.read().kind == Kind.RUN_GRAPH
    frame = reader.read()
    assert (frame.kind, frame.number, pushed_edges(frame)) == (Kind.PUSH_ALL, 1, (7, 1 << 63, 9))
    one, strings, nothing = frame.tensors
    assert (one, list(strings), nothing.shape, nothing.dtype) == (1.5, [b"a", b"bc"], (2, 0), np.int8)
    for edge in (8, 6):
        frame = reader.read()
        assert (frame.kind, frame.number, frame.detail) == (Kind.PUSH, 1, edge)
        np.testing.assert_array_equal(frame.tensors[0], large + edge)
    alone = reader.read()
    assert (alone.kind, alone.number, alone.detail, list(alone.tensors[0])) == (Kind.PUSH, 2, 5, [0, 1, 2])
    assert reader.read().kind == Kind.RESULT
    connection.close()


def test_held_large_tensors_need_no_frame_for_small_ones(pair: Pair) -> None:
    connection = Connection(pair[0], "held")
    with cork():
        connection.push(1, 7, np.arange(100_000))
    frame = Reader(pair[1]).read()
    assert (frame.kind, frame.number, frame.detail, connection.traffic.sent) == (Kind.PUSH, 1, 7, 1)
    connection.close()


def test_held_tensors_that_are_many_are_several_frames(pair: Pair) -> None:
    connection = Connection(pair[0], "held")
    count = 2 * MAX_PUSHES + 1
    with cork():
        for i in range(count):
            connection.push(1, i, np.int64(i))
    reader = Reader(pair[1])
    got: list[tuple[int, int]] = []
    while len(got) < count:
        frame = reader.read()
        edges = pushed_edges(frame) if frame.kind == Kind.PUSH_ALL else (frame.detail,)
        got += zip(edges, map(int, frame.tensors), strict=True)
    assert got == [(i, i) for i in range(count)]
    connection.close()


def test_what_is_not_held_is_sent_at_once(pair: Pair) -> None:
    connection = Connection(pair[0], "open")
    connection.push(1, 7, np.float32(1))
    frame = Reader(pair[1]).read()
    assert (frame.kind, frame.number, frame.detail, frame.tensors) == (Kind.PUSH, 1, 7, [1])
    connection.close()


def test_edges_that_do_not_fit_the_tensors_are_refused() -> None:
    with pytest.raises(ValueError, match="8 bytes do not name the edges of 2 tensors"):
        pushed_edges(Frame(Kind.PUSH_ALL, 0, 1, 0, bytes(8), (np.float32(1), np.float32(2))))


def test_held_large_frames_keep_their_order(pair: Pair) -> None:
    connection = Connection(pair[0], "held")
    with cork():
        for i in range(5):
            connection.send(encode(Kind.PUSH, i, 0, b"", [np.full(1 << 17, i, np.float64)]))
            connection.send(encode(Kind.PUSH, i, 1, b"", [np.int32(i)]))
    reader = Reader(pair[1])
    for i in range(5):
        assert (reader.read().tensors[0] == i).all()
        assert reader.read().tensors == [i]
    connection.close()


def test_held_leaves_the_buffers_of_the_caller_alone() -> None:
    (a, b), (c, d) = socket.socketpair(), socket.socketpair()
    with b, d:
        one, other = Connection(a, "one"), Connection(c, "other")
        abort = encode(Kind.ABORT, 1)
        with cork():
            one.send(abort)
            one.send(encode(Kind.PUSH, 2))
            other.send(abort)  # the same frame to another task
        one.close()
        other.close()
        got = [Reader(b), Reader(d)]
        assert [got[0].read().number, got[0].read().number] == [1, 2]
        assert got[1].read().number == 1
        with pytest.raises(EOFError):
            got[1].read()


def test_held_does_not_report_a_broken_connection(pair: Pair) -> None:
    connection = Connection(pair[0], "held")
    connection.close()
    with cork():
        connection.send(encode(Kind.ABORT, 1))
    with pytest.raises(OSError, match="connection closed"):
        connection.send(encode(Kind.ABORT, 1))


def test_no_address_answers() -> None:
    with pytest.raises(errors.UnavailableError, match=r"unix:@nobody-is-here.*tcp:127\.0\.0\.1:1: "):
        connection.open_socket(["unix:@nobody-is-here", "tcp:127.0.0.1:1"], TIMEOUT)


# ---------------------------------------------------------------------------- receive buffers


MB = 1 << 20


def test_a_buffer_is_used_again_once_nobody_refers_to_it() -> None:
    pool = buffers.Buffers(64 * MB)
    buffer = pool.take(MB)
    address = buffer.ctypes.data
    other = pool.take(MB)
    assert other.ctypes.data != address
    del buffer
    assert pool.take(2 * MB).nbytes == 2 * MB  # its very size only
    assert pool.take(MB).ctypes.data == address


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.view(np.float32),
        lambda a: a.view(np.float32).reshape(-1, 2)[3:5, ::-1].T,
        lambda a: a.data,
        lambda a: np.frombuffer(a.data, np.int16),
        lambda a: np.broadcast_to(a[:1], (3, 1)),
        lambda a: a[5:],
    ],
)
def test_a_view_keeps_the_buffer(view: Any) -> None:
    pool = buffers.Buffers(64 * MB)
    buffer = pool.take(MB)
    address = buffer.ctypes.data
    kept = view(buffer)
    del buffer
    for _ in range(3):
        assert pool.take(MB).ctypes.data != address
    del kept
    assert address in {b.ctypes.data for b in [pool.take(MB), pool.take(MB), pool.take(MB)]}


def test_the_pool_keeps_its_limit() -> None:
    pool = buffers.Buffers(4 * MB)
    taken = [pool.take(MB) for _ in range(10)]
    assert len({b.ctypes.data for b in taken}) == 10
    assert pool._total == sum(b.nbytes for b in pool._buffers) == 4 * MB
    del taken
    small = pool.take(MB - 1)
    large = pool.take(2 * MB + 1)
    kept = {id(b) for b in pool._buffers}
    assert id(small) not in kept
    assert id(large) not in kept


def test_who_is_given_a_buffer_has_it_alone() -> None:
    pool = buffers.Buffers(8 * MB)
    buffer = pool.take(MB)
    pool.give_up(np.empty(MB, np.uint8))  # not one of its own
    assert pool._total == MB
    pool.give_up(buffer)
    assert pool._total == 0
    buffer[:] = 7
    pool.take(MB)[:] = 0
    assert (buffer == 7).all()


def test_threads_do_not_get_the_same_buffer() -> None:
    pool = buffers.Buffers(8 * MB)
    start = threading.Barrier(4)
    wrong: list[int] = []

    def use(mark: int) -> None:
        start.wait(TIMEOUT)
        for _ in range(300):
            buffer = pool.take(MB)
            view = buffer[::4096].view()
            del buffer
            view[:] = mark
            if not (view == mark).all():
                wrong.append(mark)

    threads = [in_thread(use, mark) for mark in range(4)]
    for thread in threads:
        join(thread)
    assert not wrong
    assert pool._total <= 8 * MB


def test_received_tensors_share_no_memory(pair: Pair) -> None:
    frames = [b"".join(encode(Kind.PUSH, i, 0, b"", [np.full(MB, i, np.uint8)])) for i in range(6)]
    sender = in_thread(pair[0].sendall, b"".join(frames))
    reader = Reader(pair[1])
    kept = [reader.read().tensors[0] for _ in range(6)]
    join(sender)
    assert [set(t.tolist()[::99_999]) for t in kept] == [{i} for i in range(6)]
    assert all(t.flags.writeable for t in kept)
