"""Proxy: a gRPC port of this machine that leads to a cluster with TLS and tokens.

For clients that know neither, such as TensorFlow's own. Bytes pass through as they come: what is added is
TLS and, to each request, the token. So deadlines, cancellations, errors and flow control are those of the two
ends, and of a tensor no more is in memory here than a buffer holds.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from tensorfleet.core import errors
from tensorfleet.proto import master_pb2
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet.security import peer_user
from tensorfleet.security.calls import check_token_may_go, host_of
from tensorfleet.security.settings import Security, SecurityError, is_loopback
from tensorfleet.security.tls import certificates
from tensorfleet.session.transport_grpc import Channel
from tensorfleet.wire.http2 import AddedHeader, authorization
from tensorfleet.wire.tls import TlsSocket

MAX_CONNECTIONS = 256
CONNECT_SECONDS = 20.0
TOKEN_SECONDS = 1.0  # for so long the token's file is not read again
CHUNK = 256 * 1024
_SMALL = 16 * 1024
_SILENT_SECONDS = 30  # then the other side is asked by the system whether it is there

Say = Callable[[str], None]


class Proxy:
    """Joins each connection at a local port with one to the cluster, until it is closed.

    Args:
        address: `host:port` of a task.
        listen: host and port to listen at; port 0 takes any free one.
        security: what is shown to the cluster.
        say: is told what goes wrong with single connections.
        open_to_others: whether other users, of this machine and others, may connect: they are the token's
            holder for the cluster.

    Attributes:
        port: that it listens at.

    Raises:
        InvalidArgumentError: it would be open to others, or the cluster takes what it cannot show.
        OSError: it cannot listen there.
    """

    def __init__(
        self,
        address: str,
        listen: tuple[str, int],
        security: Security,
        say: Say,
        open_to_others: bool = False,
    ) -> None:
        self.address = address
        self._security = security
        self._say = say
        self._open_to_others = open_to_others
        host = listen[0].strip("[]")
        if not (is_loopback(host) or open_to_others):
            text = (
                f"whoever reaches {listen[0]} would use the cluster with your token: listen at 127.0.0.1, or "
                "say --open-to-others"
            )
            raise errors.InvalidArgumentError(None, None, text)
        if security.secret:
            text = (
                "a cluster secret takes a proof of each whole request, which the proxy does not see: it adds "
                "TLS and tokens"
            )
            raise errors.InvalidArgumentError(None, None, text)
        self._task = ""
        self._token = _Token(security)
        if self._token.is_used:
            check_token_may_go(security, host_of(address))
        self._lock = threading.Lock()
        self._sockets: set[Any] = set()
        self._joined = 0
        self._closed = False
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._server = socket.create_server((host, listen[1]), family=family)
        self.port: int = self._server.getsockname()[1]

    def check(self) -> None:
        """Sees that the cluster is there and lets this process have sessions.

        Raises:
            UnavailableError: it is not there.
            UnauthenticatedError, PermissionDeniedError: it does not let it in.
        """
        channel = Channel(self.address, ConfigProto(), self._security)
        try:
            endpoint = channel.endpoint()
            self._task = endpoint.task if endpoint is not None else ""
            with contextlib.suppress(errors.AbortedError):  # of whoever may ask: there is no such session
                channel.call(
                    "ListDevices",
                    master_pb2.ListDevicesRequest(session_handle="none"),
                    master_pb2.ListDevicesResponse,
                    CONNECT_SECONDS,
                )
        finally:
            channel.close()

    def start(self) -> None:
        """Begins to take connections."""
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def close(self) -> None:
        """Ends all connections."""
        with self._lock:
            self._closed = True
            sockets, self._sockets = self._sockets, set()
        for sock in (self._server, *sockets):
            _end(sock)
        self._server.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._server.accept()
            except OSError as e:
                if self._closed or self._server.fileno() < 0:
                    return
                self._say(f"a connection cannot be taken: {e.strerror or e}")
                time.sleep(0.1)  # until there is a descriptor again
                continue
            threading.Thread(target=self._serve, args=(near,), name="proxied", daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        """Joins one connection with the cluster, until one of the two ends."""
        with self._lock:
            fits = self._joined < MAX_CONNECTIONS
            self._joined += fits
        try:
            if not fits:
                self._say(f"a connection is refused: there are {MAX_CONNECTIONS}")
            elif not self._open_to_others and peer_user.KNOWN and not peer_user.is_own(near):
                self._say("a connection of another user of this machine is refused")
            else:
                self._join(near)
        except (OSError, ValueError, errors.OpError) as e:
            if not self._closed:
                self._say(f"a connection to {self.address} has ended: {getattr(e, 'message', e)}")
        finally:
            near.close()
            with self._lock:
                self._joined -= fits

    def _join(self, near: socket.socket) -> None:
        far = self._connected()
        with self._lock:
            pair = (near, far)
            if self._closed:
                far.close()
                return
            self._sockets.update(pair)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=_relay, args=(far, near, None), name="proxied back", daemon=True)
        try:
            back.start()
            added = AddedHeader(self._token.header) if self._token.is_used else None
            error = _relay(near, far, added)
            back.join()
            if isinstance(error, ValueError):
                raise error
        finally:
            with self._lock:
                self._sockets.difference_update(pair)
            _end(far)
            far.close()

    def _connected(self) -> Any:
        """A connection to the task that is the one meant."""
        host, _, port = self.address.rpartition(":")
        host = host.rpartition("/")[2].strip("[]")
        sock = socket.create_connection((host, int(port)), CONNECT_SECONDS)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if hasattr(socket, "TCP_KEEPIDLE"):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENT_SECONDS)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _SILENT_SECONDS // 3)
            if self._security.tls is None:
                sock.settimeout(None)
                return sock
            held = certificates(self._security.tls)
            far = TlsSocket(sock, held.grpc_context(), server_side=False)
            why = far.identity.why_not_task(self._task, self._security.server_name or host, held.own)
            if why:
                raise errors.UnauthenticatedError(None, None, why)
            far.settimeout(None)
            return far
        except BaseException:
            sock.close()
            raise


class _Token:
    """The header with the token, which is read again when its file may have changed."""

    def __init__(self, security: Security) -> None:
        self._security = security
        self.is_used = bool(security.token or security.token_file)
        self._lock = threading.Lock()
        self._header = b""
        self._until = 0.0

    def header(self) -> bytes:
        with self._lock:
            now = time.monotonic()
            if now >= self._until:
                try:
                    self._header = authorization(f"Bearer {self._security.client_token()}")
                except SecurityError:
                    if not self._header:  # else the file is just being replaced
                        raise
                self._until = now + TOKEN_SECONDS
            return self._header


def _relay(source: Any, sink: Any, added: AddedHeader | None) -> Exception | None:
    """Passes on what comes from one side, until one of the two ends; then both do. Why, if it is an error."""
    buffer = bytearray(CHUNK)
    view = memoryview(buffer)
    try:
        while received := source.recv_into(view):
            data = view[:received]
            if added is None:
                sink.sendall(data)
            else:
                parts = added.feed(data)
                if received <= _SMALL and len(parts) > 1:
                    parts = [b"".join(parts)]  # one write for a small request
                for part in parts:
                    sink.sendall(part)
    except (OSError, ValueError) as e:
        return e
    finally:
        _end(source)
        _end(sink)
    return None


def _end(sock: Any) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
