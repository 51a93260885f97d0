"""TensorFlow's MasterService: what a session leaves behind once it is closed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.proto import master_pb2
from tensorfleet.proto.tensor_pb2 import TensorProto
from tensorfleet_service.graph import message_pieces, tensor_pieces
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.session import MasterSession
from tensorfleet_service.net import limits
from tensorfleet_service.rpc import answers
from tensorfleet_service.rpc.master_service import MasterService
from tensorfleet_service.security.principal import ANYBODY
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


def service_of(server: tf.train.Server) -> MasterService:
    (service,) = (
        each
        for each in living(MasterService)
        if each._master is server._task._master  # type: ignore[attr-defined]
    )
    assert isinstance(service, MasterService)
    return service


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
    service = service_of(server)
    assert [service._signatures, service._callables, service._partial, service._idle] == [{}, {}, {}, {}]
    for session in sessions:
        with suppress(tf.errors.AbortedError):
            session.close()


def test_callables_are_bounded_until_they_are_released(
    server: tf.train.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow's clients make them by gRPC, and release them; ours do not ask for any there."""
    monkeypatch.setattr(limits, "MAX_CALLABLES", 2)
    service = service_of(server)
    with tf.Graph().as_default():
        x = tf.constant(1.0, name="x")
        with tf.Session(server.target) as session:
            assert session.run(x) == 1.0
            handle = session._transport._handle  # type: ignore[attr-defined]
            call: Any = SimpleNamespace(principal=ANYBODY)
            make = master_pb2.MakeCallableRequest(session_handle=handle)
            make.options.fetch.append("x:0")
            first, _ = (service.make_callable(make, call).handle for _ in range(2))
            with pytest.raises(tf.errors.ResourceExhaustedError, match="has 2 callables, and may have 2"):
                service.make_callable(make, call)
            release = master_pb2.ReleaseCallableRequest(session_handle=handle, handle=first)
            service.release_callable(release, call)
            service.make_callable(make, call)


def test_large_feeds_are_read_apart_from_their_requests(
    server: tf.train.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_pieces, "PIECE", 1000)
    sizes: list[int] = []
    read = tensor_pieces.array

    def noting(data: Any) -> Any:
        sizes.append(len(data))
        return read(data)

    monkeypatch.setattr(tensor_pieces, "array", noting)
    values = np.arange(5000, dtype=np.float32)
    strings = np.array([b"ab" * 3000, b"c"], object)
    with tf.Graph().as_default():
        x, y, z = tf.placeholder(tf.float32), tf.placeholder(tf.string), tf.placeholder(tf.float32)
        results = [x + z, tf.strings.length(y)]
        with tf.Session(server.target) as session:
            found, lengths = session.run(results, {x: values, y: strings, z: 1.0})
            assert found.tolist() == (values + 1).tolist()
            assert lengths.tolist() == [6000, 1]
            call = session.make_callable(results, [z, x, y])
            found, lengths = call(2.0, values, strings)
            assert found.tolist() == (values + 2).tolist()
            assert lengths.tolist() == [6000, 1]
    assert len(sizes) == 4
    assert min(sizes) > 6000


def test_large_results_are_written_apart_from_their_answers(
    server: tf.train.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[int] = []
    put_proto = answers.put_proto

    def noting(value: Any, into: TensorProto) -> None:
        put_proto(value, into)
        put.append(into.ByteSize())

    monkeypatch.setattr(answers, "put_proto", noting)
    values = np.arange(600_000, dtype=np.float32)
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.string)
        results = [x + 1.0, tf.strings.join([y, y]), tf.size(x), tf.zeros([1 << 20]) + x[0]]
        with tf.Session(server.target) as session:
            call = session.make_callable(results, [x, y])
            for text in (b"ab", b"ab" * 600_000):
                for found in (session.run(results, {x: values, y: text}), call(values, text)):
                    assert found[0].tolist() == (values + 1).tolist()
                    assert found[1] == 2 * text
                    assert found[2] == 600_000
                    assert found[3].shape == (1 << 20,)
    assert max(put) < 1000


def test_an_answer_of_more_than_protobuf_reads_is_refused(
    server: tf.train.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_pieces, "LARGEST", 1 << 21)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        with tf.Session(server.target) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be sent by gRPC"):
                session.run(x + 1.0, {x: np.zeros(600_000, np.float32)})
            assert session.run(x + 1.0, {x: 1.0}) == 2.0
