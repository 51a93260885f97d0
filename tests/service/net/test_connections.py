"""Connections of a task: those that end, are refused, or carry what nobody should send."""

from __future__ import annotations

import errno
import gc
import json
import logging
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import grpc
import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.cluster.server import Server
from tensorfleet.core import errors
from tensorfleet.proto import config_pb2, fleet_pb2
from tensorfleet.session.master_connection import MasterConnection
from tensorfleet.session.transport_stream import StreamTransport
from tensorfleet.wire import shared_memory
from tensorfleet.wire.connection import Connection
from tensorfleet.wire.frames import DESCRIPTOR, HEADER, MAGIC, Frame, Kind, Method, encode, unpack_error
from tensorfleet.wire.limits import HELLO_SECONDS
from tensorfleet.wire.reader import Reader
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.net import timeouts
from tensorfleet_service.net.peer import Peer
from tensorfleet_service.net.peer_grpc import GrpcPeer
from tensorfleet_service.net.peers import Peers
from tensorfleet_service.net.relief import Relief
from tensorfleet_service.rpc.clients import _Client, _Done
from tensorfleet_service.rpc.door import Visitor
from tensorfleet_service.rpc.listener import Listener
from tensorfleet_service.security.principal import Principal
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.threads.turns import Turns
from tests.cluster.together import Servers
from tests.ports import free_ports
from tests.until import until

SECONDS = 20.0
OTHER = "/job:worker/replica:0/task:1"


@pytest.fixture
def server() -> Iterator[Server]:
    """Task 0 of a cluster of two, the other of which is not there."""
    first, second = free_ports(2)
    cluster = {"worker": [f"127.0.0.1:{first}", f"127.0.0.1:{second}"]}
    made = tf.train.Server(cluster, job_name="worker", task_index=0)
    yield made
    made.stop(0.1)


def test_a_server_is_started_once(server: Server) -> None:
    """The first lines of most tutorials: a server starts when it is made, and then is started."""
    server.start()
    config = tf.ConfigProto(device_filters=["/job:worker/task:0"])
    with tf.Session(server.target, config=config) as session:
        assert session.run(tf.constant(1) + 1) == 2
    server.start()


def test_pings_do_not_end_a_long_call(server: Server) -> None:
    options = (
        ("grpc.keepalive_time_ms", 100),
        ("grpc.keepalive_timeout_ms", 5000),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.use_local_subchannel_pool", 1),
    )
    address = server.target.removeprefix("grpc://")
    with grpc.insecure_channel(address, options=options) as channel:
        states = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
        next(states)
        ended = threading.Event()
        assert states.add_callback(ended.set)
        assert not ended.wait(8), states.details()
        states.cancel()


class FakeMaster:
    """A stream endpoint that answers requests as the test wants."""

    def __init__(self, answer: Callable[[Connection, Frame], None]) -> None:
        self.accepted = 0
        self._answer = answer
        self._incarnation = secrets.randbits(60)
        hello = {"incarnation": self._incarnation}
        self._listener = Listener("127.0.0.1", 0, "127.0.0.1", hello, self._serve)
        self._listener.start()

    def transport(self) -> StreamTransport:
        address = self._listener.addresses[-1]
        endpoint = fleet_pb2.Endpoint(
            task="/job:worker/replica:0/task:0",
            incarnation=self._incarnation,
            stream_address=[address],
        )
        connection = MasterConnection(address)
        return StreamTransport(connection, endpoint, "grpc://127.0.0.1:1", config_pb2.ConfigProto())

    def _serve(self, visitor: Visitor) -> None:
        connection = visitor.connection
        self.accepted += 1
        try:
            while True:
                self._answer(connection, connection.reader.read())
        except (EOFError, OSError):
            connection.close()

    def close(self) -> None:
        self._listener.close()


def test_an_answer_that_comes_twice_is_nobodys_result() -> None:
    def twice(connection: Connection, frame: Frame) -> None:
        for _ in range(2 if frame.number == 1 else 1):
            connection.send(encode(Kind.RESULT, frame.number, 0, b"", (np.float32(frame.number),)))

    master = FakeMaster(twice)
    transport = master.transport()
    run = transport.run
    assert run(7, [], None, None, None) == [1.0]
    with pytest.raises(tf.errors.InternalError, match="the answer to request 1 in place of 2"):
        run(7, [], None, None, None)
    assert run(7, [], None, None, None) == [3.0]
    assert master.accepted == 2
    transport.close()
    master.close()


def test_a_step_that_ends_after_its_session_was_closed_leaves_no_connection() -> None:
    asked, answer = threading.Event(), threading.Event()

    def late(connection: Connection, frame: Frame) -> None:
        asked.set()
        assert answer.wait(20)
        connection.send(encode(Kind.RESULT, frame.number, 0, b"", (np.float32(1),)))

    master = FakeMaster(late)
    transport = master.transport()
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(transport.run(7, [], None, None, None)))
    thread.start()
    assert asked.wait(20)
    transport.close()
    answer.set()
    thread.join(20)
    assert results == [[1.0]]
    assert not transport._open
    master.close()


def test_the_client_is_told_why_its_connection_is_given_up() -> None:
    master = FakeMaster(
        lambda connection, frame: connection.refuse(errors.InvalidArgumentError(None, None, "what was that"))
    )
    transport = master.transport()
    with pytest.raises(tf.errors.InvalidArgumentError, match="what was that"):
        transport.run(7, [], None, None, None)
    transport.close()
    master.close()


def test_a_link_that_dies_is_no_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system says ETIMEDOUT, which is Python's class for a timeout that was set, too."""
    master = FakeMaster(lambda connection, frame: None)
    transport = master.transport()

    def dead(reader: Reader) -> Frame:
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))

    monkeypatch.setattr(Reader, "read", dead)
    with pytest.raises(tf.errors.UnavailableError, match=r"task:0.*Connection timed out"):
        transport.run(7, [], None, None, None)
    monkeypatch.undo()
    transport.close()
    master.close()


def test_a_step_that_ends_while_its_limit_is_set_is_let_go() -> None:
    class Clients:
        deadlines = Deadlines()
        turns = Turns(1)

    client = _Client(Clients(), None, Principal("token", "alice", "run"))  # type: ignore[arg-type]
    done = _Done(client, 1, None)
    done.ended = True
    step: Any = object()
    client._watch(step, done, 3600.0)
    assert client._step is None
    assert done.deadline is not None
    assert not done.deadline.pending


# Connections to other tasks


class LostPeer:
    task, incarnation, address = OTHER, 5, "127.0.0.1:1"
    lost: errors.OpError | None = errors.UnavailableError(None, None, f"Lost the connection to {OTHER}")
    pushed = 0

    def push(self, *_: Any) -> None:
        self.pushed += 1


class Service:
    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, function: Any, *arguments: Any) -> None:
        self.submitted += 1


def test_what_is_asked_of_a_lost_task_leaves_nothing_behind() -> None:
    """An exception keeps the frames of all who have raised it: one for all steps would keep all of them."""
    service: Any = SimpleNamespace(peer_lost=lambda peer: None)
    peer = GrpcPeer(OTHER, 5, "127.0.0.1:1", service, Traffic())
    lost = peer.lose("closed")
    for step in range(10):
        peer.abort(step, errors.AbortedError(None, None, "The step was ended"))
        with pytest.raises(tf.errors.UnavailableError, match="closed"):
            peer.pull(step, 1, "key")
    peer.close()
    assert lost.__traceback__ is None


def test_a_lost_connection_is_told_by_an_error_for_each_who_asks() -> None:
    service: Any = SimpleNamespace(peer_lost=lambda peer: None)
    ours, theirs = socket.socketpair()
    peer = Peer(Connection(ours), OTHER, 5, "127.0.0.1:1", service)
    peer.silent("no sign of life")
    for step in range(10):
        peer.abort(step, errors.AbortedError(None, None, "The step was ended"))
        with pytest.raises(tf.errors.UnavailableError, match="no sign of life"):
            peer.push(step, 1, np.float32(1))
    theirs.close()
    assert peer.lost is not None
    assert peer.lost.__traceback__ is None


def test_what_has_to_be_in_order_is_done_by_one_thread_however_long_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A member that leaves a collective has joined before; and the last chunk came before the end."""
    entered, go, relieved = threading.Event(), threading.Event(), threading.Event()
    done: list[object] = []

    def collective(peer: Peer, frame: Frame) -> None:
        entered.set()
        assert go.wait(SECONDS)
        done.append(frame.number)

    class Other:
        """What else is looked at, by the same thread, and takes long all the time."""

        began = time.monotonic()
        looks = 0

        def relieve(self, began: float) -> None:
            self.looks += 1
            if not entered.is_set():
                self.looks = 0
            elif self.looks > 10:
                relieved.set()

    def lost(peer: Peer) -> None:
        done.append("lost")

    service: Any = SimpleNamespace(collective=collective, peer_lost=lost, task="/job:worker/task:0")
    ours, theirs = socket.socketpair()
    peer = Peer(Connection(ours), OTHER, 5, "127.0.0.1:1", service)
    relief = Relief()
    monkeypatch.setattr("tensorfleet_service.net.peer.RELIEF", relief)
    other = Other()
    relief.watch(other)
    peer.start()
    try:
        for number in (1, 2):
            theirs.sendall(b"".join(encode(Kind.COLLECTIVE, number)))
        theirs.shutdown(socket.SHUT_WR)
        assert entered.wait(SECONDS)
        assert relieved.wait(SECONDS)
        assert not done
    finally:
        go.set()
        relief.forget(other)
    until(lambda: "lost" in done)
    assert done == [1, 2, "lost"]
    theirs.close()


def unreachable(address: str, timeout: float) -> fleet_pb2.Endpoint:
    raise errors.UnavailableError(None, None, f"nobody is at {address}")


def peers() -> tuple[Peers, Service]:
    def discover(address: str, timeout: float) -> fleet_pb2.Endpoint:
        raise AssertionError("nobody waits for a connection in the middle of a step")

    made = Peers("/job:worker/replica:0/task:0", 1, {OTHER: "127.0.0.1:1"}, discover)
    service: Any = Service()
    made.serve(service)
    return made, service


def test_what_is_sent_to_a_lost_task_fails_at_once() -> None:
    made, service = peers()
    peer: Any = LostPeer()
    peer.lost = None
    made._peers[OTHER] = peer
    push = made.sender([OTHER])
    push(OTHER, 1, 2, np.float32(1))
    assert peer.pushed == 1
    peer.lost = LostPeer.lost
    with pytest.raises(tf.errors.UnavailableError, match=OTHER):
        push(OTHER, 1, 3, np.float32(1))
    assert peer.pushed == 1
    assert service.submitted == 1  # elsewhere, another connection is tried
    for step in range(2, 5):
        with pytest.raises(tf.errors.UnavailableError, match=OTHER):
            push(OTHER, step, 3, np.float32(1))
    assert service.submitted == 1  # and not once more for each step that fails meanwhile
    made._discover = unreachable
    made._stopped.set()
    made._reconnect(OTHER)
    with pytest.raises(tf.errors.UnavailableError, match=OTHER):
        push(OTHER, 5, 3, np.float32(1))
    assert service.submitted == 2


@pytest.mark.parametrize("restarted", [False, True])
def test_a_restarted_task_gets_nothing_of_the_steps_from_before(restarted: bool) -> None:
    made, _ = peers()
    old: Any = LostPeer()
    old.lost = None
    made._peers[OTHER] = old
    push = made.sender([OTHER])
    old.lost = LostPeer.lost
    new: Any = LostPeer()
    new.lost = None
    new.incarnation = 6 if restarted else 5
    made._peers[OTHER] = new
    if restarted:
        with pytest.raises(tf.errors.AbortedError, match="has restarted"):
            push(OTHER, 1, 3, np.float32(1))
    else:
        push(OTHER, 1, 3, np.float32(1))
    assert new.pushed == (not restarted)


# Bytes that no client or task of ours sends


def stream_socket(server: Server) -> socket.socket:
    with grpc.insecure_channel(server.target.removeprefix("grpc://")) as channel:
        ask = channel.unary_unary(
            "/tensorfleet.FleetService/GetEndpoint", response_deserializer=fleet_pb2.Endpoint.FromString
        )
        endpoint = ask(b"", timeout=SECONDS)
    port = next(int(a.rpartition(":")[2]) for a in endpoint.stream_address if a.startswith("tcp:"))
    sock = socket.create_connection(("127.0.0.1", port), SECONDS)
    sock.settimeout(SECONDS)
    return sock


def greeted(server: Server, about: dict[str, Any]) -> tuple[socket.socket, Reader]:
    sock = stream_socket(server)
    sock.sendall(encode(Kind.HELLO, 0, 0, MAGIC + json.dumps(about).encode())[0])
    reader = Reader(sock)
    assert reader.read().kind == Kind.HELLO
    return sock, reader


def answer(sock: socket.socket, reader: Reader) -> errors.OpError | None:
    """The error that the other side gives the connection up with; None if it says nothing."""
    try:
        while True:
            frame = reader.read()
            if frame.kind == Kind.ERROR:
                return unpack_error(frame)
    except (EOFError, ConnectionError):
        return None
    finally:
        sock.close()


BAD_FRAMES = {
    "a chunk without a tensor": encode(Kind.CHUNK, 1, 1),
    "a tensor that is none": encode(Kind.PUSH, 1, 1),
    "edges that are not as many": encode(Kind.PUSH_ALL, 1, 1, b"12345678"),
    "a call that is no message": encode(Kind.CALL, 1, Method.REGISTER_GRAPH, b"\xff\xff\xff"),
    "a call that does not exist": encode(Kind.CALL, 1, 99),
    "a trace that is no message": encode(Kind.TRACED, 1, 1, b"\xff\xff\xff"),
    "a collective of no fields": encode(Kind.COLLECTIVE, 1, 1, b"{}"),
    "a collective that is no text": encode(Kind.COLLECTIVE, 1, 1, b"\xff"),
    "a collective of wrong fields": encode(Kind.COLLECTIVE, 1, 1, b'{"call": 3, "known": 4}'),
    "an unknown kind": encode(77, 1, 1),
    "a greeting in the middle": encode(Kind.HELLO, 1, 1, MAGIC + b"{}"),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_what_a_task_sends_wrongly(server: Server, caplog: pytest.LogCaptureFixture, name: str) -> None:
    caplog.set_level(logging.INFO)
    sock, reader = greeted(server, {"task": OTHER, "incarnation": secrets.randbits(40)})
    if name != "a trace that is no message":
        sock.sendall(BAD_FRAMES[name][0])
        error = answer(sock, reader)
        assert isinstance(error, (errors.InvalidArgumentError, errors.UnimplementedError)), error
    else:
        sock.sendall(BAD_FRAMES[name][0])  # for a step that nobody runs: it is passed over
        sock.close()
    until(lambda: "Lost the connection" in caplog.text, SECONDS)
    assert not [record for record in caplog.records if record.exc_info]
    assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) <= 1


BAD_CLIENT_FRAMES = {
    "an unknown kind": encode(77, 1, 1),
    "a call that is no message": encode(Kind.CALL, 1, Method.CREATE_SESSION, b"\xff\xff\xff"),
    "a part of a run that is no message": encode(Kind.CALL, 1, Method.RUN_STEP, b"\xff\xff\xff"),
    "a part of a run of more values than names": encode(
        Kind.CALL, 1, Method.RUN_STEP, b"", (np.float32(1),), flags=0
    ),
    "a tensor where there is none": encode(Kind.CALL, 1, Method.LIST_DEVICES, b"", (np.float32(1),)),
}


@pytest.mark.parametrize("name", BAD_CLIENT_FRAMES)
def test_what_a_client_sends_wrongly(server: Server, caplog: pytest.LogCaptureFixture, name: str) -> None:
    caplog.set_level(logging.INFO)
    sock, reader = greeted(server, {"client": "a test"})
    sock.sendall(BAD_CLIENT_FRAMES[name][0])
    frame = reader.read()
    assert frame.kind == Kind.ERROR
    assert isinstance(unpack_error(frame), (errors.InvalidArgumentError, errors.AbortedError))
    sock.close()
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("room", [float("inf"), float("nan"), "much", None, [1], 1e300])
def test_a_greeting_of_wrong_numbers(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, room: Any
) -> None:
    """The thread of the connection must not die with the socket left open."""
    if not shared_memory.SUPPORTED:
        pytest.skip("needs Linux")
    caplog.set_level(logging.INFO)
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    ours.settimeout(SECONDS)
    arena = shared_memory.Arena(1 << 20)
    hello = encode(Kind.HELLO, 0, 0, MAGIC + json.dumps({"client": "a", "shared_memory": room}).encode())[0]
    socket.send_fds(ours, [hello], [arena.descriptor])
    listener: Any = server._task._listener
    thread = threading.Thread(target=listener._greet, args=(theirs,))
    thread.start()
    error = answer(ours, Reader(ours))
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert isinstance(error, errors.InvalidArgumentError)
    assert "shared_memory" in error.message
    assert theirs.fileno() < 0
    assert not [record for record in caplog.records if record.exc_info]


GREETINGS = {
    "a tensor of 6 GiB, which the header keeps quiet about": HEADER.pack(1, 0, 1, 18, 0, 0, 0)
    + DESCRIPTOR.pack(7, 1, 6 << 30)
    + struct.pack("<Q", 6 << 30),
    "a tensor of 6 GiB": HEADER.pack(1, 0, 1, 18, 0, 0, 6 << 30)
    + DESCRIPTOR.pack(7, 1, 6 << 30)
    + struct.pack("<Q", 6 << 30),
    "a head of 2 GB": HEADER.pack(5, 0, 0, 2046 << 20, 1, 1, 0),
    "another protocol": b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
}


@pytest.mark.parametrize("name", GREETINGS)
def test_a_greeting_is_not_waited_for_with_memory_in_hand(server: Server, name: str) -> None:
    """Whoever has not said who it is gets no memory: it is refused as soon as it wants any."""
    sock = stream_socket(server)
    started = time.monotonic()
    sock.sendall(GREETINGS[name])
    reader = Reader(sock)
    try:
        frame = reader.read()
        assert isinstance(unpack_error(frame), errors.InvalidArgumentError)
    except ConnectionError:
        pass  # reset, as it did not read all that came
    assert time.monotonic() - started < HELLO_SECONDS / 2
    sock.close()


def test_a_task_of_a_wrong_name_is_refused(server: Server) -> None:
    sock, reader = greeted(server, {"task": "/job:none/replica:0/task:1", "incarnation": 5})
    assert isinstance(answer(sock, reader), errors.InvalidArgumentError)


# What is left behind


def memory_files() -> int:
    found = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            found += os.readlink(f"/proc/self/fd/{name}").startswith("/memfd:tensorfleet")
        except OSError:
            continue  # the descriptor of the listing itself
    return found


def mapped() -> int:
    with open("/proc/self/maps") as file:
        return sum("memfd:tensorfleet" in line for line in file)


@pytest.mark.skipif(not shared_memory.SUPPORTED, reason="needs Linux")
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "abandoned"])
def test_closed_connections_keep_no_shared_memory(
    server: Server, monkeypatch: pytest.MonkeyPatch, closed: bool
) -> None:
    """Without the help of the cyclic collector, which may not run for long."""
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "stream")
    config = tf.ConfigProto(device_filters=["/job:worker/task:0"])
    x = tf.placeholder(tf.float32, [None])
    y = x * 2.0
    value = np.ones(100_000, np.float32)
    gc.collect()
    until(lambda: memory_files() == mapped() == 0, SECONDS)
    gc.disable()
    try:
        kept = []
        for _ in range(10):
            session = tf.Session(server.target, config=config)
            kept.append(session.run(y, {x: value}))
            if closed:
                session.close()
            else:
                master: Any = session._transport
                for connection in list(master._idle):
                    connection.close()  # as the end of the client's process does
        # What was fetched may lie in the memory of its connection, and keeps that.
        until(lambda: max(memory_files(), mapped()) <= len(kept), SECONDS)
        assert all(v.sum() == 200_000 for v in kept)
        kept.clear()
        del session
        until(lambda: memory_files() == mapped() == 0, SECONDS)
    finally:
        gc.enable()


@pytest.mark.cluster
def test_stopped_tasks_keep_no_second_connection() -> None:
    """Tasks that connect to each other at the same time have two connections; one of them has no name."""
    together = Servers(2)
    try:
        first, second = together.servers
        names = [server.task for server in together.servers]
        peers = [
            first._peers._try(names[1], first._peers.addresses[names[1]], SECONDS),
            second._peers._try(names[0], second._peers.addresses[names[0]], SECONDS),
        ]
        assert all(peer.lost is None for peer in peers)
    finally:
        together.stop()
    until(lambda: all(peer.lost is not None for peer in peers), SECONDS)
    with pytest.raises(errors.UnavailableError, match="is being stopped"):
        first._peers._add(Connection(socket.socketpair()[0], OTHER), names[1], 1, "", False)


def test_no_free_descriptor_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    greeted: list[Any] = []
    listener = Listener("127.0.0.1", 0, "127.0.0.1", {"incarnation": secrets.randbits(60)}, lambda *_: None)
    monkeypatch.setattr(timeouts, "DESCRIPTOR_SECONDS", 0.02)
    monkeypatch.setattr(listener, "_greet", greeted.append)
    refused = 0

    class Full:
        """A listening socket of a process whose descriptors are all in use for a while."""

        def accept(self) -> tuple[Any, Any]:
            nonlocal refused
            if refused < 10:
                refused += 1
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            if len(greeted) < 3:
                return object(), None
            listener._closed.set()
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

        def fileno(self) -> int:
            return 3

    started = time.monotonic()
    listener._serve(Full())  # type: ignore[arg-type]
    assert refused == 10
    assert time.monotonic() - started >= 10 * 0.02  # it waits in between
    assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) == 1
    assert "Too many open files" in caplog.text
    assert "connections are accepted again" in caplog.text
    until(lambda: len(greeted) >= 3, SECONDS)
    listener.close()


def test_all_interfaces_are_those_of_ipv4_too() -> None:
    listener = Listener("::", 0, "127.0.0.1", {"incarnation": secrets.randbits(60)}, lambda *_: None)
    listener.start()
    port = int(listener.addresses[-1].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), SECONDS) as sock:
        assert sock.getpeername()[1] == port
    listener.close()
