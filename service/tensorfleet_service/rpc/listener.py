"""Listener: the stream endpoint of a task, which is a TCP port and, on Linux, an abstract Unix socket for
clients and tasks on the same machine.
"""

from __future__ import annotations

import logging
import math
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from tensorfleet_service.net import timeouts
from tensorfleet_service.net.admission import Admission
from tensorfleet_service.net.refusals import Refusals
from tensorfleet_service.rpc.door import Door, Visitor
from tensorfleet_service.security.guard import Guard

log = logging.getLogger(__name__)

BACKLOG = 1024

WARNED_EVERY_SECONDS = 60.0
"""A task that is short of descriptors takes a connection whenever one is free: no warning for each time."""

Accept = Callable[[Visitor], None]


class Listener:
    """Accepts connections and greets the other sides.

    Args:
        host: the interface for TCP.
        port: 0 for any free one.
        advertised_host: the host by which others reach the port.
        hello: this side's statement about itself.
        admission: counts connections.
        accept: called with each visitor that was let in, on a thread of its own; the connection ends when it
            returns, unless it was handed on.
        guard: decides who is let in; by default everybody.
        refusals: counts those who are not.

    Attributes:
        port: that of TCP.
    """

    def __init__(
        self,
        host: str,
        port: int,
        advertised_host: str,
        hello: dict[str, Any],
        accept: Accept,
        admission: Admission | None = None,
        guard: Guard | None = None,
        refusals: Refusals | None = None,
    ) -> None:
        self._door = Door(guard or Guard(), hello, admission, refusals)
        self._accept = accept
        self._closed = threading.Event()
        tcp = _bound(host, port)
        self._sockets = [tcp]
        self.port: int = tcp.getsockname()[1]
        self.addresses = [f"tcp:{advertised_host}:{self.port}"]
        if sys.platform == "linux":
            name = f"tensorfleet-{hello['incarnation']:016x}"
            unix = socket.socket(socket.AF_UNIX)
            unix.bind("\0" + name)
            unix.listen(BACKLOG)
            self._sockets.append(unix)
            self.addresses.insert(0, f"unix:@{name}")

    def start(self) -> None:
        for sock in self._sockets:
            threading.Thread(target=self._serve, args=(sock,), name="accept", daemon=True).start()

    def _serve(self, server: socket.socket) -> None:
        refusing = is_told = False
        told = -math.inf
        while not self._closed.is_set():
            sock = None
            try:
                sock, _ = server.accept()
                threading.Thread(target=self._greet, args=(sock,), name="connection", daemon=True).start()
            except (OSError, RuntimeError) as e:  # such as without a free descriptor or thread
                if sock is not None:
                    sock.close()
                if self._closed.is_set() or server.fileno() < 0:
                    return
                if isinstance(e, ConnectionError):
                    continue  # the other side has closed the connection already
                now = time.monotonic()
                if not refusing and now - told >= WARNED_EVERY_SECONDS:
                    log.warning("connections cannot be accepted now: %s", e)
                    is_told, told = True, now
                refusing = True
                self._closed.wait(timeouts.DESCRIPTOR_SECONDS)
            else:
                if refusing and is_told:
                    log.info("connections are accepted again")
                refusing = is_told = False

    def _greet(self, sock: socket.socket) -> None:
        visitor = self._door.open(sock)
        if visitor is not None:
            self._accept(visitor)

    def close(self) -> None:
        """Stops accepting connections; open ones stay."""
        self._closed.set()
        for sock in self._sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread
            except OSError:
                pass  # on some systems a listening socket cannot be shut down, and closing it is enough
            sock.close()


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens at the host; for "::" at all interfaces, by IPv4 and, if available, IPv6."""
    if host == "::" and not socket.has_dualstack_ipv6():
        host = "0.0.0.0"
    if ":" not in host:
        return socket.create_server((host, port), backlog=BACKLOG)
    return socket.create_server(
        (host, port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=host == "::"
    )
