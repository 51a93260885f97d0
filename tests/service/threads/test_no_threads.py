"""A system that has no thread to give for a while: what asked for one fails, and later all goes on."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.wire.connection import Connection
from tensorfleet.wire.heartbeat import Heart
from tensorfleet_service.net.tensor_protos import as_op_error
from tensorfleet_service.threads.deadlines import Deadlines
from tests.ports import free_ports
from tests.until import until


def no_thread(*_: Any) -> None:
    raise RuntimeError("can't start new thread")


class Silent:
    """A connection from which nothing comes."""

    task, address, incarnation = "/job:worker/task:1", "nowhere", 1

    def __init__(self) -> None:
        self.why = ""

    def heard(self, now: float) -> float:
        return 0.0

    def silent(self, why: str) -> None:
        self.why = why


def test_a_heart_beats_later() -> None:
    heart, one = Heart(0.2, lambda *_: "nobody is there"), Silent()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        heart.watch(one)
    assert not one.why
    heart.watch(one)
    until(lambda: "nobody is there" in one.why)
    heart.close()


def test_a_silent_process_is_asked_later(caplog: pytest.LogCaptureFixture) -> None:
    heart, one = Heart(0.2, lambda *_: "nobody is there"), Silent()
    asked = threading.Event()
    start = threading.Thread.start

    def refuse_the_first_question(thread: threading.Thread) -> None:
        if thread.name == "heartbeat question" and not asked.is_set():
            asked.set()
            no_thread()
        start(thread)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse_the_first_question)
        heart.watch(one)
        until(lambda: "nobody is there" in one.why)
    heart.close()
    assert asked.is_set()
    assert "cannot be asked now" in caplog.text


def test_a_connection_without_a_writer_ends() -> None:
    here, there = socket.socketpair()
    with here, there:
        connection = Connection(here)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_thread)
            with pytest.raises(OSError, match="given up"):
                connection.send([bytes(64 << 20)])
        there.settimeout(20)
        while there.recv(1 << 20):
            pass  # what was sent before; the end follows
        connection.close()


def test_deadlines_expire_later() -> None:
    deadlines, expired = Deadlines(), threading.Event()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError):
            deadlines.after(0, lambda: None)
    deadlines.after(0, expired.set)
    assert expired.wait(20)
    deadlines.close()


def test_a_tasks_connection_is_made_anew() -> None:
    """A connection that nobody reads must not be kept as that of the task."""
    start, refused = threading.Thread.start, threading.Event()

    def refuse_the_first_reader(thread: threading.Thread) -> None:
        if thread.name == "read /job:worker/replica:0/task:1" and not refused.is_set():
            refused.set()
            no_thread()
        start(thread)

    cluster = tf.train.ClusterSpec({"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]})
    servers = [tf.train.Server(cluster, job_name="worker", task_index=index) for index in range(2)]
    try:
        with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse_the_first_reader)
            with tf.device("/job:worker/task:1"):
                one = tf.constant(1)
            with tf.device("/job:worker/task:0"):
                two = one + 1
            config = tf.ConfigProto(operation_timeout_in_ms=20_000)
            with tf.Session(servers[0].target, config=config) as session:
                assert session.run(two) == 2
            assert refused.is_set()
    finally:
        for server in servers:
            server.stop(1.0)


def test_no_thread_is_no_defect() -> None:
    error = as_op_error(RuntimeError("can't start new thread"), "call 1")
    assert isinstance(error, tf.errors.ResourceExhaustedError)
    assert "no thread for call 1" in error.message
