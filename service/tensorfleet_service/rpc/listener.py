"""Listener: the stream endpoint of a task: a TCP port, and on Linux an abstract Unix socket for the same
machine.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from tensorfleet.core import errors
from tensorfleet.wire.connection import Connection
from tensorfleet.wire.hello import answer_hello
from tensorfleet.wire.limits import HELLO_SECONDS
from tensorfleet_service.net import limits
from tensorfleet_service.net.admission import Admission

log = logging.getLogger(__name__)

ROOM_SECONDS = 0.5  # until the next look for a free descriptor
BACKLOG = 1024

Accept = Callable[[Connection, dict[str, Any]], None]


class Listener:
    """Accepts connections and greets whoever opened them.

    Args:
        host: the interface for TCP.
        port: 0 for any free one.
        advertised_host: the host that others reach the port at.
        hello: what this side says of itself.
        admission: whose connections these are.
        accept: called with each greeted connection and the other side's hello, on a thread of the
            connection's own; the connection ends when it returns, unless it was handed on.
    """

    def __init__(
        self,
        host: str,
        port: int,
        advertised_host: str,
        hello: dict[str, Any],
        accept: Accept,
        admission: Admission | None = None,
    ) -> None:
        self._admission = admission or Admission()
        self._hello = hello
        self._accept = accept
        self._closed = threading.Event()
        tcp = _bound(host, port)
        self._sockets = [tcp]
        self.addresses = [f"tcp:{advertised_host}:{tcp.getsockname()[1]}"]
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
        refusing = False
        while not self._closed.is_set():
            sock = None
            try:
                sock, _ = server.accept()
                threading.Thread(target=self._greet, args=(sock,), name="connection", daemon=True).start()
            except (OSError, RuntimeError) as e:  # no descriptor is free, or no thread can be started
                if sock is not None:
                    sock.close()
                if self._closed.is_set() or server.fileno() < 0:
                    return
                if isinstance(e, ConnectionError):
                    continue  # whoever came has gone already
                if not refusing:
                    log.warning("no connection can be accepted, until there is room again: %s", e)
                refusing = True
                self._closed.wait(ROOM_SECONDS)
            else:
                if refusing:
                    log.info("connections are accepted again")
                refusing = False

    def _greet(self, sock: socket.socket) -> None:
        connection = Connection(sock)
        reader = connection.reader
        self._admission.arrived(connection)
        try:
            reader.deadline = time.monotonic() + HELLO_SECONDS
            sock.settimeout(HELLO_SECONDS)
            limits.apply(reader)
            hello, connection.arena = answer_hello(sock, reader, self._hello)
            reader.deadline = None
            sock.settimeout(None)
        except (OSError, EOFError, errors.OpError) as e:
            log.info("a connection was refused: %s", e)
            connection.close()
        except Exception as e:  # whatever the bytes of a stranger lead to ends their connection alone
            log.info("a connection was refused: %s: %s", type(e).__name__, e)
            connection.refuse(
                errors.InvalidArgumentError(None, None, f"The greeting cannot be understood: {e}")
            )
        else:
            self._admission.gone(connection)
            self._accept(connection, hello)
        finally:
            self._admission.gone(connection)

    def close(self) -> None:
        """Takes no more connections; those that are open stay."""
        self._closed.set()
        for sock in self._sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
            except OSError:
                pass  # some systems do not let a listening socket be shut down; closing it is enough there
            sock.close()


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens at the host; for "::" at all interfaces, by IPv4 and, if there is one, IPv6."""
    if host == "::" and not socket.has_dualstack_ipv6():
        host = "0.0.0.0"
    if ":" not in host:
        return socket.create_server((host, port), backlog=BACKLOG)
    return socket.create_server(
        (host, port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=host == "::"
    )
