"""Whose process has opened a connection within this machine, as the system says."""

from __future__ import annotations

import os
import socket
import sys

KNOWN = sys.platform == "linux"
"""Whether this system says it."""

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_TRIES = 5
_MAPPED = bytes(10) + b"\xff\xff"
"""Before an IPv4 address in the place of an IPv6 one: sockets for both, such as gRPC's, have it."""


def is_own(sock: socket.socket) -> bool:
    """Whether the other side of a connection is a process of this one's user, on this machine.

    The superuser's are not, but for itself. A side that is gone by now is nobody's.
    """
    try:
        wanted = set(zip(_forms(sock.getpeername()), _forms(sock.getsockname()), strict=True))
        # The system gives its table in parts, so that one may miss a connection while others begin and end.
        users = (_user(wanted) for _ in range(_TRIES))
        return next((user for user in users if user is not None), None) == os.getuid()
    except OSError:
        return False


def _user(wanted: set[tuple[str, str]]) -> int | None:
    """The user of the side of a connection that has the two places; None if it is not in the tables."""
    for table in _TABLES:
        with open(table, encoding="ascii") as file:
            next(file)
            for line in file:
                fields = line.split()
                if (fields[1], fields[2]) in wanted and fields[9] != "0":
                    return int(fields[7])
    return None


def _forms(place: tuple[str, int]) -> list[str]:
    """A host and a port in the forms that the system's tables may have for them."""
    host = place[0].partition("%")[0]
    if ":" in host:
        data = socket.inet_pton(socket.AF_INET6, host)
        kinds = [data.removeprefix(_MAPPED), data]
    else:
        data = socket.inet_pton(socket.AF_INET, host)
        kinds = [data, _MAPPED + data]
    return [f"{_words(kind)}:{place[1]:04X}" for kind in kinds]


def _words(data: bytes) -> str:
    return "".join(f"{int.from_bytes(data[i : i + 4], sys.byteorder):08X}" for i in range(0, len(data), 4))
