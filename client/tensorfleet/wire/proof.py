"""AUTH: frames by which both sides of a connection prove, before HELLO, that they know the cluster secret.

    opener → acceptor   what it says of itself, and a random number
    acceptor → opener   the same, and its proof
    opener → acceptor   its proof
    acceptor → opener   nothing: it goes on

What they say of themselves has to be what their HELLO says.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

from tensorfleet.core import errors
from tensorfleet.security import secret as proofs
from tensorfleet.wire.frames import Kind, encode, unpack_error
from tensorfleet.wire.limits import MAX_AUTH_BYTES
from tensorfleet.wire.reader import Reader

CLAIMS = ("task", "incarnation")
"""What of a HELLO is proven."""


def claims(about: Mapping[str, Any]) -> dict[str, Any]:
    """What a HELLO says of who speaks."""
    return {name: about[name] for name in CLAIMS if name in about}


def open_with_proof(
    sock: socket.socket, reader: Reader, secret: bytes, about: Mapping[str, Any]
) -> dict[str, Any]:
    """Proves to the side that accepted the connection, and has it prove, that both know the secret.

    Returns:
        What the other side has proven to be.

    Raises:
        OSError, EOFError: the connection broke, or the timeout passed.
        ValueError: the other side does not speak this protocol.
        UnauthenticatedError: it does not know the secret.
        OpError: it refuses.
    """
    own = _said(about)
    _send(sock, own)
    answer = _receive(sock, reader)
    theirs, mac = answer[: -proofs.NONCE_BYTES], answer[-proofs.NONCE_BYTES :]
    if not proofs.same(mac, proofs.prove(secret, proofs.ACCEPTOR, own, theirs)):
        raise errors.UnauthenticatedError(None, None, "the other side does not know the cluster secret")
    _send(sock, proofs.prove(secret, proofs.OPENER, own, theirs))
    _receive(sock, reader)
    return _claims(theirs)


def accept_with_proof(
    sock: socket.socket, reader: Reader, secret: bytes, about: Mapping[str, Any]
) -> dict[str, Any]:
    """As `open_with_proof`, for the side that accepted the connection."""
    theirs = _receive(sock, reader)
    claimed = _claims(theirs)
    own = _said(about)
    _send(sock, own + proofs.prove(secret, proofs.ACCEPTOR, theirs, own))
    if not proofs.same(_receive(sock, reader), proofs.prove(secret, proofs.OPENER, theirs, own)):
        raise errors.UnauthenticatedError(None, None, "it does not know the cluster secret")
    _send(sock, b"")
    return claimed


def _said(about: Mapping[str, Any]) -> bytes:
    return proofs.nonce() + json.dumps(claims(about)).encode()


def _claims(said: bytes) -> dict[str, Any]:
    if len(said) <= proofs.NONCE_BYTES:
        raise ValueError("it does not say who it is")
    found = json.loads(said[proofs.NONCE_BYTES :])
    if not isinstance(found, dict):
        raise ValueError("it does not say who it is")
    return found


def _send(sock: socket.socket, data: bytes) -> None:
    (frame,) = encode(Kind.AUTH, 0, 0, data)
    sock.sendall(frame)


def _receive(sock: socket.socket, reader: Reader) -> bytes:
    limits = reader.max_head, reader.max_payload
    reader.max_head, reader.max_payload = MAX_AUTH_BYTES, 0
    try:
        frame = reader.read()
    finally:
        reader.max_head, reader.max_payload = limits
    if frame.kind == Kind.ERROR:
        raise unpack_error(frame)
    if frame.kind != Kind.AUTH:
        raise ValueError(f"a frame of kind {frame.kind} in place of a proof")
    return frame.meta
