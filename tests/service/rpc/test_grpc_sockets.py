"""Calls by gRPC that stay, as sockets: both sides of one, and sessions and tasks connected by them."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.security.settings import OPEN, Security
from tensorfleet.session.transport_grpc import GrpcTransport
from tensorfleet.session.transport_stream import StreamTransport
from tensorfleet.wire import grpc_socket
from tensorfleet.wire.grpc_socket import (
    MESSAGE_BYTES,
    EventSocket,
    GrpcSocket,
    IteratorSocket,
    open_grpc_socket,
)
from tensorfleet_service.net.peer import Peer
from tensorfleet_service.rpc import grpc_sockets
from tensorfleet_service.rpc.grpc_server import GrpcServer
from tensorfleet_service.rpc.grpc_sockets import ServedSocket
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.server import TaskServer
from tests.cluster import ops
from tests.ports import free_ports
from tests.until import Call, until

SECONDS = 20.0


def unknown(*_: Any) -> GrpcSocket:
    raise AttributeError("another version of grpcio")


@pytest.fixture(params=["events", "iterators", "public"])
def callers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both kinds of sockets on the side that calls; "public": both sides by public interfaces alone."""
    if request.param != "events":
        monkeypatch.setattr(grpc_socket, "EventSocket", unknown)
    monkeypatch.setattr(ServedSocket, "writes_anywhere", request.param != "public")
    return str(request.param)


Connect = Callable[[], tuple[GrpcSocket, GrpcSocket]]


@pytest.fixture
def connect(callers: str) -> Iterator[Connect]:
    """Makes pairs: the side that calls, and the side that is called."""
    served: SimpleQueue[ServedSocket] = SimpleQueue()
    server = GrpcServer("127.0.0.1:0", {}, {}, connect=served.put)
    server.start()
    made: list[GrpcSocket] = []

    def make() -> tuple[GrpcSocket, GrpcSocket]:
        caller = open_grpc_socket(f"127.0.0.1:{server.port}", OPEN)
        made.append(caller)
        return caller, served.get(timeout=SECONDS)

    yield make
    for each in made:
        each.close()
    server.stop(1)


def received(sock: GrpcSocket, size: int) -> bytes:
    data = bytearray(size)
    return bytes(data[: sock.recv_into(data, 0, socket.MSG_WAITALL)])


@pytest.mark.parametrize("size", [1, 1000, MESSAGE_BYTES - 1, MESSAGE_BYTES, MESSAGE_BYTES + 1, 9_000_000])
def test_bytes_come_as_they_were_sent_in_both_directions(connect: Connect, size: int) -> None:
    ends = connect()
    data = np.random.default_rng(size).bytes(size)
    for source, target in (ends, ends[::-1]):
        for buffers in ([data], [data[:7], memoryview(data)[7:], b"", bytearray(data)]):
            sent = Call(lambda s=source, b=buffers: s.sendmsg(b))  # type: ignore[misc]
            expected = b"".join(buffers)
            assert received(target, len(expected)) == expected
            assert sent.result() == len(expected)


def test_what_was_looked_at_comes_again(connect: Connect) -> None:
    caller, served = connect()
    caller.sendall(b"abc")
    assert served.recv(1, socket.MSG_PEEK) == b"a"
    assert served.recv(2) == b"ab"
    assert received(served, 1) == b"c"


def test_after_its_end_grpc_is_asked_nothing_of_a_call(connect: Connect) -> None:
    """It does not check that, and the process would end: as by a stranger who says HELLO and hangs up."""
    caller, served = connect()
    assert isinstance(served, ServedSocket)
    caller.close()
    until(lambda: served._is_over)
    served.let_in()
    late = b"of a thread that began to send before the end"
    if ServedSocket.writes_anywhere:
        with pytest.raises(BrokenPipeError, match="the call has ended"):
            served._write(late)
    else:
        served._write(late)  # the loop drops it
    with pytest.raises(BrokenPipeError):
        served.sendall(late)


@pytest.mark.parametrize("who", [0, 1], ids=["the caller ends", "the called one ends"])
def test_the_end_is_seen_on_the_other_side_and_nothing_is_sent_after_it(connect: Connect, who: int) -> None:
    ends = connect()
    ends[1].sendall(b"hello")
    assert received(ends[0], 5) == b"hello"
    waits = Call(lambda: received(ends[1 - who], 1))
    own = Call(lambda: received(ends[who], 1))
    ends[who].close()
    for each in (waits, own):
        try:
            assert each.result() == b""
        except OSError:
            pass  # the end may be that of a call which was cancelled

    def sends_no_more(end: GrpcSocket) -> bool:
        try:
            end.sendall(b"x")
        except OSError:
            return True
        return False

    until(lambda: sends_no_more(ends[0]))
    until(lambda: sends_no_more(ends[1]))


def test_what_the_called_side_sent_before_it_ended_arrives(connect: Connect) -> None:
    caller, served = connect()
    data = np.random.default_rng(1).bytes(3 * MESSAGE_BYTES)
    served.sendall(data)
    served.close()
    assert received(caller, len(data)) == data
    assert received(caller, 1) == b""


def test_a_server_that_stops_ends_its_connections_at_once(callers: str) -> None:
    served: SimpleQueue[ServedSocket] = SimpleQueue()
    server = GrpcServer("127.0.0.1:0", {}, {}, connect=served.put)
    server.start()
    caller = open_grpc_socket(f"127.0.0.1:{server.port}", OPEN)
    waits = Call(lambda: received(served.get(timeout=SECONDS), 1))
    caller.sendall(b"x")
    assert waits.result() == b"x"
    stopped = Call(lambda: server.stop(60))
    stopped.result(SECONDS)
    assert received(caller, 1) == b""
    caller.close()


def test_reads_end_in_time(connect: Connect) -> None:
    ends = connect()
    for end in ends:
        end.settimeout(0.05)
    for end in ends[::-1]:
        with pytest.raises(TimeoutError):
            received(end, 1)


def test_a_stall_is_told_from_a_timeout(connect: Connect) -> None:
    _, served = connect()
    served.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", 0, 50_000))
    with pytest.raises(BlockingIOError):
        received(served, 1)


@pytest.mark.parametrize("who", [0, 1], ids=["the caller sends", "the called one sends"])
def test_who_does_not_read_is_not_sent_more_and_more(connect: Connect, who: int) -> None:
    ends = connect()
    served = ends[1]
    assert isinstance(served, ServedSocket)
    data = np.random.default_rng(2).bytes(48 << 20)
    sending = Call(lambda: ends[who].sendall(data))
    if who == 0:
        until(lambda: served._unread >= grpc_sockets.ARRIVED_BYTES)
    else:
        until(lambda: served._unsent >= grpc_sockets.SENDING_BYTES)
        with pytest.raises(BlockingIOError):
            served.send(b"x", socket.MSG_DONTWAIT)
    assert sending.running
    assert served._unread <= grpc_sockets.ARRIVED_BYTES + MESSAGE_BYTES
    assert served._unsent <= grpc_sockets.SENDING_BYTES + MESSAGE_BYTES
    assert received(ends[1 - who], len(data)) == data
    sending.result()


@pytest.mark.parametrize("size", [100, 100_000])
def test_both_sides_send_and_receive_at_once(connect: Connect, size: int) -> None:
    count = 300
    piece = np.random.default_rng(size).bytes(size)

    def send(end: GrpcSocket) -> None:
        for _ in range(count):
            end.sendall(piece)

    def receive(end: GrpcSocket) -> bool:
        return all(received(end, size) == piece for _ in range(count))

    ends = connect()
    with ThreadPoolExecutor(4) as threads:
        sent = [threads.submit(send, end) for end in ends]
        whole = [threads.submit(receive, end) for end in ends]
        for each in sent:
            each.result(SECONDS)
        assert all(each.result(SECONDS) for each in whole)


def test_sending_ends_in_time(connect: Connect) -> None:
    caller, _ = connect()
    caller.settimeout(0.2)
    sending = Call(lambda: caller.sendall(bytes(48 << 20)))
    with pytest.raises(TimeoutError):
        sending.result(SECONDS)


def test_a_message_over_the_limit_ends_the_call(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    caller, served = connect()
    monkeypatch.setattr(grpc_socket, "MESSAGE_BYTES", 2 * MESSAGE_BYTES)
    served.settimeout(SECONDS)
    caller.sendall(bytes(2 * MESSAGE_BYTES))
    assert received(served, 1) == b""


def test_who_cannot_be_read_from_is_at_the_end(connect: Connect) -> None:
    caller, served = connect()
    assert isinstance(served, ServedSocket)

    class Full:
        async def read(self) -> bytes:
            raise MemoryError("no room")

    served._context = Full()
    served.settimeout(SECONDS)
    caller.sendall(b"x")
    while received(served, 1):  # what was waited for before, if anything
        pass


def test_messages_are_written_by_the_loop_where_grpc_asks_for_it(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another version of grpcio might."""
    monkeypatch.setattr(ServedSocket, "writes_anywhere", True)
    caller, served = connect()
    assert isinstance(served, ServedSocket)
    context = served._context

    class Strict:
        async def write(self, data: bytes) -> None:
            asyncio.get_running_loop()
            await asyncio.sleep(0)
            await context.write(data)

        async def read(self) -> bytes:
            return bytes(await context.read())

    served._context = Strict()
    pieces = [bytes([i]) * 100_000 for i in range(50)]
    sending = Call(lambda: [served.sendall(piece) for piece in pieces])
    assert received(caller, 5_000_000) == b"".join(pieces)
    sending.result()
    assert not ServedSocket.writes_anywhere


def test_another_version_of_grpc_is_noticed_before_the_call_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    class Changed:
        def operate(self) -> None: ...

    monkeypatch.setattr("grpc._cython.cygrpc.SegregatedCall", Changed)
    caller = open_grpc_socket("127.0.0.1:1", OPEN)
    try:
        assert isinstance(caller, IteratorSocket)
    finally:
        caller.close()


def test_who_sends_while_the_end_is_being_noted_is_told_so() -> None:
    """gRPC begins nothing on a call of which it has given all events, and says so by False."""
    served: SimpleQueue[ServedSocket] = SimpleQueue()
    server = GrpcServer("127.0.0.1:0", {}, {}, connect=served.put)
    server.start()
    caller = open_grpc_socket(f"127.0.0.1:{server.port}", OPEN)
    try:
        assert isinstance(caller, EventSocket)
        caller.sendall(b"x")
        assert received(served.get(timeout=SECONDS), 1) == b"x"
        caller._cancel()
        left = set(caller._due)
        while left:
            left.discard(caller._call.next_event().tag)  # as the thread that takes them, before it notes them
        before = caller._due = {grpc_socket._ENDED}
        for use in (lambda: caller.send(b"y"), lambda: caller.recv(1)):
            with pytest.raises(ConnectionResetError):
                use()
            assert caller._due == before
    finally:
        caller._due = set()  # type: ignore[attr-defined]
        caller.close()
        server.stop(1)


def test_strangers_are_not_read(callers: str) -> None:
    """gRPC would keep the largest message until it is read, before anybody is known to have sent it."""
    served: SimpleQueue[ServedSocket] = SimpleQueue()
    secret = Security(secret=b"s" * 32)
    guard = Guard(secret, "/job:local/replica:0/task:0", 5)
    server = GrpcServer("127.0.0.1:0", {}, {}, guard=guard, connect=served.put)
    server.start()
    address = f"127.0.0.1:{server.port}"
    try:
        for shown in (OPEN, Security(secret=b"x" * 32)):
            stranger = open_grpc_socket(address, shown, 5)
            stranger.settimeout(SECONDS)
            with pytest.raises(tf.errors.UnauthenticatedError):
                received(stranger, 1)
            stranger.close()
        assert served.empty()
        caller = open_grpc_socket(address, secret, 5)
        caller.sendall(b"x")
        assert received(served.get(timeout=SECONDS), 1) == b"x"
        caller.close()
    finally:
        server.stop(1)
        guard.close()


# ------------------------------------------------------------------------------------- sessions and tasks


@pytest.fixture
def tasks(callers: str) -> Iterator[list[TaskServer]]:
    """Two tasks that speak gRPC alone."""
    cluster = tf.train.ClusterSpec({"local": [f"localhost:{port}" for port in free_ports(2)]})
    made = [TaskServer(cluster, "local", i, "grpc", tf.ConfigProto()) for i in range(2)]
    for task in made:
        task.start()
    yield made
    for task in made:
        task.stop(1)


@pytest.mark.parametrize("size", [0, 1, 70_000, 2_000_000])
def test_a_step_on_two_tasks(tasks: list[TaskServer], monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.delenv("TENSORFLEET_TRANSPORT", raising=False)
    with tf.Graph().as_default():
        with tf.device("/job:local/task:1"):
            x = tf.placeholder(tf.float32, [None])
            words = tf.placeholder(tf.string, [None])
            there = x * 2, tf.identity(words)
        with tf.device("/job:local/task:0"):
            here = there[0] + x, tf.identity(there[1])
        with tf.Session(tasks[0].target) as session:
            value = np.arange(size, dtype=np.float32)
            for _ in range(5):
                numbers, texts = session.run(here, {x: value, words: ["a", "b"]})
                np.testing.assert_array_equal(numbers, 3 * value)
                assert texts.tolist() == [b"a", b"b"]
                numbers[:1] = 0  # what is fetched is the caller's own
            assert isinstance(session._transport, StreamTransport)
    assert isinstance(tasks[0]._peers.existing("/job:local/replica:0/task:1"), Peer)


def test_single_calls_can_be_asked_for(tasks: list[TaskServer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc")
    with tf.Graph().as_default():
        y = tf.constant(1.0) + 2.0
        with tf.Session(tasks[0].target) as session:
            assert session.run(y) == 3
            assert isinstance(session._transport, GrpcTransport)


def test_a_step_that_is_late_ends_and_the_session_goes_on(
    tasks: list[TaskServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENSORFLEET_TRANSPORT", raising=False)
    with tf.Graph().as_default():
        with tf.device("/job:local/task:1"):
            queue = tf.FIFOQueue(1, tf.float32)
            late = queue.dequeue()
        y = tf.constant(1.0) + 2.0
        with tf.Session(tasks[0].target) as session:
            with pytest.raises(tf.errors.DeadlineExceededError, match="waits for"):
                session.run(late, options=tf.RunOptions(timeout_in_ms=300))
            assert session.run(y) == 3
            until(lambda: not tasks[0]._worker.steps, 20)


def test_the_step_of_a_client_that_is_gone_is_cancelled(
    tasks: list[TaskServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENSORFLEET_TRANSPORT", raising=False)
    with tf.Graph().as_default():
        with tf.device("/job:local/task:1"):
            queue = tf.FIFOQueue(1, tf.float32)
            late = queue.dequeue()
        session = tf.Session(tasks[0].target)
        waits = Call(lambda: session.run(late))
        until(lambda: tasks[1]._worker.steps)
        transport: Any = session._transport
        for connection in transport._open:
            connection.sock.shutdown()
        with pytest.raises(tf.errors.UnavailableError):
            waits.result()
        until(lambda: not tasks[1]._worker.steps and not tasks[0]._worker.steps)
        session.close()


@pytest.mark.parametrize(
    ("protocol", "transport"), [("grpc", "stream"), ("grpc", "grpc"), ("grpc+stream", "stream")]
)
def test_a_plan_that_takes_long_for_once_keeps_no_other_step_waiting(
    monkeypatch: pytest.MonkeyPatch, protocol: str, transport: str
) -> None:
    """A plan known to be short runs on the thread that reads what comes from the master, and lasts."""
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", transport)
    name = f"once {protocol} {transport}"
    cluster = tf.train.ClusterSpec({"local": [f"localhost:{port}" for port in free_ports(2)]})
    made = [TaskServer(cluster, "local", i, protocol, tf.ConfigProto()) for i in range(2)]
    gate = ops._gates.setdefault(name, ops._Gate())
    gate.released.set()
    config = tf.ConfigProto(operation_timeout_in_ms=10_000)
    try:
        for task in made:
            task.start()
        with tf.Graph().as_default(), ThreadPoolExecutor(1) as thread:
            with tf.device("/job:local/task:1"):
                x = tf.placeholder(tf.float32, [])
                y = ops.block(x, name) + 1.0
                z = x * 3.0
            with tf.Session(made[0].target) as session, tf.Session(made[0].target, config=config) as other:
                for _ in range(20):
                    assert session.run(y, {x: 1.0}) == 2
                    assert other.run(z, {x: 1.0}) == 3
                gate.entered.clear()
                gate.released.clear()
                long = thread.submit(session.run, y, {x: 2.0})
                try:
                    assert gate.entered.wait(10)
                    for i in range(5):
                        assert other.run(z, {x: i}) == 3 * i
                finally:
                    gate.released.set()
                assert long.result(10) == 3
                assert other.run(z, {x: 1.0}) == 3
                assert session.run(y, {x: 4.0}) == 5
    finally:
        for task in made:
            task.stop(1)
