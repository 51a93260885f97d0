"""The HTTP port of a task: its metrics, and the pages for probes.

    /metrics           Prometheus' text format, or OpenMetrics for those that accept it
    /healthz/live      200 as long as the process answers
    /healthz/startup   200 once the task serves
    /healthz/ready     200 while work should be sent to it
    /healthz           as /healthz/ready

If /metrics requires a token, requests without one get a 401. The other pages answer 200, or 503 with a line
for each reason. The port opens before the task serves, and closes after it has stopped.
"""

from __future__ import annotations

import io
import logging
import socket
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from tensorfleet.security.tls import Certificates
    from tensorfleet_service.observe.health import Health

log = logging.getLogger(__name__)

TEXT = "text/plain; charset=utf-8"
IDLE_SECONDS = 30.0  # a connection without a request for so long is closed
REQUEST_SECONDS = 10.0  # from a request's first byte to its last
MAX_REQUEST_BYTES = 16 * 1024  # its line and its headers
MAX_CONNECTIONS = 64
"""For another one the oldest is closed of the address that has the most: who asks at once gets an answer."""


class HttpServer:
    """Serves one task's pages, from `start` to `close`.

    Args:
        host: the interface, as in `bind_host`: "[::]" accepts IPv4, too.
        port: 0 for any free one.
        health: answers the probes.
        tls: the certificates for HTTPS; None: plain HTTP.

    Raises:
        OSError: the port cannot be bound.
    """

    def __init__(self, host: str, port: int, health: Health, tls: Certificates | None = None) -> None:
        self.health = health
        self.tls = tls
        self.registry: CollectorRegistry | None = None
        self.authorize: Callable[[str], str] = _anybody
        """The function from an Authorization header to the reason why the metrics are refused; "" if not."""
        host = host.strip("[]")
        self._server = _Server((host, port), self)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="http", daemon=True)

    def start(self) -> None:
        self._thread.start()
        log.info("metrics and health at port %d", self.port)

    def close(self) -> None:
        """Answers the requests that have come, and closes the port."""
        self._server.shutdown()
        self._server.server_close()

    # Pages: status, content type, body

    def answer(self, path: str, accept: str, authorization: str = "") -> tuple[HTTPStatus, str, bytes]:
        """The page at a path."""
        page: Callable[[], tuple[HTTPStatus, str, bytes]] | None = {
            "/healthz": self._ready,
            "/healthz/ready": self._ready,
            "/healthz/startup": self._startup,
            "/healthz/live": lambda: _text([]),
            "/": self._index,
        }.get(path)
        if path == "/metrics":
            if why := self.authorize(authorization):
                return HTTPStatus.UNAUTHORIZED, TEXT, f"{why}\n".encode()
            return self._metrics(accept)
        if page is None:
            return HTTPStatus.NOT_FOUND, TEXT, b"no such page; see /\n"
        return page()

    def _ready(self) -> tuple[HTTPStatus, str, bytes]:
        return _text(self.health.reasons())

    def _startup(self) -> tuple[HTTPStatus, str, bytes]:
        return _text([] if self.health.started else self.health.reasons())

    def _index(self) -> tuple[HTTPStatus, str, bytes]:
        return HTTPStatus.OK, TEXT, b"/metrics\n/healthz/live\n/healthz/startup\n/healthz/ready\n"

    def _metrics(self, accept: str) -> tuple[HTTPStatus, str, bytes]:
        from prometheus_client.exposition import choose_encoder

        if self.registry is None:
            return _text(["starting: there are no metrics yet"])
        encode, content_type = choose_encoder(accept)
        return HTTPStatus.OK, content_type, encode(self.registry)


def _anybody(authorization: str) -> str:
    return ""


def _text(reasons: list[str]) -> tuple[HTTPStatus, str, bytes]:
    """A probe's answer."""
    status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
    return status, TEXT, "".join(f"{reason}\n" for reason in reasons or ["ok"]).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], pages: HttpServer) -> None:
        self.pages = pages
        self._lock = threading.Lock()
        self._open: OrderedDict[socket.socket, str] = OrderedDict()  # with their addresses
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        oldest = None
        with self._lock:
            self._open[request] = client_address[0]
            if len(self._open) > MAX_CONNECTIONS:
                ((most, _),) = Counter(self._open.values()).most_common(1)
                oldest = next(one for one, its in self._open.items() if its == most)
                del self._open[oldest]
        if oldest is not None:
            with suppress(OSError):  # the connection may have ended meanwhile
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def server_bind(self) -> None:
        # HTTPServer's own method asks the name service for this host's name, which may take long.
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("a request from %s failed", client_address, exc_info=True)


class _Requests(io.RawIOBase):
    """The bytes of the requests on a connection, with limits on the time and the size of each."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.next()

    def next(self) -> None:
        """Begins the limits of the next request."""
        self._end: float | None = None
        self._left = MAX_REQUEST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads bytes. Raises TimeoutError if the request is late, or too large."""
        left = IDLE_SECONDS if self._end is None else self._end - time.monotonic()
        if left <= 0 or self._left <= 0:
            raise TimeoutError("the request is late or too large")
        self._sock.settimeout(left)
        count = self._sock.recv_into(memoryview(buffer)[: self._left])
        self._sock.settimeout(IDLE_SECONDS)  # for the answer
        self._left -= count
        if self._end is None:
            self._end = time.monotonic() + REQUEST_SECONDS
        return count


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "TensorFleet"
    sys_version = ""
    timeout = IDLE_SECONDS
    server: _Server

    def setup(self) -> None:
        if self.server.pages.tls is not None:
            # A socket of its own, so that the server can still close this one.
            self.request.settimeout(REQUEST_SECONDS)
            self.request = self.server.pages.tls.pages_context().wrap_socket(
                self.request.dup(), server_side=True
            )
        super().setup()
        self._requests = _Requests(self.connection)
        self.rfile = io.BufferedReader(self._requests)

    def finish(self) -> None:
        super().finish()
        if self.server.pages.tls is not None:
            self.connection.close()

    def handle_one_request(self) -> None:
        self._requests.next()
        super().handle_one_request()

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, body: bool) -> None:
        path = self.path.partition("?")[0]
        try:
            status, kind, data = self.server.pages.answer(
                path, self.headers.get("Accept", ""), self.headers.get("Authorization", "")
            )
        except Exception as e:
            log.exception("%r failed", path)
            status, kind, data = HTTPStatus.INTERNAL_SERVER_ERROR, TEXT, f"{type(e).__name__}: {e}\n".encode()
        self.send_response(status)
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)
