"""Connections by gRPC: how many of strangers stay, and whose."""

from __future__ import annotations

import contextlib
import socket

import pytest

from tensorfleet_service.rpc import callers
from tensorfleet_service.rpc.callers import Callers, _name, _share


class Port:
    """A port of this process, and connections to it."""

    def __init__(self, family: int = socket.AF_INET) -> None:
        self.host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
        self._server = socket.create_server((self.host, 0), family=family)
        self.port = self._server.getsockname()[1]
        self.pairs: list[tuple[socket.socket, socket.socket]] = []

    def connect(self, host: str = "") -> str:
        """One more connection, from an address of the loopback: gRPC's name of the other side."""
        client = socket.create_connection((self.host, self.port), 10, (host or self.host, 0))
        accepted, place = self._server.accept()
        self.pairs.append((client, accepted))
        return _name(place[:2])

    def open(self) -> list[bool]:
        """Which of the connections, in the order in which they came, were not ended."""
        found = []
        for client, _ in self.pairs:
            client.setblocking(False)
            try:
                found.append(client.recv(1) != b"")
            except BlockingIOError:
                found.append(True)
        return found

    def close(self) -> None:
        for sock in (self._server, *(sock for pair in self.pairs for sock in pair)):
            sock.close()


def test_the_strangers_of_the_address_with_the_most_go_the_oldest_first() -> None:
    with contextlib.closing(Port()) as port:
        known = Callers(4)
        port.connect()  # from 127.0.0.1, and never heard of again
        assert known.look(port.port) == callers.LOOK_SECONDS
        for _ in range(3):
            port.connect("127.0.0.2")
            known.look(port.port)
        assert port.open() == [True] * 4
        for _ in range(2):
            port.connect("127.0.0.2")
        assert known.look(port.port) == callers.BUSY_SECONDS
        assert port.open() == [True, False, False, True, True, True]


def test_who_was_let_in_stays_and_who_has_spoken_stays_longer() -> None:
    with contextlib.closing(Port()) as port:
        known = Callers(2)
        known.heard(port.connect(), True)
        known.heard(port.connect(), False)
        for _ in range(3):
            port.connect()
        known.look(port.port)
        there = port.open()
        assert there[:2] == [True, True]
        assert sum(there) == 3


def test_who_has_gone_is_forgotten() -> None:
    with contextlib.closing(Port()) as port:
        known = Callers(1)
        for _ in range(3):
            known.heard(port.connect(), True)
        known.look(port.port)
        assert len(known._heard) == 3
        for sock in port.pairs.pop():
            sock.close()
        known.look(port.port)
        assert len(known._heard) == 3  # the first look may have begun before it came
        known.look(port.port)
        assert len(known._heard) == 2
        assert port.open() == [True, True]


def test_other_ports_are_left_alone() -> None:
    with contextlib.closing(Port()) as port, contextlib.closing(Port()) as other:
        known = Callers(1)
        for _ in range(5):
            port.connect()
            other.connect()
        known.look(port.port)
        assert sum(port.open()) == 1
        assert sum(other.open()) == 5


def test_a_connection_by_ipv6() -> None:
    try:
        opened = Port(socket.AF_INET6)
    except OSError as e:
        pytest.skip(f"no IPv6: {e}")
    with contextlib.closing(opened) as port:
        known = Callers(1)
        known.heard(port.connect(), True)
        for _ in range(3):
            port.connect()
        known.look(port.port)
        assert port.open()[0]
        assert sum(port.open()) == 2


@pytest.mark.parametrize(
    ("counts", "most", "share"),
    [([100], 10, 10), ([1, 100], 10, 9), ([5, 5], 10, 5), ([9, 9, 9], 10, 3), ([1] * 9, 3, 0)],
)
def test_shares(counts: list[int], most: int, share: int) -> None:
    assert _share(counts, most) == share
    assert sum(min(count, share) for count in counts) <= most
