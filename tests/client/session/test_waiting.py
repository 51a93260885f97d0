"""Messages of a session whose server does not answer, and when it gives up."""

from __future__ import annotations

import logging
import socket
import time
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.session import waiting
from tensorfleet.session.connect import full_target
from tests.ports import free_ports


def run_one(target: str, milliseconds: int = 0) -> Any:
    with tf.Graph().as_default():
        x = tf.constant(42)
        with tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=milliseconds)) as sess:
            return sess.run(x)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "FIRST_SECONDS", 0.2)
    monkeypatch.setattr(waiting, "UNKNOWN_NAME_SECONDS", 0.3)
    monkeypatch.setattr(waiting, "AGAIN_SECONDS", 0.3)


@pytest.mark.usefixtures("soon")
def test_a_session_says_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    (port,) = free_ports(1)
    with pytest.raises(tf.errors.DeadlineExceededError, match=rf"No answer from 127.0.0.1:{port} within 2 s"):
        run_one(f"grpc://127.0.0.1:{port}", 2000)
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(said) > 2
    assert said[0].startswith(f"The session waits for 127.0.0.1:{port}, which has not answered for 0 s;")
    assert "it gives up in 2 s" in said[0]
    assert "Connection refused" in said[0]


@pytest.mark.usefixtures("soon")
def test_a_server_that_comes_late_is_used(caplog: pytest.LogCaptureFixture) -> None:
    (port,) = free_ports(1)
    servers: list[tf.train.Server] = []

    class Starter(logging.Handler):
        """Starts the server once the session has said that there is none."""

        def emit(self, record: logging.LogRecord) -> None:
            if not servers and "The session waits for" in record.getMessage():
                cluster = {"local": [f"127.0.0.1:{port}"]}
                servers.append(tf.train.Server(cluster, job_name="local", task_index=0))

    handler = Starter()
    logging.getLogger("tensorfleet").addHandler(handler)
    try:
        assert run_one(f"grpc://127.0.0.1:{port}") == 42
        assert servers
    finally:
        logging.getLogger("tensorfleet").removeHandler(handler)
        for server in servers:
            server.stop()


@pytest.mark.usefixtures("soon")
def test_an_unknown_name_is_refused_after_the_first_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    start = time.monotonic()
    with pytest.raises(tf.errors.UnavailableError) as raised:
        run_one("grpc://no-such-host.invalid:2222", 60_000)
    assert time.monotonic() - start < 30
    assert raised.value.message.startswith(
        'The name "no-such-host.invalid" of no-such-host.invalid:2222 is unknown:'
    )
    assert any('The name "no-such-host.invalid"' in r.getMessage() for r in caplog.records)


def test_names_whose_server_may_answer_later_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    assert not waiting.unknown_name("127.0.0.1:2222")
    assert not waiting.unknown_name("[::1]:2222")
    assert not waiting.unknown_name("dns:///host:2222")
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert not waiting.unknown_name("host:2222")


@pytest.mark.parametrize("target", ["127.0.0.1:2222", "localhost:2222", "worker-0.fleet:1", "[::1]:2222"])
def test_a_bare_address_is_a_target(target: str) -> None:
    assert full_target(target) == f"grpc://{target}"


@pytest.mark.parametrize(
    "target", ["localhost", "http://localhost:2222", "local", ":2222", "a b:1", "::1:2222"]
)
def test_what_is_no_target_is_told_the_form(target: str) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="No session factory registered") as raised:
        tf.Session(target)
    assert "grpc://127.0.0.1:2222" in raised.value.message


def test_a_session_takes_a_bare_address() -> None:
    server = tf.train.Server.create_local_server()
    try:
        assert run_one(server.target.removeprefix("grpc://")) == 42
        tf.Session.reset(server.target.removeprefix("grpc://"))
    finally:
        server.stop()


def test_a_target_without_a_port_is_refused_at_once(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match='"grpc://localhost" has no port'):
        run_one("grpc://localhost")
    assert not caplog.records
