"""HELLO: the first frame of each side of a stream connection, and the memory that the two may share.

    meta   MAGIC, then what the side says of itself, in JSON

Whoever opened the connection speaks first. On a Unix socket between processes of one user, its frame comes
with the descriptor of an arena for what it will send, and says how large an arena it takes; the other side
answers with one of its own if it shares memory, too. Memory is shared in both directions or in none.
"""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Callable
from typing import Any

from tensorfleet.wire import shared_memory
from tensorfleet.wire.frames import MAGIC, Kind, encode, unpack_error
from tensorfleet.wire.limits import MAX_HELLO_BYTES, READ_BUFFER_BYTES, SHARED_FROM_BYTES
from tensorfleet.wire.reader import Reader
from tensorfleet.wire.shared_memory import Arena, Borrowed

_ROOM = "shared_memory"

_logger = logging.getLogger("tensorfleet")


def say_hello(
    sock: socket.socket, reader: Reader, about: dict[str, Any]
) -> tuple[dict[str, Any], Arena | None]:
    """Greets the side that accepted the connection.

    Args:
        sock: with a timeout.
        reader: of the socket, with its limits.
        about: what this side says of itself.

    Returns:
        What the other side says of itself, and the memory for large tensors to it, if they share any.

    Raises:
        OSError, EOFError: the connection broke, or the timeout passed.
        ValueError: the other side does not speak this protocol.
        OpError: it refuses.
    """
    arena = _arena(sock, shared_memory.SIZE)
    _send(sock, about | {_ROOM: reader.max_payload} if arena else about, arena)
    heard, descriptor = _receive(sock, reader)
    if descriptor is None:
        return heard, None
    borrowed = Borrowed(descriptor)
    if arena is None or borrowed.size > reader.max_payload:
        raise ValueError("it shares memory that was not agreed upon")
    reader.borrowed = borrowed
    return heard, arena


def answer_hello(
    sock: socket.socket,
    reader: Reader,
    about: dict[str, Any],
    check: Callable[[dict[str, Any]], None] | None = None,
) -> tuple[dict[str, Any], Arena | None]:
    """Like `say_hello`, for the side that accepted the connection.

    Args:
        check: is given what the other side says before it is answered, or given memory; raises to refuse it.
    """
    heard, descriptor = _receive(sock, reader)
    if check is not None:
        try:
            check(heard)
        except BaseException:
            if descriptor is not None:
                os.close(descriptor)
            raise
    borrowed = None if descriptor is None else Borrowed(descriptor)
    arena = None
    if borrowed is not None and borrowed.size <= reader.max_payload:
        room = heard.get(_ROOM)
        if type(room) is not int:
            raise ValueError(f"{_ROOM} is {room!r}, which is no number of bytes")
        arena = _arena(sock, min(shared_memory.SIZE, room))
    if arena is not None:
        reader.borrowed = borrowed
    _send(sock, about, arena)
    return heard, arena


def _arena(sock: socket.socket, size: int) -> Arena | None:
    """Memory for the other side, if it may have any."""
    if not (shared_memory.SUPPORTED and size >= SHARED_FROM_BYTES and sock.family == socket.AF_UNIX):
        return None
    if not shared_memory.same_user(sock):
        return None
    try:
        return Arena(size)
    except OSError as e:
        _logger.info("tensors go by socket, as there is no shared memory: %s", e)
        return None


def _send(sock: socket.socket, about: dict[str, Any], arena: Arena | None) -> None:
    (frame,) = encode(Kind.HELLO, 0, 0, MAGIC + json.dumps(about).encode())
    if arena is None:
        sock.sendall(frame)
        return
    sent = socket.send_fds(sock, [frame], [arena.descriptor])
    if sent < len(frame):
        sock.sendall(frame[sent:])


def _receive(sock: socket.socket, reader: Reader) -> tuple[dict[str, Any], int | None]:
    """What the other side says of itself, and the descriptor that came with it."""
    limits = reader.max_head, reader.max_payload
    reader.max_head, reader.max_payload = MAX_HELLO_BYTES, 0
    descriptors: list[int] = []
    try:
        if shared_memory.SUPPORTED and sock.family == socket.AF_UNIX:
            data, descriptors, _, _ = socket.recv_fds(sock, READ_BUFFER_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
            if not data:
                raise EOFError("connection closed")
            reader.feed(data)
        frame = reader.read()
        if frame.kind == Kind.ERROR:
            raise unpack_error(frame)
        if frame.kind != Kind.HELLO or not frame.meta.startswith(MAGIC):
            raise ValueError(f"it does not speak {MAGIC.decode()}")
        about = json.loads(frame.meta[len(MAGIC) :])
        if not isinstance(about, dict):
            raise ValueError("it does not say who it is")
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    finally:
        reader.max_head, reader.max_payload = limits
    return about, descriptors[0] if descriptors else None
