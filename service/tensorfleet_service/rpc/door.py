"""Door: lets clients and tasks in that connect to a task: TLS or a proof by the settings, then HELLO."""

from __future__ import annotations

import logging
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Any

from tensorfleet.core import errors
from tensorfleet.security.tls import certificates
from tensorfleet.wire.connection import Connection
from tensorfleet.wire.frames import Kind
from tensorfleet.wire.grpc_socket import GrpcSocket
from tensorfleet.wire.hello import answer_hello
from tensorfleet.wire.limits import HELLO_SECONDS
from tensorfleet.wire.proof import accept_with_proof
from tensorfleet.wire.tls import TlsConnection, TlsSocket
from tensorfleet_service.net import limits
from tensorfleet_service.net.admission import Admission, client_of
from tensorfleet_service.net.refusals import Refusals
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.security.principal import Principal
from tensorfleet_service.security.repeats import Repeats

log = logging.getLogger(__name__)

_TLS_HANDSHAKE = 22
"""The first byte of a TLS connection; the first byte of a frame is its kind, which is another number."""


@dataclass
class Visitor:
    """A client or a task that was let in.

    Attributes:
        hello: its statement about itself, without secrets.
        principal: its identity.
        place: the address from which it has connected.
    """

    connection: Connection
    hello: dict[str, Any]
    principal: Principal
    place: str


class Door:
    """Lets in those whom the guard accepts.

    Args:
        hello: this side's statement about itself.
        admission: counts connections.
        refusals: counts those who are not let in.
    """

    def __init__(
        self,
        guard: Guard,
        hello: dict[str, Any],
        admission: Admission | None = None,
        refusals: Refusals | None = None,
    ) -> None:
        self._guard = guard
        self._refusals = refusals or Refusals()
        self._admission = admission or Admission()
        self._hello = hello
        self._broken = Repeats()

    def open(self, sock: Any) -> Visitor | None:
        """Greets whoever has connected; None, and no connection, for those who are not let in."""
        place = _place(sock)
        stranger = connection = Connection(sock)
        client = client_of(sock)
        self._admission.arrived(stranger, client)
        end = time.monotonic() + HELLO_SECONDS
        try:
            sock.settimeout(HELLO_SECONDS)
            connection = self._encrypted(sock, connection)
            sock.settimeout(HELLO_SECONDS)
            visitor = self._greet(connection, place, end)
            sock.settimeout(None)
            self._refusals.let_in(client)
            return visitor
        except (errors.UnauthenticatedError, errors.PermissionDeniedError) as e:
            if self._guard.audit.refused("", peer=place, reason=e.message):
                log.warning("a connection from %s was refused: %s", place, e.message)
            connection.refuse(e)
        except (OSError, EOFError, errors.OpError) as e:
            if isinstance(e, ssl.SSLError):
                self._guard.audit.refused("", peer=place, reason=f"TLS: {e}")
            self._tell(client, e)
            connection.close()
        except Exception as e:  # an error that a stranger's bytes cause ends only its connection
            self._tell(client, e)
            connection.refuse(errors.InvalidArgumentError(None, None, f"The greeting is malformed: {e}"))
        finally:
            self._admission.gone(stranger)
        self._refusals.note(client)
        return None

    def _tell(self, client: str, error: Exception) -> None:
        """Tells of a connection that ended before its greeting, unless many of its client did."""
        self._broken.take()
        if self._broken.note(client):
            log.info("a connection was refused: %s: %s", type(error).__name__, error)

    def _encrypted(self, sock: Any, plain: Connection) -> Connection:
        tls = self._guard.security.tls
        if tls is None or isinstance(sock, GrpcSocket):  # whose channel has TLS
            return plain
        first = sock.recv(1, socket.MSG_PEEK)
        if not first:
            raise EOFError("connection closed")
        if first[0] != _TLS_HANDSHAKE:
            raise self._guard.refusal("it connects without TLS, which this task requires")
        try:
            return TlsConnection(TlsSocket(sock, certificates(tls).server_context(), server_side=True))
        except ssl.SSLError as e:
            self._guard.refusal(str(e))  # counts the refusal; TLS has told the other side
            raise

    def _greet(self, connection: Connection, place: str, end: float) -> Visitor:
        sock, reader = connection.sock, connection.reader
        limits.apply(reader)
        reader.deadline = end
        proven = None
        identity = sock.identity if isinstance(sock, (TlsSocket, GrpcSocket)) else None
        principal: list[Principal] = []

        def check(hello: dict[str, Any]) -> None:
            principal.append(self._guard.of_stream(hello, identity, proven))
            hello.pop("token", None)
            hello.pop("token_hash", None)

        if self._guard.security.secret and sock.recv(1, socket.MSG_PEEK) == bytes((Kind.AUTH,)):
            try:
                proven = accept_with_proof(sock, reader, self._guard.security.secret, self._hello)
            except errors.UnauthenticatedError as e:
                raise self._guard.refusal(e.message) from None
        hello, connection.arena = answer_hello(sock, reader, self._hello, check)
        reader.deadline = None
        if isinstance(sock, TlsSocket):
            sock.greeted()
        return Visitor(connection, hello, principal[0], place)


def _place(sock: socket.socket) -> str:
    """The address from which a connection comes, for the log."""
    if sock.family == socket.AF_UNIX:
        return "this machine"
    try:
        host, port = sock.getpeername()[:2]
    except OSError:
        return "a closed connection"
    return f"{host}:{port}"
