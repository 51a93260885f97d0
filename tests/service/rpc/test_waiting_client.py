"""Steps that compute on the thread that reads their client's connection see that the client has gone."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tensorfleet.core import errors
from tensorfleet.wire.connection import Connection
from tensorfleet_service.rpc import waiting_client
from tensorfleet_service.rpc.waiting_client import WaitingClient
from tensorfleet_service.threads import running
from tensorfleet_service.threads.running import RUNNING


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[socket.socket, socket.socket]]:
    monkeypatch.setattr(waiting_client, "LOOK_SECONDS", 1e-9)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname()) as there, server.accept()[0] as here:
            yield here, there


@pytest.fixture
def client(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> Iterator[WaitingClient]:
    made = WaitingClient(Connection(ends[0]))
    monkeypatch.setattr(RUNNING, "client", made)
    session: Any = SimpleNamespace(closed=False)
    made.begin(session)
    yield made
    made.end()


def look_twice() -> None:
    """The first look only notes the time."""
    running.check()
    running.check()


def test_a_lost_connection_ends_what_computes(
    client: WaitingClient, ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RUNNING, "step", client)
    look_twice()
    ends[1].send(b"another request")  # which is no end
    look_twice()
    ends[1].close()
    with pytest.raises(errors.CancelledError, match="connection was lost"):
        look_twice()


def test_a_closed_session_ends_what_computes(client: WaitingClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RUNNING, "step", client)
    closed: Any = SimpleNamespace(closed=True)
    client.begin(closed)
    with pytest.raises(errors.CancelledError, match="closed"):
        look_twice()


def test_a_connection_that_this_side_has_closed(
    client: WaitingClient, ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RUNNING, "step", client)
    ends[0].close()
    with pytest.raises(errors.CancelledError):
        look_twice()


def test_steps_of_others_go_on(
    client: WaitingClient, ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that reads a connection may go on with other clients' steps."""
    own, other = SimpleNamespace(error=None), SimpleNamespace(error=None)
    client.step = own  # type: ignore[assignment]
    ends[1].close()
    monkeypatch.setattr(RUNNING, "step", other)
    look_twice()
    monkeypatch.setattr(RUNNING, "step", own)
    with pytest.raises(errors.CancelledError):
        look_twice()
    monkeypatch.setattr(RUNNING, "step", None)
    look_twice()
