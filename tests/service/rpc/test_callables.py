"""Run signatures that a client of the stream asks for again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.session import connect, signatures
from tensorfleet_service.net import limits
from tests.cluster.together import Servers


@pytest.fixture
def servers() -> Iterator[Servers]:
    made = Servers(1)
    yield made
    made.stop()


def test_what_a_client_forgets_and_asks_for_again_is_kept_once(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(connect.FORCE_VARIABLE, "stream")
    monkeypatch.setattr(signatures, "REMEMBERED", 1)
    clients = servers.servers[0]._clients
    with tf.Graph().as_default():
        x = [tf.constant(i) for i in range(3)]
        with tf.Session(servers.target(0)) as session:
            first = session.make_callable(x[0])
            for _ in range(3):
                assert [session.run(one) for one in x] == [0, 1, 2]
                assert first() == 0
            assert len(clients.callables) == 3
        assert not clients.callables._found
        assert not clients.callables._numbers


@pytest.mark.parametrize("limit", ["MAX_SIGNATURES", "MAX_SIGNATURE_NAMES"])
def test_a_master_drops_what_was_not_used_for_long_and_makes_it_anew(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setenv(connect.FORCE_VARIABLE, "stream")
    monkeypatch.setattr(limits, limit, 3 if limit == "MAX_SIGNATURES" else 6)
    clients = servers.servers[0]._clients
    with tf.Graph().as_default():
        x = [tf.constant(i) for i in range(8)]
        with tf.Session(servers.target(0)) as session:
            first, *others = [session.make_callable(one) for one in x]
            before = first()
            transport: Any = session._transport  # type: ignore[attr-defined]
            asked: list[Any] = []
            prepare = transport.prepare
            transport.prepare = lambda *names: asked.append(names) or prepare(*names)
            for i, other in enumerate(others, 1):
                assert other() == i
                assert first() == before == 0
            # The one that is used all the time stays, and each of the others but the last ones was dropped.
            assert len(asked) <= len(others)
            assert ((), (x[0].name,), ()) not in asked
            assert len(clients.callables) == 3
            assert clients.master.session(transport._handle).signatures <= 3
        assert not clients.callables._found
        with pytest.raises(tf.errors.AbortedError, match="is not found"):
            prepare((), (x[0].name,), ())
