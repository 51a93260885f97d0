"""MasterConnection: the client's end of a stream connection to its master."""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import Any

from tensorfleet.core import errors
from tensorfleet.security.calls import host_of
from tensorfleet.security.settings import OPEN, Security
from tensorfleet.session.timeouts import CONNECT_SECONDS
from tensorfleet.wire.connection import open_socket, tune
from tensorfleet.wire.grpc_socket import open_grpc_socket
from tensorfleet.wire.limits import MAX_SEND_BUFFERS
from tensorfleet.wire.opening import encrypted, open_hello, unauthenticated
from tensorfleet.wire.reader import Reader
from tensorfleet.wire.tls import TlsReader

BY_GRPC = "grpc:"


class MasterConnection:
    """A greeted socket to the master, with one call at a time.

    Args:
        address: as in Endpoint.stream_address, or `grpc:host:port`.
        security: what this client shows, and asks for.
        timeout: in seconds, for the connection and again for the greeting.
        host: that a Unix socket of this machine stands for.
        incarnation: of the task that is called by gRPC.

    Raises:
        UnavailableError: nobody listens there.
        UnauthenticatedError, PermissionDeniedError: this client, or the task, is not who it should be.
        OSError, EOFError, ValueError: what listens there does not answer, or is no task of TensorFleet.
    """

    def __init__(
        self,
        address: str,
        security: Security = OPEN,
        timeout: float = CONNECT_SECONDS,
        host: str = "",
        incarnation: int = 0,
    ) -> None:
        self.address = address
        self.security = security
        self.host = host
        if address.startswith(BY_GRPC):
            host = host_of(address.removeprefix(BY_GRPC))
            self.sock: Any = open_grpc_socket(address.removeprefix(BY_GRPC), security, incarnation)
        else:
            self.sock = open_socket([address], timeout)
        try:
            tune(self.sock)
            self.sock.settimeout(timeout)
            tls = encrypted(self.sock, security)
            if tls is None:
                self.reader = Reader(self.sock)
            else:
                self.sock, self.reader = tls, TlsReader(tls)
            if address.startswith("tcp:"):
                host = address.removeprefix("tcp:").rpartition(":")[0]
            hello = {"client": "tensorfleet"}
            about, self.arena = open_hello(self.sock, self.reader, hello, security, host)
            said = about.get("incarnation")
            if type(said) is not int:
                raise ValueError(f"it says no incarnation of its own, but {said!r}")
            self.incarnation = said
            self.sock.settimeout(None)
        except BaseException as e:
            self.sock.close()
            if isinstance(e, ssl.SSLError):
                raise unauthenticated(e) from None
            raise
        self.lost: errors.OpError | None = None

    def lose(self, error: errors.OpError) -> None:
        """Ends the call that waits, on whichever thread it does, with `error`."""
        self.lost = error
        with contextlib.suppress(OSError):  # it is not connected any more
            self.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends the connection and lets go of the memory that it shares."""
        self.sock.close()
        self.reader.close()
        if self.arena is not None:
            self.arena.close()

    def send(self, buffers: list[bytes]) -> None:
        if len(buffers) == 1:
            self.sock.sendall(buffers[0])
            return
        total = sum(map(len, buffers))
        sent = self.sock.sendmsg(buffers[:MAX_SEND_BUFFERS])
        if sent < total:
            for data in buffers:
                if sent >= len(data):
                    sent -= len(data)
                else:
                    self.sock.sendall(memoryview(data)[sent:] if sent else data)
                    sent = 0
