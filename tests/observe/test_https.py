"""The pages by HTTPS: for probes that trust nothing, and a Prometheus that does."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorfleet.security import settings
from tensorfleet.security.authority import Authority, pem
from tensorfleet.security.settings import SecurityError, TlsFiles
from tensorfleet.security.tls import Certificates
from tensorfleet_service.observe import http_server
from tensorfleet_service.observe.health import Health
from tensorfleet_service.observe.http_server import HttpServer


class Pages:
    """Pages with the certificate of a CA of their own."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority.create("test", 1)
        self.files = TlsFiles(*(str(folder / name) for name in ("own.pem", "own-key.pem", "ca.pem")))
        Path(self.files.ca).write_bytes(pem(self.authority.certificate))
        self.issue()
        self.http = HttpServer("127.0.0.1", 0, Health(), Certificates(self.files))
        self.http.start()

    def issue(self) -> None:
        cert, key = self.authority.issue("", ["localhost"], 1)
        Path(self.files.key).write_bytes(key)
        Path(self.files.cert).write_bytes(cert)

    def connect(self, trusts: bool = True) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=self.files.ca)
        if not trusts:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection("localhost", self.http.port, timeout=20, context=context)

    def status(self, path: str, trusts: bool = True) -> int:
        connection = self.connect(trusts)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    made = Pages(tmp_path)
    yield made
    made.http.close()


def test_probes_need_no_certificate(pages: Pages) -> None:
    assert pages.status("/healthz/live", trusts=False) == 200
    assert pages.status("/healthz/ready") == 503


def test_several_requests_on_a_connection(pages: Pages) -> None:
    connection = pages.connect()
    for _ in range(3):
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.read().startswith(b"/metrics\n")
    connection.close()


def test_metrics_take_the_token(pages: Pages) -> None:
    pages.http.authorize = lambda header: "" if header == "Bearer right" else "no"
    connection = pages.connect()
    for header, status in (("Bearer right", 503), ("Bearer wrong", 401)):  # 503: there are none yet
        connection.request("GET", "/metrics", headers={"Authorization": header})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
    connection.close()


def test_plain_http_gets_no_page(pages: Pages) -> None:
    with socket.create_connection(("127.0.0.1", pages.http.port), 20) as sock:
        sock.sendall(b"GET /healthz/live HTTP/1.1\r\nHost: x\r\n\r\n")
        sock.settimeout(20)
        assert b"200" not in sock.recv(1000)


def test_a_new_certificate_is_shown_at_once(pages: Pages) -> None:
    def shown() -> bytes | None:
        connection = pages.connect()
        connection.connect()
        try:
            sock = connection.sock
            assert isinstance(sock, ssl.SSLSocket)
            return sock.getpeercert(binary_form=True)
        finally:
            connection.close()

    before = shown()
    assert shown() == before
    pages.issue()
    assert shown() != before


def test_those_who_say_nothing_hold_nobody_up(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent before the handshake, in it and after it: the oldest are closed for those who ask."""
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 4)
    silent = [socket.create_connection(("127.0.0.1", pages.http.port), 20) for _ in range(3)]
    for sock in silent[1:]:
        sock.sendall(b"\x16\x03\x01")
    after = [pages.connect() for _ in range(3)]
    for connection in after:
        connection.connect()
    assert pages.status("/healthz/live") == 200
    silent[0].settimeout(20)
    assert silent[0].recv(1) == b"", "the oldest was closed"
    for sock in silent:
        sock.close()
    for connection in after:
        connection.close()


def test_half_a_configuration() -> None:
    with pytest.raises(SecurityError, match="TENSORFLEET_METRICS_TLS takes TLS"):
        settings.load({settings.METRICS_TLS: "yes"})
    with pytest.raises(SecurityError, match="yes or no"):
        settings.load({settings.METRICS_TLS: "on"})
