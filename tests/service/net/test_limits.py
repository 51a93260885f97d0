"""Messages over a task's limits are refused by name, and the connection goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.devices.memory import Limit
from tensorfleet_service.net import limits, timeouts

MB = 1 << 20


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tf.train.Server]:
    monkeypatch.setattr(limits, "MAX_MESSAGE_BYTES", MB)
    monkeypatch.setattr(limits, "MAX_TENSORS_BYTES", 2 * MB)
    server = tf.train.Server.create_local_server()
    yield server
    server.stop(1.0)


@pytest.mark.parametrize("transport", ["stream", "grpc"])
def test_a_feed_over_the_limit(
    server: tf.train.Server, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", transport)
    variable = limits.MESSAGE_VARIABLE if transport == "grpc" else limits.TENSORS_VARIABLE
    with tf.Graph().as_default():
        x = tf.placeholder(tf.uint8, [None])
        size = tf.size(x)
        with tf.Session(server.target) as session:
            assert session.run(size, {x: np.zeros(1000, np.uint8)}) == 1000
            with pytest.raises(tf.errors.ResourceExhaustedError, match=variable):
                session.run(size, {x: np.zeros(3 * MB, np.uint8)})
            assert session.run(size, {x: np.zeros(2000, np.uint8)}) == 2000


def test_a_graph_over_the_limit(server: tf.train.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "stream")
    with tf.Graph().as_default():
        y = tf.identity(tf.constant(np.arange(MB, dtype=np.int32)))
        with (
            tf.Session(server.target) as session,
            pytest.raises(tf.errors.ResourceExhaustedError, match=limits.MESSAGE_VARIABLE),
        ):
            session.run(y)
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        assert session.run(tf.constant(1) + 1) == 2


def test_a_session_without_steps_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "IDLE_SESSION_SECONDS", 0.2)
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc")
    server = tf.train.Server.create_local_server()
    try:
        with tf.Graph().as_default():
            y = tf.constant(1) + 1
            session = tf.Session(server.target)
            assert session.run(y) == 2
            closed = threading.Event()
            found = server._task._master.sessions()[0]
            monkeypatch.setattr(found, "close", lambda *args: closed.set())
            assert closed.wait(20)
    finally:
        server.stop(1.0)


def test_requests_that_wait_at_grpc_take_a_small_part_of_the_memory() -> None:
    for size in (64 << 20, 1 << 30, 8 << 30, 64 << 30):
        window = limits.grpc_window(limits.max_grpc_message(Limit(size, "test")))
        assert 65_535 <= window <= max(size // 8000, 65_535)
    assert limits.grpc_window(-1) == 1 << 20
