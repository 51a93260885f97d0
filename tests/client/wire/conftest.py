"""A connection within the process."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.client.wire.sockets import TIMEOUT, Pair


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two ends of a connection; what blocks for too long fails."""
    one, other = socket.socketpair()
    one.settimeout(TIMEOUT)
    other.settimeout(TIMEOUT)
    with one, other:
        yield one, other
