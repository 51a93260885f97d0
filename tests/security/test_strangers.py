"""Strangers who connect, and say little or nothing: clients get their answers all the same."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest

import tensorfleet as tf
from tensorfleet.proto import fleet_pb2
from tensorfleet.security import settings
from tensorfleet.session.transport_grpc import Channel
from tensorfleet_service.rpc.callers import MAX_CALLS
from tests.ports import free_ports
from tests.security.conftest import TokenBook

DESCRIPTORS = 1024
STRANGERS = 1500
SECONDS = 60.0
MAGIC = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))

# The task ends with its standard input, so that it never outlives the tests.
TASK = f"""
import json, os, resource, sys, threading
resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.server import TaskServer
server = TaskServer(ClusterSpec(json.loads(sys.argv[1])), "worker", 0, sys.argv[2])
server.start()
print(server._listener.addresses[-1] if server._listener else "", flush=True)
sys.stdin.read()
os._exit(0)
"""


class Task:
    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        assert process.stdout is not None
        self.port = port
        self.stream_port = process.stdout.readline().strip().rpartition(":")[2]
        self.target = f"grpc://127.0.0.1:{port}"


@pytest.fixture
def task(book: TokenBook, tmp_path: Path) -> Iterator[Task]:
    """A task in a process of its own, which may have fewer descriptors than there are strangers."""
    book.add("alice")
    (port,) = free_ports(1)
    environment = os.environ | {settings.TOKENS: str(book.path)}
    cluster = json.dumps({"worker": [f"127.0.0.1:{port}"]})
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", TASK, cluster, "grpc+stream"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield Task(process, port)
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def crowd(port: int, says: bytes) -> list[socket.socket]:
    """So many connections as a task has not the descriptors for; those that are refused do not count."""
    found = []
    for _ in range(STRANGERS):
        sock = socket.socket()
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            sock.connect(("127.0.0.1", port))
        found.append(sock)
    if says:
        for sock in found:
            sock.setblocking(True)
            sock.settimeout(0.05)
            with contextlib.suppress(OSError):
                sock.sendall(says)
    return found


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[0] < STRANGERS + 500, reason="takes more descriptors"
)
@pytest.mark.parametrize("says", [b"", MAGIC], ids=["silent", "greeting"])
@pytest.mark.parametrize("port", ["grpc", "stream"])
def test_many_strangers_do_not_keep_a_client_from_its_answer(
    task: Task, book: TokenBook, monkeypatch: pytest.MonkeyPatch, port: str, says: bytes
) -> None:
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", port)
    monkeypatch.setenv(settings.TOKEN, book.texts["alice"])
    strangers = crowd(task.port if port == "grpc" else int(task.stream_port), says)
    try:
        config = tf.ConfigProto(operation_timeout_in_ms=15_000)
        with tf.Session(task.target, config=config) as session:
            assert session.run(tf.constant(2.0) * 3.0) == 6.0
    finally:
        for sock in strangers:
            sock.close()


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[0] < STRANGERS + 500, reason="takes more descriptors"
)
def test_a_client_keeps_its_connection_while_strangers_come_and_come(
    task: Task, book: TokenBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose step runs, for as long as two waves of them are there, goes on."""
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc")
    monkeypatch.setenv(settings.TOKEN, book.texts["alice"])
    queue = tf.FIFOQueue(1, tf.int32, ())
    put, take = queue.enqueue(7), queue.dequeue()
    config = tf.ConfigProto(operation_timeout_in_ms=60_000)
    with tf.Session(task.target, config=config) as session:
        found: list[int] = []
        waiting = threading.Thread(target=lambda: found.append(int(session.run(take))))
        waiting.start()
        strangers = crowd(task.port, b"")
        try:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                session.list_devices()
            strangers += crowd(task.port, b"")
            session.run(put)
            waiting.join(SECONDS)
            assert found == [7]
        finally:
            for sock in strangers:
                sock.close()


def frame(kind: int, flags: int, stream: int, data: bytes) -> bytes:
    """One of HTTP/2."""
    return len(data).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + data


def headers(**fields: str) -> bytes:
    """As HPACK has them, each spelt out."""
    found = b""
    for name, value in fields.items():
        key = (":" * (name in ("method", "scheme", "path", "authority")) + name.replace("_", "-")).encode()
        found += b"\0" + bytes([len(key)]) + key + bytes([len(value)]) + value.encode()
    return found


CALL = headers(
    method="POST",
    scheme="http",
    path="/tensorflow.MasterService/RunStep",
    authority="x",
    te="trailers",
    content_type="application/grpc",
)


def test_a_stranger_that_calls_and_calls_loses_its_connection(
    task: Task, book: TokenBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls would come before everybody else's; who was let in may call as often as it likes."""
    with socket.create_connection(("127.0.0.1", task.port), timeout=SECONDS) as sock:
        calls = [frame(1, 4, 2 * i + 1, CALL) for i in range(MAX_CALLS + 8)]
        sock.sendall(MAGIC + b"".join(calls))
        with contextlib.suppress(ConnectionError):
            while sock.recv(1 << 16):
                pass
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc")
    monkeypatch.setenv(settings.TOKEN, book.texts["alice"])
    with tf.Session(task.target) as session:
        for _ in range(3 * MAX_CALLS):
            session.list_devices()


class Rush:
    """One stranger after another connects from 127.0.0.2, and asks for more than it may; bounded.

    Attributes:
        shed: set once the task's machine does not answer such a connection any more.
    """

    CONNECTIONS = 200_000

    def __init__(self, port: int, says: bytes) -> None:
        self._place = ("127.0.0.1", port)
        self._says = says
        self.shed = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Rush:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(SECONDS)

    def _run(self) -> None:
        for _ in range(self.CONNECTIONS):
            if self._stopped.is_set():
                return
            try:
                with socket.create_connection(self._place, 0.5, ("127.0.0.2", 0)) as sock:
                    sock.sendall(self._says)
            except TimeoutError:
                self.shed.set()
            except OSError:
                pass  # the task has ended the connection already


@pytest.mark.skipif(sys.platform != "linux", reason="by a filter of Linux")
@pytest.mark.parametrize("port", ["grpc", "stream"])
def test_strangers_who_are_refused_and_refused_are_shed_before_they_keep_a_client_out(
    task: Task, book: TokenBook, monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", port)
    monkeypatch.setenv(settings.TOKEN, book.texts["alice"])
    calls = b"".join(frame(1, 4, 2 * i + 1, CALL) for i in range(20))
    place = task.port if port == "grpc" else int(task.stream_port)
    with Rush(place, MAGIC + calls) as rush:
        assert rush.shed.wait(SECONDS)
        config = tf.ConfigProto(operation_timeout_in_ms=30_000)
        for _ in range(3):
            with tf.Session(task.target, config=config) as session:
                assert session.run(tf.constant(2.0) * 3.0) == 6.0
    # Once they are gone, whoever comes from there is heard again.
    socket.create_connection(("127.0.0.1", place), SECONDS, ("127.0.0.2", 0)).close()


def test_a_client_asks_again_where_grpc_has_ended_its_call() -> None:
    """As it does with anybody's calls while more of others wait than it keeps."""

    class Full(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
        asked = 0

        def service(self, details: grpc.HandlerCallDetails) -> Any:
            def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
                self.asked += 1
                if self.asked < 3:
                    context.abort(grpc.StatusCode.CANCELLED, "CANCELLED")
                return bytes(fleet_pb2.Endpoint(task="t").SerializeToString())

            return grpc.unary_unary_rpc_method_handler(answer)

    full = Full()
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=(full,))
    channel = Channel(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}", tf.ConfigProto())
    server.start()
    try:
        endpoint = channel.endpoint()
        assert endpoint is not None
        assert (endpoint.task, full.asked) == ("t", 3)
        full.asked = 0  # the same of later calls, also those without a limit
        path = "/tensorfleet.FleetService/GetEndpoint"
        assert channel.call(path, fleet_pb2.GetEndpointRequest(), fleet_pb2.Endpoint).task == "t"
        full.asked = -10_000
        with pytest.raises(tf.errors.CancelledError):
            channel.call(path, fleet_pb2.GetEndpointRequest(), fleet_pb2.Endpoint, 1.0)
    finally:
        channel.close()
        server.stop(0).wait()
