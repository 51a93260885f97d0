"""TensorFlow's MasterService: what a session leaves behind once it is closed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.session import MasterSession
from tensorfleet_service.rpc.master_service import MasterService
from tests.until import until

SESSIONS = 5


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tf.train.Server]:
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc")
    server = tf.train.Server.create_local_server()
    yield server
    server.stop(1.0)


def use(target: str) -> tf.Session:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y, z = x + 1, x * 2
        session = tf.Session(target)
        assert session.run(y, {x: 1}) == 2
        assert session.make_callable(y, [x])(1) == 2
        handle = session.partial_run_setup([y, z], [x])
        assert session.partial_run(handle, y, {x: 3}) == 4
        return session


def living(of: type) -> list[Any]:
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is of]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[MasterSession]]:
    """The sessions that masters of this process make during a test."""
    found: list[weakref.ref[MasterSession]] = []
    make = Master.create_session

    def noted(self: Master, *arguments: Any, **options: Any) -> MasterSession:
        session = make(self, *arguments, **options)
        found.append(weakref.ref(session))
        return session

    monkeypatch.setattr(Master, "create_session", noted)
    return found


def remaining(made: list[weakref.ref[MasterSession]]) -> list[MasterSession]:
    gc.collect()
    return [session for reference in made if (session := reference()) is not None]


def test_a_closed_session_leaves_nothing(
    server: tf.train.Server, made: list[weakref.ref[MasterSession]]
) -> None:
    for _ in range(SESSIONS):
        use(server.target).close()
    assert len(made) == SESSIONS
    until(lambda: not remaining(made))  # also by the threads that answered


def test_sessions_that_were_reset_leave_nothing(
    server: tf.train.Server, made: list[weakref.ref[MasterSession]]
) -> None:
    sessions = [use(server.target) for _ in range(SESSIONS)]
    assert len(made) == SESSIONS
    tf.Session.reset(server.target)
    until(lambda: not remaining(made))  # also by the threads that answered
    (service,) = (
        each
        for each in living(MasterService)
        if each._master is server._task._master  # type: ignore[attr-defined]
    )
    assert isinstance(service, MasterService)
    assert [service._signatures, service._partial, service._idle] == [{}, {}, {}]
    for session in sessions:
        with suppress(tf.errors.AbortedError):
            session.close()
