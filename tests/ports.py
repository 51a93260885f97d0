"""Ports for the servers that tests start."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterator
from threading import Lock

PORTS = range(20_000, 32_768)  # below those that the system gives to outgoing connections

_lock = Lock()
_walks: dict[int, Iterator[int]] = {}  # of processes, as a forked one must not take its parent's


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody uses.

    Several processes run tests at the same time, and a port is free until its server has started. So each
    goes through the ports from a place of its own on, and comes to none again before it has been at all.
    """
    found: list[int] = []
    with _lock:
        walk = _walks.setdefault(os.getpid(), _walk())
        for _ in PORTS:
            if len(found) == count:
                break
            port = next(walk)
            with socket.socket() as sock:
                try:
                    sock.bind(("127.0.0.1", port))
                except OSError:
                    continue
            found.append(port)
    assert len(found) == count, "no free ports"
    return found


def _walk() -> Iterator[int]:
    place = random.SystemRandom().randrange(len(PORTS))
    while True:
        yield PORTS[place]
        place = (place + 1) % len(PORTS)
