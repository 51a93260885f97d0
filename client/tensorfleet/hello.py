"""HELLO: the first frame of each side of a stream connection.

    meta   MAGIC, then what the side says of itself, in JSON

Whoever opened the connection speaks first.
"""

from __future__ import annotations

import json
import socket
from typing import Any

from tensorfleet.stream import MAGIC, Kind, Reader, encode, unpack_error

MAX_HELLO = 64 * 1024
"""Bytes: whoever has not said who it is gets no more."""


def say_hello(sock: socket.socket, reader: Reader, about: dict[str, Any]) -> dict[str, Any]:
    """Greets the side that accepted the connection.

    Args:
        sock: with a timeout.
        reader: of the socket.
        about: what this side says of itself.

    Returns:
        What the other side says of itself.

    Raises:
        OSError, EOFError: the connection broke, or the timeout passed.
        ValueError: the other side does not speak this protocol.
        OpError: it refuses.
    """
    _send(sock, about)
    return _receive(reader)


def answer_hello(sock: socket.socket, reader: Reader, about: dict[str, Any]) -> dict[str, Any]:
    """As `say_hello`, for the side that accepted the connection."""
    heard = _receive(reader)
    _send(sock, about)
    return heard


def _send(sock: socket.socket, about: dict[str, Any]) -> None:
    (frame,) = encode(Kind.HELLO, 0, 0, MAGIC + json.dumps(about).encode())
    sock.sendall(frame)


def _receive(reader: Reader) -> dict[str, Any]:
    max_head, reader.max_head = reader.max_head, MAX_HELLO
    try:
        frame = reader.read()
    finally:
        reader.max_head = max_head
    if frame.kind == Kind.ERROR:
        raise unpack_error(frame)
    if frame.kind != Kind.HELLO or not frame.meta.startswith(MAGIC):
        raise ValueError(f"it does not speak {MAGIC.decode()}")
    about = json.loads(frame.meta[len(MAGIC) :])
    if not isinstance(about, dict):
        raise ValueError("it does not say who it is")
    return about
