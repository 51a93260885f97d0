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
from pathlib import Path

import pytest

import tensorfleet as tf
from tensorfleet.security import settings
from tensorfleet_service.local_cluster import free_ports
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
    (port,) = free_ports("127.0.0.1", 1)
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
