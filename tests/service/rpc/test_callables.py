"""Run signatures that a client of the stream asks for again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensorfleet as tf
from tensorfleet.session import connect, signatures
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
            assert len(clients.signatures) == 3
        assert not clients.signatures
        assert not clients.callables
