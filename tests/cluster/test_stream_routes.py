"""How a session finds a task's stream endpoint: through forwarded ports, and not at all behind a firewall."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.proto import fleet_pb2
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet.security.settings import OPEN
from tensorfleet.session import stream_route, transport_grpc
from tensorfleet.session.master_connection import MasterConnection
from tensorfleet.session.stream_route import find_route
from tensorfleet.session.timeouts import ROUTE_SECONDS
from tensorfleet.session.transport_grpc import GrpcTransport
from tensorfleet.session.transport_stream import StreamTransport
from tests.cluster.conftest import MakeCluster
from tests.cluster.processes import Cluster

TIMEOUT = 20.0
UNKNOWN_HOST = "worker-0.invalid"


class Relay:
    """Forwards a port of 127.0.0.2 to the same port of 127.0.0.1, as `tensorfleet connect` does."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._server = socket.create_server(("127.0.0.2", port))
        self._open = [self._server]
        self.accepted = 0
        self._start(self._serve)

    def _start(self, target: object, *args: socket.socket) -> None:
        threading.Thread(target=target, args=args, daemon=True).start()  # type: ignore[arg-type]

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                self.accepted += 1
                far = socket.create_connection(("127.0.0.1", self._port), TIMEOUT)
                far.settimeout(None)
                self._open += [near, far]
                self._start(self._copy, near, far)
                self._start(self._copy, far, near)

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


@pytest.fixture(scope="module")
def one(long_cluster: MakeCluster) -> Cluster:
    return long_cluster("grpc+stream", worker=1)


@pytest.fixture
def endpoint(one: Cluster) -> fleet_pb2.Endpoint:
    channel = transport_grpc.Channel(one["worker", 0].address, ConfigProto())
    found = channel.endpoint()
    channel.close()
    assert found is not None
    return found


def port_of(endpoint: fleet_pb2.Endpoint) -> int:
    return int(endpoint.stream_address[-1].rpartition(":")[2])


def elsewhere(endpoint: fleet_pb2.Endpoint, host: str, port: int | None = None) -> fleet_pb2.Endpoint:
    """The endpoint as another machine sees it: no Unix socket, and a host that may not be reached."""
    moved = fleet_pb2.Endpoint()
    moved.CopyFrom(endpoint)
    moved.stream_address[:] = [
        f"unix:@tensorfleet-{0:016x}",
        f"tcp:{host}:{port_of(endpoint) if port is None else port}",
    ]
    return moved


@pytest.fixture
def silent() -> Iterator[int]:
    """A port of 127.0.0.1 that answers no SYN, as behind a policy that drops packets: its queue is full."""
    with socket.socket() as server, contextlib.ExitStack() as stack:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        with pytest.raises(TimeoutError):
            socket.create_connection(server.getsockname(), 0.2)
        yield server.getsockname()[1]


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch, endpoint: fleet_pb2.Endpoint) -> fleet_pb2.Endpoint:
    """The endpoint that sessions are told from now on, at first at a host that nobody knows."""
    told = elsewhere(endpoint, UNKNOWN_HOST)
    monkeypatch.setattr(transport_grpc.Channel, "endpoint", lambda self: told)
    monkeypatch.delenv("TENSORFLEET_TRANSPORT", raising=False)
    return told


def computes(target: str) -> object:
    """Runs a step; returns the session's transport."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        y = x * 2
        with tf.Session(target) as session:
            np.testing.assert_array_equal(session.run(y, {x: [1, 2, 3]}), [2, 4, 6])
            return session._transport


def test_forwarded_ports_carry_the_stream(
    one: Cluster, endpoint: fleet_pb2.Endpoint, moved: fleet_pb2.Endpoint
) -> None:
    port = one["worker", 0].address.rpartition(":")[2]
    relays = [Relay(int(port)), Relay(port_of(endpoint))]
    try:
        assert isinstance(computes(f"grpc://127.0.0.2:{port}"), StreamTransport)
        assert relays[1].accepted >= 1
    finally:
        for relay in relays:
            relay.close()


@pytest.mark.parametrize("connects", [True, False])
def test_one_forwarded_port_carries_grpc_at_once(
    one: Cluster, moved: fleet_pb2.Endpoint, caplog: pytest.LogCaptureFixture, connects: bool
) -> None:
    """The stream goes over a call that stays; to a task that knows no such call, by single ones."""
    moved.connects = connects
    port = one["worker", 0].address.rpartition(":")[2]
    relay = Relay(int(port))
    try:
        with caplog.at_level(logging.INFO, "tensorfleet"):
            start = time.monotonic()
            transport = computes(f"grpc://127.0.0.2:{port}")
        assert time.monotonic() - start < ROUTE_SECONDS + 10
    finally:
        relay.close()
    if connects:
        assert isinstance(transport, StreamTransport)
        assert transport._address == f"grpc:127.0.0.2:{port}"
    else:
        assert isinstance(transport, GrpcTransport)
    (record,) = [r for r in caplog.records if "stream endpoint" in r.message]
    assert record.levelno == logging.INFO
    assert UNKNOWN_HOST in record.message
    assert f"tcp:127.0.0.2:{port_of(moved)}" in record.message


def test_dropped_packets_cost_three_seconds_at_most(
    one: Cluster, moved: fleet_pb2.Endpoint, silent: int
) -> None:
    moved.stream_address[-1] = f"tcp:127.0.0.1:{silent}"
    start = time.monotonic()
    transport = computes(one["worker", 0].target)
    assert isinstance(transport, StreamTransport)
    assert transport._address.startswith("grpc:")
    assert time.monotonic() - start < ROUTE_SECONDS + 10


def test_a_name_server_that_does_not_answer_holds_nobody_up(
    one: Cluster, endpoint: fleet_pb2.Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging, real = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host: str, *args: object, **kwargs: object) -> object:
        if host == UNKNOWN_HOST:
            hanging.wait(TIMEOUT)
        return real(host, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    try:
        start = time.monotonic()
        found = find_route(elsewhere(endpoint, UNKNOWN_HOST), one["worker", 0].address, OPEN)
        assert time.monotonic() - start < ROUTE_SECONDS
        assert isinstance(found, MasterConnection), "the user's own host leads there"
        found.sock.close()
    finally:
        hanging.set()


@pytest.mark.parametrize("answer", [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64)])
def test_what_is_no_task_is_left_alone(
    endpoint: fleet_pb2.Endpoint, answer: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Another program has the port: it says nothing, hangs up, or speaks something else."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            with contextlib.suppress(OSError):
                client, _ = server.accept()
                with client:
                    if answer is None:
                        client.recv(1 << 16)
                        client.recv(1 << 16)  # until the other side gives up
                    else:
                        client.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        start = time.monotonic()
        with caplog.at_level(logging.INFO, "tensorfleet"):
            found = find_route(elsewhere(endpoint, "127.0.0.1", port), f"127.0.0.1:{port}", OPEN)
            assert isinstance(found, tf.errors.UnavailableError)
        assert time.monotonic() - start < ROUTE_SECONDS + 10
    assert str(port) in caplog.text


def test_another_task_at_the_port_is_not_taken(one: Cluster, endpoint: fleet_pb2.Endpoint) -> None:
    other = elsewhere(endpoint, "127.0.0.1")
    other.incarnation += 1
    found = find_route(other, one["worker", 0].address, OPEN)
    assert isinstance(found, tf.errors.UnavailableError)
    assert "another task" in found.message


@pytest.mark.parametrize("target", ["dns:///127.0.0.1:1", "ipv4:127.0.0.1:1", "unix:/tmp/socket"])
def test_other_forms_of_targets_name_no_host(endpoint: fleet_pb2.Endpoint, target: str) -> None:
    assert stream_route._routes(endpoint, target) == [endpoint.stream_address[-1]]
