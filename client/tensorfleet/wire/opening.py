"""Opening a connection of the stream: TLS or a proof where the settings have it, then HELLO."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from tensorfleet.core import errors
from tensorfleet.security import tls as certificate_files
from tensorfleet.security.calls import check_token_may_go
from tensorfleet.security.settings import Security, SecurityError
from tensorfleet.security.tokens import hashed
from tensorfleet.wire import shared_memory
from tensorfleet.wire.grpc_socket import GrpcSocket
from tensorfleet.wire.hello import say_hello
from tensorfleet.wire.proof import claims, open_with_proof
from tensorfleet.wire.reader import Reader
from tensorfleet.wire.shared_memory import Arena
from tensorfleet.wire.tls import TlsSocket


def encrypted(sock: Any, security: Security) -> TlsSocket | None:
    """The TLS socket over a socket that this process has opened; None where the settings have no TLS, or it
    is that of gRPC's channel.

    Raises:
        OSError: the handshake failed, or took longer than the socket's timeout.
        UnauthenticatedError: the other side has no certificate that is trusted.
    """
    if security.tls is None or isinstance(sock, GrpcSocket):
        return None
    try:
        context = certificate_files.certificates(security.tls).client_context()
        return TlsSocket(sock, context, server_side=False)
    except SecurityError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None
    except ssl.SSLCertVerificationError as e:
        text = f"its certificate is not trusted: {e.verify_message}"
        raise errors.UnauthenticatedError(None, None, text) from None


def unauthenticated(error: ssl.SSLError) -> errors.OpError:
    """What a connection that TLS has ended is reported as."""
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if error.reason == "WRONG_VERSION_NUMBER":
        reason = "it does not use TLS, which the settings of this process ask for"
    return errors.UnauthenticatedError(None, None, f"TLS: {reason}")


def open_hello(
    sock: Any, reader: Reader, about: dict[str, Any], security: Security, host: str
) -> tuple[dict[str, Any], Arena | None]:
    """`say_hello` to somebody who has proven to be whom it says.

    Args:
        sock: as `encrypted` gives it, or a plain one.
        host: that the connection leads to, "" for this machine's Unix socket.

    Raises:
        As `say_hello`, and:
        UnauthenticatedError: the other side is not whom it says, or does not say who this one is.
    """
    proven = None
    if security.secret:
        proven = open_with_proof(sock, reader, security.secret, about)
    if (security.token or security.token_file) and "task" not in about:
        _check_place(sock, security, host)
        try:
            token = security.client_token()
        except SecurityError as e:
            raise errors.InvalidArgumentError(None, None, str(e)) from None
        # Proofs may have been passed on by somebody in between, who gets no token to use elsewhere.
        about = about | ({"token_hash": hashed(token)} if security.secret else {"token": token})
    heard, arena = say_hello(sock, reader, about)
    why = ""
    if proven is not None and claims(heard) != proven:
        why = f"it has proven to be {proven}, and says to be {claims(heard)}"
    elif isinstance(sock, TlsSocket):
        assert security.tls is not None
        own = certificate_files.certificates(security.tls).own
        why = sock.identity.why_not_task(str(heard.get("task")), host, own)
    if why:
        if arena is not None:
            arena.close()
        reader.close()
        raise errors.UnauthenticatedError(None, None, why)
    if isinstance(sock, TlsSocket):
        sock.greeted()
    return heard, arena


def _check_place(sock: Any, security: Security, host: str) -> None:
    """Sees that a token goes to nobody else than the other side, and that this is of the same user here."""
    if sock.family == socket.AF_UNIX:
        if not (security.tls or security.secret or shared_memory.same_user(sock)):
            text = "the token is not sent, as another user of this machine listens there"
            raise errors.UnauthenticatedError(None, None, text)
        return
    check_token_may_go(security, host)
