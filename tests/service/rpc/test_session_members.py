"""A session's way to the other tasks: who is missing is said, and what cannot be is refused at once."""

from __future__ import annotations

import logging
import threading
import time

import pytest

import tensorfleet as tf
from tensorfleet.session import waiting
from tensorfleet_service.net import timeouts
from tensorfleet_service.rpc import session_members
from tests.ports import free_ports


def addresses(count: int) -> list[str]:
    return [f"127.0.0.1:{port}" for port in free_ports(count)]


def run_one(target: str, milliseconds: int = 0) -> int:
    with tf.Graph().as_default():
        x = tf.constant(42)
        with tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=milliseconds)) as sess:
            return int(sess.run(x))


def test_a_task_that_is_another_one_is_refused_at_once() -> None:
    """A third one that is not there at all is not waited for."""
    first, second, nobody = addresses(3)
    a = tf.train.Server({"local": [first, second, nobody]}, job_name="local", task_index=0)
    b = tf.train.Server({"other": [second]}, job_name="other", task_index=0)
    try:
        start = time.monotonic()
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            run_one(a.target, 60_000)
        assert time.monotonic() - start < 30
        assert raised.value.message == (
            "/job:local/replica:0/task:0 cannot make the session: "
            f"{second} is said to be /job:local/replica:0/task:1, but it is /job:other/replica:0/task:0: "
            "check the ClusterSpec"
        )
    finally:
        a.stop()
        b.stop()


@pytest.mark.parametrize("transport", [None, "stream", "grpc"])
def test_missing_tasks_are_said_by_master_and_client(
    transport: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(timeouts, "FIRST_NOTICE_SECONDS", 0.3)
    monkeypatch.setattr(waiting, "FIRST_SECONDS", 0.4)
    if transport:
        monkeypatch.setenv("TENSORFLEET_TRANSPORT", transport)
    first, second, third = addresses(3)
    cluster = {"local": [first, second, third]}
    a = tf.train.Server(cluster, job_name="local", task_index=0)
    b = tf.train.Server(cluster, job_name="local", task_index=1)
    try:
        with pytest.raises(tf.errors.DeadlineExceededError, match=f"task:2 at {third} does not answer"):
            run_one(a.target, 2000)
    finally:
        a.stop()
        b.stop()
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    (master,) = [text for text in said if "waits for 1 other tasks" in text]
    assert f"/job:local/replica:0/task:2 at {third}: UNAVAILABLE: " in master
    assert "task:1" not in master
    client = [text for text in said if f"tensorfleet status grpc://{first}" in text]
    assert bool(client) == bool(transport)  # one that calls its own process's master reads that one's log


def test_a_task_that_comes_late_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "CONNECT_ATTEMPT_SECONDS", 0.1)
    first, second = addresses(2)
    cluster = {"local": [first, second]}
    a = tf.train.Server(cluster, job_name="local", task_index=0)
    servers = [a]

    def start() -> None:
        servers.append(tf.train.Server(cluster, job_name="local", task_index=1))

    timer = threading.Timer(1.0, start)
    timer.start()
    try:
        assert run_one(a.target) == 42
    finally:
        timer.join()
        for server in servers:
            server.stop()


def test_a_server_that_is_stopped_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = threading.Event()
    monkeypatch.setattr(timeouts, "FIRST_NOTICE_SECONDS", 0.1)
    monkeypatch.setattr(session_members, "_say", lambda *args: waits.set())
    first, second = addresses(2)
    a = tf.train.Server({"local": [first, second]}, job_name="local", task_index=0)
    ended = threading.Event()

    def run() -> None:
        with pytest.raises(tf.errors.OpError):
            run_one(a.target, 60_000)
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert waits.wait(30)
    a.stop(1.0)
    assert ended.wait(30)
    thread.join()
