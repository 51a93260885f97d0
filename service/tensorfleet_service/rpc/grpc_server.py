"""The gRPC server of a task, for services that are tables of methods.

All calls are heard on the event loop that also carries this process's calls to other tasks (`grpc_loop`).
What may last runs on a pool, and so does whatever may run a step: how long that takes is not known before.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from typing import Any

import grpc

from tensorfleet.core import errors
from tensorfleet.security.settings import TlsFiles
from tensorfleet.security.tls import certificates
from tensorfleet.wire.grpc_socket import MESSAGE_BYTES
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.net import grpc_loop, limits
from tensorfleet_service.net.refusals import Refusals
from tensorfleet_service.rpc.callers import Callers
from tensorfleet_service.rpc.grpc_calls import Methods, Prompt, Streams
from tensorfleet_service.rpc.grpc_handlers import GrpcHandlers
from tensorfleet_service.rpc.grpc_sockets import ServedSocket
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.threads.pool import Pool

log = logging.getLogger(__name__)

CLIENT_SILENT_MS = 60_000
HANDSHAKE_SECONDS = 20.0
START_SECONDS = 60.0
RESTART_SECONDS = 0.1


class GrpcServer:
    """Serves methods by their full names.

    Args:
        address: host and port to bind; port 0 for any free one.
        methods: those that may wait.
        prompt: those that do not, and run no step: the thread that hears of all calls calls them.
        running: those that do not wait, but may run a step.
        streams: those with several responses.
        max_message: the bytes of the largest request; -1: no limit.
        guard: says who may call what; by default everybody may.
        connect: is given, on a thread of its own, each call that is a connection of the stream transport; if
            None, there are no such calls.
        refusals: counts those who are not let in.

    Raises:
        UnknownError: the address cannot be bound.
    """

    def __init__(
        self,
        address: str,
        methods: Methods,
        prompt: Prompt,
        running: Prompt | None = None,
        streams: Streams | None = None,
        max_message: int = -1,
        guard: Guard | None = None,
        connect: Callable[[ServedSocket], None] | None = None,
        refusals: Refusals | None = None,
    ) -> None:
        self._guard = guard or Guard()
        self.traffic = Traffic()
        self._stopped = threading.Event()
        self._pool = Pool("grpc")
        self._handlers = GrpcHandlers(
            methods,
            prompt,
            running or {},
            streams or {},
            self._pool,
            self.traffic,
            max_message,
            self._guard,
            connect,
            Callers(refusals=refusals),
        )
        self._options = (
            ("grpc.max_receive_message_length", max_message),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),
            # A request that has not been admitted occupies no more than the first window of its stream.
            ("grpc.http2.bdp_probe", 0),
            ("grpc.http2.lookahead_bytes", limits.grpc_window(max_message)),
            ("grpc.http2.max_frame_size", MESSAGE_BYTES),
            # Whoever waits for a long step may ask as often as it likes whether this task is still there,
            # and a client whose machine is gone is noticed, so that its step ends.
            ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
            ("grpc.http2.max_ping_strikes", 0),
            # Whoever has said nothing for so long is no client.
            ("grpc.server_handshake_timeout_ms", int(HANDSHAKE_SECONDS * 1000)),
            ("grpc.keepalive_time_ms", CLIENT_SILENT_MS),
            ("grpc.keepalive_timeout_ms", CLIENT_SILENT_MS // 2),
        )
        try:
            check_free(address)
            self.port: int = grpc_loop.wait_for(self._bind(address), START_SECONDS)
        except (OSError, RuntimeError) as e:
            raise errors.UnknownError(None, None, f"Could not start gRPC server: {address}: {e}") from None
        self._handlers.port = self.port
        self._address = f"{address.rpartition(':')[0]}:{self.port}"

    async def _bind(self, address: str) -> int:
        self._server = grpc.aio.server(handlers=(self._handlers,), options=self._options)
        tls = self._guard.security.tls
        port: int = (
            self._server.add_insecure_port(address)
            if tls is None
            else self._server.add_secure_port(address, _credentials(tls))
        )
        return port

    def start(self) -> None:
        async def start() -> None:
            await self._server.start()
            self._kept = asyncio.create_task(self._keep_serving())

        grpc_loop.wait_for(start(), START_SECONDS)

    async def _keep_serving(self) -> None:
        """Begins anew where gRPC has ended its server: it does so when it has no memory to hear of a call."""
        while not self._stopped.is_set():
            try:
                await self._server.wait_for_termination()
                return  # it was stopped
            except Exception as e:
                log.warning("the gRPC server ended, and begins again: %s: %s", type(e).__name__, e)
            while not self._stopped.is_set():
                await asyncio.sleep(RESTART_SECONDS)
                try:
                    await self._bind(self._address)
                    await self._server.start()
                    break
                except Exception as e:
                    log.warning("the gRPC server could not begin again: %s: %s", type(e).__name__, e)

    def check_principals(self) -> None:
        """Ends the calls of those whose tokens are not accepted any more."""
        self._handlers.check_principals()

    def check_callers(self) -> float:
        """Ends connections of strangers if there are too many; the seconds until the next look."""
        return self._handlers.callers.look(self.port)

    def stop(self, grace: float) -> None:
        """Refuses new calls, and waits up to `grace` seconds for those under way."""
        self._stopped.set()
        self._handlers.close_sockets()
        grpc_loop.wait_for(self._server.stop(grace), grace + 5)
        self._pool.close()


def _credentials(files: TlsFiles) -> Any:
    """gRPC's form of the certificates, of which it asks for newer ones at each connection."""
    held = certificates(files)
    version = held.version

    def configuration() -> Any:
        key, chain, roots = held.pem
        return grpc.ssl_server_certificate_configuration([(key, chain)], roots)

    def newer() -> Any:
        nonlocal version
        current = held.version
        if current == version:
            return None
        version = current
        return configuration()

    return grpc.dynamic_ssl_server_credentials(configuration(), newer, require_client_authentication=True)


def check_free(address: str) -> None:
    """Raises OSError if nothing can listen at the address: gRPC writes lines of its own about it first.

    An address without a port is an InvalidArgumentError.

    As gRPC does, it takes an address whose host has several if one of them can be listened at.
    """
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise errors.InvalidArgumentError(
            None,
            None,
            f'The address of this task in the cluster, "{address}", has no port: write host:port, such as '
            '"localhost:2222".',
        )
    host = host.strip("[]")
    failures: list[OSError] = []
    for family, kind, _, _, place in socket.getaddrinfo(
        None if host in ("", "::") else host,  # None: all interfaces, by IPv4 alone where there is no IPv6
        int(port),
        type=socket.SOCK_STREAM,
        flags=socket.AI_PASSIVE,
    ):
        try:
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                probe.bind(place)
                probe.listen(1)
                return
        except OSError as error:
            failures.append(error)
    if failures:
        raise failures[0]
