"""Whoever asks for a page at once gets it, however many others keep the port busy."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tensorfleet_service.observe import http_server
from tensorfleet_service.observe.health import Health
from tensorfleet_service.observe.http_server import MAX_CONNECTIONS, MAX_REQUEST_BYTES, HttpServer
from tests.until import until


@pytest.fixture
def pages() -> Iterator[HttpServer]:
    server = HttpServer("127.0.0.1", 0, Health())
    server.start()
    yield server
    server.close()


def connect(pages: HttpServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", pages.port), 20)


def asks(pages: HttpServer) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", pages.port, timeout=10)
    try:
        connection.request("GET", "/healthz/live")
        return connection.getresponse().read()
    finally:
        connection.close()


def ended(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionError:
        return True


def test_a_crowd_that_asks_for_nothing(pages: HttpServer) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(connect(pages)) for _ in range(3 * MAX_CONNECTIONS)]
        for sock in crowd:
            sock.sendall(b"GET /")
        assert asks(pages) == b"ok\n"
        assert all(ended(sock) for sock in crowd[:MAX_CONNECTIONS])
    until(lambda: len(pages._server._open) == 0)


def test_a_crowd_of_one_address_ends_no_connection_of_another(pages: HttpServer) -> None:
    """However many come while somebody's request is on its way."""
    with ExitStack() as stack:
        slow = stack.enter_context(connect(pages))
        slow.sendall(b"GET /healthz/live HTTP/1.1\r\n")
        until(lambda: len(pages._server._open) == 1)
        for _ in range(2 * MAX_CONNECTIONS):
            stack.enter_context(
                socket.create_connection(("127.0.0.1", pages.port), 20, source_address=("127.0.0.2", 0))
            )
        assert asks(pages) == b"ok\n"
        slow.sendall(b"\r\n")
        assert slow.recv(100).startswith(b"HTTP/1.1 200")


def test_a_request_by_drops(pages: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is for all of it, not for each byte."""
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.5)
    with connect(pages) as sock:
        sock.settimeout(0.05)

        def takes_no_more() -> bool:
            try:
                sock.sendall(b"x")
                return ended(sock)
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        sock.sendall(b"GET /")
        until(takes_no_more)


def test_a_request_without_an_end(pages: HttpServer) -> None:
    for text in (b"GET /" + b"a" * MAX_REQUEST_BYTES, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000):
        with connect(pages) as sock:
            try:
                sock.sendall(text)
                while sock.recv(65536):
                    pass
            except ConnectionError:
                pass  # it is closed before all was read
    assert asks(pages) == b"ok\n"


def test_requests_one_after_the_other(pages: HttpServer) -> None:
    """The limits are for each request, not for the connection."""
    connection = http.client.HTTPConnection("127.0.0.1", pages.port, timeout=10)
    for _ in range(5):
        connection.request("GET", "/healthz/live", headers={"X": "y" * (MAX_REQUEST_BYTES // 2)})
        assert connection.getresponse().read() == b"ok\n"
    connection.close()
