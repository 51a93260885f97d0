"""Callers: the connections by gRPC, with a limit on those of strangers, who have not authenticated.

gRPC accepts all connections, and does not report them until a call comes. So the task checks its own
descriptors: if too many connections to its port are strangers', it ends some of the address that has the most
of them, the silent ones first. A client that has made an accepted call is not a stranger.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import socket
import threading
import time
from collections import Counter
from urllib.parse import unquote

from tensorfleet_service.net import limits
from tensorfleet_service.net.refusals import Refusals

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
BUSY_SECONDS = 0.1  # time until the next check, while there are too many
MAX_CALLS, CALLS_SECONDS = 32, 10.0  # of a connection of which no call was let in: for more it is ended
_DESCRIPTORS = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
_FOR_STRANGERS = 4  # one descriptor in four may be a stranger's
_REMEMBERED = 10_000

_Place = tuple[str, int]


class Callers:
    """The connections by gRPC to a port of this process. Safe to use from several threads.

    Args:
        most: limit on strangers' connections.
        refusals: counts those who are not let in.
    """

    def __init__(self, most: int = limits.MAX_GRPC_STRANGERS, refusals: Refusals | None = None) -> None:
        self._refusals = refusals or Refusals()
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = most if soft == resource.RLIM_INFINITY else max(min(most, soft // _FOR_STRANGERS), 1)
        self._lock = threading.Lock()
        self._heard: dict[str, bool] = {}  # whether a peer, by gRPC's name of it, was let in
        self._absent: set[str] = set()
        self._ages: dict[_Place, int] = {}  # the number of the check that first saw a connection
        self._looks = 0
        self._many = False
        self._calls: Counter[str] = Counter()  # of strangers, by peer
        self._calls_since = 0.0

    def heard(self, peer: str, let_in: bool, port: int = 0) -> None:
        """Notes a call, given gRPC's name of the other side, and whether that was let in.

        A stranger that calls and calls loses its connection to `port`, and with it what gRPC has of its
        calls: they would come before everybody else's.
        """
        if self._heard.get(peer):
            return
        if let_in:
            self._refusals.let_in(_host(peer))
        else:
            self._refusals.note(_host(peer))
        with self._lock:
            self._heard[peer] = let_in
            if let_in or not port:
                self._calls.pop(peer, None)
                return
            now = time.monotonic()
            if now - self._calls_since > CALLS_SECONDS:
                self._calls.clear()
                self._calls_since = now
            self._calls[peer] += 1
            if self._calls[peer] <= MAX_CALLS:
                return
            del self._calls[peer]
        for descriptor in own_descriptors():
            place = _caller(descriptor, port)
            if place is not None and _name(place) == peer:
                _end(descriptor, place)
                return

    def look(self, port: int) -> float:
        """Ends connections of strangers if there are too many; returns the seconds until the next check."""
        descriptors = own_descriptors()
        if len(descriptors) <= self._most and len(self._heard) < _REMEMBERED:
            return LOOK_SECONDS
        self._looks += 1
        places: dict[_Place, int] = {}
        for descriptor in descriptors:
            if (place := _caller(descriptor, port)) is not None:
                places[place] = descriptor
        self._ages = {place: self._ages.get(place, self._looks) for place in places}
        self._forget({_name(place) for place in places})
        strangers = [place for place in places if not self._heard.get(_name(place))]
        if len(strangers) <= self._most:
            self._many = False
            return LOOK_SECONDS
        if not self._many:
            log.warning(
                "%d connections by gRPC are of strangers: %d of them stay", len(strangers), self._most
            )
        self._many = True
        for place in self._surplus(strangers):
            _end(places[place], place)
        return BUSY_SECONDS

    def _forget(self, there: set[str]) -> None:
        """Forgets peers that were missing twice, as one may have connected since this check began."""
        with self._lock:
            for peer in self._absent - there:
                self._heard.pop(peer, None)
            self._absent = set(self._heard) - there

    def _surplus(self, strangers: list[_Place]) -> list[_Place]:
        """The connections to end: of the addresses that have most, the silent ones first, then the oldest."""
        by_host: dict[str, list[_Place]] = {}
        for place in sorted(
            strangers, key=lambda place: (_name(place) in self._heard, self._ages[place]), reverse=True
        ):
            by_host.setdefault(place[0], []).append(place)
        counts = Counter({host: len(found) for host, found in by_host.items()})
        surplus = []
        # The largest share that all hosts can have; connections beyond it are ended.
        share = _share(list(counts.values()), self._most)
        for found in by_host.values():
            while len(found) > share:
                surplus.append(found.pop())
        return surplus


def own_descriptors() -> list[int]:
    """The descriptors of this process."""
    try:
        return [int(name) for name in os.listdir(_DESCRIPTORS)]
    except OSError:  # such as without a free descriptor for the check
        return list(range(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def _share(counts: list[int], most: int) -> int:
    """The largest number for each with which all together have no more than `most`."""
    left, share = most, 0
    for i, count in enumerate(sorted(counts)):
        share = left // (len(counts) - i)
        if count > share:
            return share
        left -= count
    return share


def _name(place: _Place) -> str:
    """A peer in the form that gRPC names it."""
    host, port = place
    return f"ipv6:%5B{host.replace('%', '%25')}%5D:{port}" if ":" in host else f"ipv4:{host}:{port}"


def _host(peer: str) -> str:
    """The address of a peer, given gRPC's name of it."""
    return unquote(peer.partition(":")[2].rpartition(":")[0]).strip("[]")


def _caller(descriptor: int, port: int) -> _Place | None:
    """The address from which a connection to the port comes; None for other descriptors."""
    try:
        sock = socket.socket(fileno=descriptor)
    except OSError:
        return None
    try:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or sock.type != socket.SOCK_STREAM:
            return None
        if sock.getsockname()[1] != port:
            return None
        host, from_port = sock.getpeername()[:2]
        return host.removeprefix("::ffff:"), from_port
    except OSError:
        return None  # a listening socket, or a closed connection
    finally:
        sock.detach()


def _end(descriptor: int, place: _Place) -> None:
    """Ends a connection, if it still has the descriptor."""
    own = -1
    with contextlib.suppress(OSError):
        own = os.dup(descriptor)  # a copy, which nobody else closes meanwhile
    sock = None
    try:
        sock = socket.socket(fileno=descriptor if own < 0 else own)
        host, from_port = sock.getpeername()[:2]
        if (host.removeprefix("::ffff:"), from_port) == place:
            sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended by itself
    finally:
        if sock is not None:
            sock.detach()
        if own >= 0:
            os.close(own)
