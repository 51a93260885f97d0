"""The kernel's filter on new connections: whose it drops, and that it leaves all others alone."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator

import pytest

from tensorfleet_service.net import syn_filter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a filter of Linux")

SECONDS = 30.0
DROPPED_SECONDS = 0.3


@pytest.fixture(params=["127.0.0.1", "::"])
def server(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    """Listens by IPv4, or by both."""
    if request.param == "127.0.0.1":
        found = socket.create_server((request.param, 0))
    elif socket.has_dualstack_ipv6():
        found = socket.create_server((request.param, 0), family=socket.AF_INET6, dualstack_ipv6=True)
    else:
        pytest.skip("no IPv6")
    with found:
        yield found


def passes(server: socket.socket, source: str, target: str = "127.0.0.1", seconds: float = SECONDS) -> bool:
    """Whether a connection from an address comes through, and what is said on it, in both directions."""
    port = server.getsockname()[1]
    try:
        sock = socket.create_connection((target, port), seconds, (source, 0))
    except TimeoutError:
        return False
    with sock:
        accepted, _ = server.accept()
        with accepted:
            accepted.settimeout(SECONDS)
            sock.settimeout(SECONDS)
            sock.sendall(b"x" * 100_000)
            assert accepted.recv(100_000, socket.MSG_WAITALL) == b"x" * 100_000
            accepted.sendall(b"yes")
            assert sock.recv(3, socket.MSG_WAITALL) == b"yes"
    return True


def attach(server: socket.socket, shares: dict[str, float]) -> bool:
    return syn_filter.attach([server.getsockname()[1]], [server.fileno()], shares)


def test_connections_of_a_network_are_dropped_until_they_may_pass_again(server: socket.socket) -> None:
    assert passes(server, "127.0.0.2")
    assert attach(server, {"192.0.2.1/32": 0.0, "127.0.0.2/32": 0.0})
    assert not passes(server, "127.0.0.2", seconds=DROPPED_SECONDS)
    assert passes(server, "127.0.0.1")
    assert attach(server, {"192.0.2.1/32": 0.0, "127.0.0.2/32": 1.0})
    assert passes(server, "127.0.0.2")
    assert attach(server, {"127.0.0.2/32": 0.0})
    assert attach(server, {})
    assert passes(server, "127.0.0.2")


def test_many_networks_of_both_kinds(server: socket.socket) -> None:
    shares = {f"10.0.0.{i}/32": 0.0 for i in range(64)} | {f"2001:db8:{i:x}::/64": 0.0 for i in range(64)}
    assert attach(server, shares | {"127.0.0.2/32": 0.0})
    assert passes(server, "127.0.0.1")
    assert not passes(server, "127.0.0.2", seconds=DROPPED_SECONDS)


def test_a_connection_by_ipv6() -> None:
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError as e:
        pytest.skip(f"no IPv6: {e}")
    with server:
        assert attach(server, {"2001:db8::/64": 0.0, "192.0.2.1/32": 0.0})
        assert passes(server, "::1", "::1")
        assert attach(server, {"2001:db8::/64": 0.0, "::/64": 0.0})
        assert not passes(server, "::1", "::1", DROPPED_SECONDS)


def test_a_connection_that_is_open_stays() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sock = socket.create_connection(server.getsockname(), SECONDS, ("127.0.0.2", 0))
        accepted, _ = server.accept()
        with sock, accepted:
            assert attach(server, {"127.0.0.2/32": 0.0})
            accepted.settimeout(SECONDS)
            sock.sendall(b"still")
            assert accepted.recv(5, socket.MSG_WAITALL) == b"still"


def test_it_is_for_listening_sockets_at_these_ports_and_leaves_no_descriptor(server: socket.socket) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        read, write = os.pipe()
        given = [other.fileno(), datagrams.fileno(), read, write, 1 << 20]
        before = len(os.listdir("/proc/self/fd"))
        assert not syn_filter.attach([server.getsockname()[1]], given, {"127.0.0.2/32": 0.0})
        assert len(os.listdir("/proc/self/fd")) == before
        os.close(read)
        os.close(write)
        assert passes(other, "127.0.0.2")
