"""Shares of a task: how many connections a client may have at once, and how much memory for what arrives.

A *client* here is who a connection is of, as far as is known: the name of a token or certificate, else a user
and process of this machine, or an address. Strangers, who have not said HELLO, may have
`limits.MAX_STRANGERS` connections together; for one more, the one that has been silent longest is ended. So
however many come and say nothing, whoever says HELLO is heard.
"""

from __future__ import annotations

import resource
import socket
import struct
import threading
import time
from collections import OrderedDict

from tensorfleet.core import errors
from tensorfleet.wire.connection import Connection
from tensorfleet_service.net import limits, timeouts

_DESCRIPTORS_FOR_OTHERS = 4  # of four, one is for gRPC, files and tasks


class Admission:
    """The connections of a task, and the memory for what arrives on them. Safe to use from several threads.

    Args:
        most: connections of all clients together.
        per_client: of each.
        bytes: for all that arrives.
        client_bytes: for what arrives from one client. One frame may always have what it needs, if it is
            the only one.
    """

    def __init__(
        self,
        most: int = limits.MAX_CONNECTIONS,
        per_client: int = limits.MAX_CLIENT_CONNECTIONS,
        bytes: int = limits.MAX_ARRIVING_BYTES,
        client_bytes: int = limits.MAX_CLIENT_ARRIVING_BYTES,
    ) -> None:
        self._most = most
        self._per_client = per_client
        self._bytes = bytes
        self._client_bytes = client_bytes
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._strangers: OrderedDict[Connection, None] = OrderedDict()
        self._clients: dict[str, int] = {}
        self._total = 0
        self._arriving: dict[str, int] = {}
        self._all_arriving = 0

    def arrived(self, connection: Connection) -> None:
        """Somebody has connected, and has not said HELLO."""
        oldest = None
        with self._lock:
            self._strangers[connection] = None
            if len(self._strangers) > limits.MAX_STRANGERS:
                oldest, _ = self._strangers.popitem(last=False)
        if oldest is not None:
            oldest.close()

    def gone(self, connection: Connection) -> None:
        """A connection is no stranger's any more: it was greeted, or has ended."""
        with self._lock:
            self._strangers.pop(connection, None)

    def admit(self, client: str) -> Place:
        """A place for a connection of a client, which is given up by `Place.leave`.

        Raises:
            ResourceExhaustedError: the client, or all of them, have too many.
        """
        with self._lock:
            has = self._clients.get(client, 0)
            if has >= self._per_client:
                raise _too_many(f"{client} has {has} connections", limits.CLIENT_CONNECTIONS_VARIABLE)
            if self._total >= self._most:
                raise _too_many(f"clients have {self._total} connections", limits.CONNECTIONS_VARIABLE)
            self._clients[client] = has + 1
            self._total += 1
        return Place(self, client)

    def _leave(self, client: str) -> None:
        with self._lock:
            self._total -= 1
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]

    def _take(self, client: str, size: int, held: int) -> None:
        end = time.monotonic() + timeouts.ROOM_SECONDS
        with self._room:
            while why := self._missing(client, size, held):
                if not self._room.wait(end - time.monotonic()):
                    raise MemoryError(
                        f"For {timeouts.ROOM_SECONDS:g} s there was no room for what arrives: {why}. "
                        "Send less at once, or raise it on the task."
                    )
            self._arriving[client] = self._arriving.get(client, 0) + size
            self._all_arriving += size

    def _missing(self, client: str, size: int, held: int) -> str:
        """The limit that is in the way, in words; empty if there is room."""
        own = self._arriving.get(client, 0)
        if own + size > self._client_bytes and own > held:
            return (
                f"{own} bytes are on their way from {client}, of {self._client_bytes} "
                f"({limits.CLIENT_ARRIVING_VARIABLE})"
            )
        if self._all_arriving + size > self._bytes and self._all_arriving > held:
            return (
                f"{self._all_arriving} bytes are on their way, of {self._bytes} ({limits.ARRIVING_VARIABLE})"
            )
        return ""

    def _give_back(self, client: str, size: int) -> None:
        with self._room:
            self._all_arriving -= size
            self._arriving[client] -= size
            if not self._arriving[client]:
                del self._arriving[client]
            self._room.notify_all()


class Place:
    """A client's connection among the others: a `wire.reader.Account`."""

    __slots__ = ("_admission", "_client")

    def __init__(self, admission: Admission, client: str) -> None:
        self._admission = admission
        self._client = client

    def take(self, size: int, held: int) -> None:
        """Counts memory for a frame that arrives. Raises MemoryError, which says the limit in the way."""
        self._admission._take(self._client, size, held)

    def give_back(self, size: int) -> None:
        self._admission._give_back(self._client, size)

    def leave(self) -> None:
        """The connection has ended."""
        self._admission._leave(self._client)


def client_of(sock: socket.socket) -> str:
    """The client that a connection is of, as far as the socket tells."""
    if sock.family == getattr(socket, "AF_UNIX", None):
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        process, user, _ = struct.unpack("3i", credentials)
        return f"process {process} of user {user}"
    try:
        return str(sock.getpeername()[0])
    except OSError:
        return "a peer that is gone"


def limit_stalls(sock: socket.socket) -> None:
    """Has a read end with BlockingIOError when nothing has come for STALL_SECONDS."""
    seconds, rest = divmod(timeouts.STALL_SECONDS, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(seconds), int(rest * 1e6)))


def raise_descriptor_limit() -> None:
    """Lets this process have as many files and sockets as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections_that_fit() -> int:
    """The number of connections that the descriptors of this process are enough for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits.MAX_CONNECTIONS
    return min(limits.MAX_CONNECTIONS, soft - max(soft // _DESCRIPTORS_FOR_OTHERS, 1))


def _too_many(what: str, variable: str) -> errors.OpError:
    return errors.ResourceExhaustedError(
        None, None, f"{what}, as many as it may have: close some, or raise {variable} on the task."
    )
