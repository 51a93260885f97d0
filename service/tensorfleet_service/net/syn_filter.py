"""A filter on listening sockets, by which the kernel drops a share of some networks' new connections.

gRPC accepts connections by itself, and reads what comes on them before the task hears of it. But a filter of
the kernel can be attached to the socket at which it listens (SO_ATTACH_FILTER of Linux, for which a process
needs no rights), and drops what asks for a connection before there is one. To who connects it looks like a
lost packet, so that it tries again, after a second. The filter looks at nothing but such packets: accepted
connections inherit it, without effect.
"""

from __future__ import annotations

import ctypes
import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterable, Mapping

_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27

# Instructions of the classic BPF: of Linux's `Documentation/networking/filter.rst`.
_LOAD_BYTE, _LOAD_WORD = 0x30, 0x20
_AND = 0x54
_JUMP, _IF_EQUAL, _IF_AT_LEAST = 0x05, 0x15, 0x35
_RETURN = 0x06
_ALL, _NONE = 0xFFFFFFFF, 0
_NETWORK_HEADER = 0xFFF00000  # added to an offset into the header of IP; others are into that of TCP
_RANDOM = 0xFFFFF000 + 56
_TCP_FLAGS, _SYN, _SYN_AND_ACK = 13, 0x02, 0x12
_IPV4_SOURCE, _IPV6_SOURCE = 12, 8

_Instruction = tuple[int, int, int, int]


def program(shares: Mapping[str, float]) -> list[_Instruction]:
    """The filter that lets the share of each network's new connections pass, and all those of others."""
    fourth: list[_Instruction] = [(_LOAD_WORD, 0, 0, _NETWORK_HEADER + _IPV4_SOURCE)]
    sixth: list[_Instruction] = []
    for name, share in shares.items():
        network = ipaddress.ip_network(name)
        by_chance: list[_Instruction] = [
            (_LOAD_WORD, 0, 0, _RANDOM),
            (_IF_AT_LEAST, 0, 1, min(int(share * (1 << 32)), _ALL)),
            (_RETURN, 0, 0, _NONE),
            (_RETURN, 0, 0, _ALL),
        ]
        past = len(by_chance)
        if network.version == 4:
            (word,) = struct.unpack("!I", network.network_address.packed)
            fourth += [(_IF_EQUAL, 0, past, word), *by_chance]
        else:
            first, second = struct.unpack("!2I", network.network_address.packed[:8])
            sixth += [
                (_LOAD_WORD, 0, 0, _NETWORK_HEADER + _IPV6_SOURCE),
                (_IF_EQUAL, 0, past + 2, first),
                (_LOAD_WORD, 0, 0, _NETWORK_HEADER + _IPV6_SOURCE + 4),
                (_IF_EQUAL, 0, past, second),
                *by_chance,
            ]
    fourth.append((_RETURN, 0, 0, _ALL))
    return [
        (_LOAD_BYTE, 0, 0, _TCP_FLAGS),
        (_AND, 0, 0, _SYN_AND_ACK),
        (_IF_EQUAL, 1, 0, _SYN),
        (_RETURN, 0, 0, _ALL),
        (_LOAD_BYTE, 0, 0, _NETWORK_HEADER),
        (_AND, 0, 0, 0xF0),
        (_IF_EQUAL, 1, 0, 0x40),  # the version of IP
        (_JUMP, 0, 0, len(fourth)),
        *fourth,
        *sixth,
        (_RETURN, 0, 0, _ALL),
    ]


def attach(ports: Iterable[int], descriptors: Iterable[int], shares: Mapping[str, float]) -> bool:
    """Filters new connections to this process's ports, given its descriptors; without shares, none.

    Returns whether they are; False where the system has no such filter.
    """
    if sys.platform != "linux":
        return False
    wanted, done = set(ports), False
    code = [struct.pack("=HBBI", *instruction) for instruction in program(shares)]
    instructions = ctypes.create_string_buffer(b"".join(code))
    option = struct.pack("@HP", len(code), ctypes.addressof(instructions))
    for descriptor in descriptors:
        try:
            own = os.dup(descriptor)  # a copy, which nobody else closes meanwhile
        except OSError:
            continue  # closed since
        try:
            sock = socket.socket(fileno=own)
        except OSError:
            os.close(own)  # no socket
            continue
        with sock:
            try:
                if not _listens(sock) or sock.getsockname()[1] not in wanted:
                    continue
                if shares:
                    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, option)
                else:
                    sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
                done = True
            except OSError:
                continue  # closed, or it has no filter to take away
    return done


def _listens(sock: socket.socket) -> bool:
    return (
        sock.family in (socket.AF_INET, socket.AF_INET6)
        and sock.type == socket.SOCK_STREAM
        and sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0
    )
