"""Admission: limits on the connections of clients, and on the memory for what arrives on them.

A *client* here is who a connection is of, as far as is known: the name of a token or certificate, else a user
and process of this machine, or an address. Strangers, who have not said HELLO, may have
`limits.MAX_STRANGERS` connections together; for one more, of the address that has the most of them the one is
ended that has been silent longest. So however many come and say nothing, whoever says HELLO is heard.
"""

from __future__ import annotations

import resource
import socket
import struct
import threading
import time
from collections import Counter, OrderedDict

from tensorfleet.core import errors
from tensorfleet.wire.connection import Connection
from tensorfleet_service.net import limits, timeouts

_DESCRIPTORS_FOR_OTHERS = 4  # one descriptor in four is for gRPC, files and tasks


class Admission:
    """The connections of a task, and the memory for what arrives on them. Safe to use from several threads.

    Args:
        most: limit on the connections of all clients together.
        per_client: limit on the connections of each client.
        bytes: limit on the memory for everything that arrives.
        client_bytes: limit on the memory for frames from one client. A single frame always gets the memory it
            needs, if it is the only one.
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
        self._strangers: OrderedDict[Connection, str] = OrderedDict()  # with their addresses
        self._clients: dict[str, int] = {}
        self._total = 0
        self._arriving: dict[str, int] = {}
        self._all_arriving = 0

    def arrived(self, connection: Connection, place: str = "") -> None:
        """Somebody has connected from an address, and has not said HELLO."""
        oldest = None
        with self._lock:
            self._strangers[connection] = place
            if len(self._strangers) > limits.MAX_STRANGERS:
                ((most, _),) = Counter(self._strangers.values()).most_common(1)
                oldest = next(one for one, its in self._strangers.items() if its == most)
                del self._strangers[oldest]
        if oldest is not None:
            oldest.close()

    def gone(self, connection: Connection) -> None:
        """Notes that a connection is not a stranger's any more: it was greeted, or has ended."""
        with self._lock:
            self._strangers.pop(connection, None)

    def admit(self, client: str) -> Place:
        """A place for a connection of a client, until `Place.leave`.

        Raises:
            ResourceExhaustedError: the client, or all clients together, have too many connections.
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
        """A description of the limit that is exceeded; empty if there is room."""
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
    """The share of a client's connection; a `wire.reader.Account`."""

    __slots__ = ("_admission", "_client")

    def __init__(self, admission: Admission, client: str) -> None:
        self._admission = admission
        self._client = client

    def take(self, size: int, held: int) -> None:
        """Counts memory for a frame that arrives. Raises MemoryError with the limit that is exceeded."""
        self._admission._take(self._client, size, held)

    def give_back(self, size: int) -> None:
        self._admission._give_back(self._client, size)

    def leave(self) -> None:
        """Gives the place up, at the end of the connection."""
        self._admission._leave(self._client)


def client_of(sock: socket.socket) -> str:
    """The client of a connection, as far as the socket tells."""
    if sock.family == getattr(socket, "AF_UNIX", None):
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        process, user, _ = struct.unpack("3i", credentials)
        return f"process {process} of user {user}"
    try:
        return str(sock.getpeername()[0])
    except OSError:
        return "a peer that is gone"


def limit_stalls(sock: socket.socket) -> None:
    """Sets a timeout for reads: BlockingIOError after STALL_SECONDS without a byte."""
    seconds, rest = divmod(timeouts.STALL_SECONDS, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(seconds), int(rest * 1e6)))


def raise_descriptor_limit() -> None:
    """Raises this process's limit on files and sockets as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def connections_that_fit() -> int:
    """The number of connections for which this process has descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits.MAX_CONNECTIONS
    return min(limits.MAX_CONNECTIONS, soft - max(soft // _DESCRIPTORS_FOR_OTHERS, 1))


def _too_many(what: str, variable: str) -> errors.OpError:
    return errors.ResourceExhaustedError(
        None, None, f"{what}, which is the limit: close some, or raise {variable} on the task."
    )
