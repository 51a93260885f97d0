"""Every parser on inputs that are almost right, and on any bytes: it raises what it promises, nothing else.

A few seconds in the suite. `--hypothesis-profile=million` takes a million inputs for each parser; the harness
beside this file, which needs atheris, follows the coverage: `python -m tests.fuzz.coverage_guided graph`.
"""

from __future__ import annotations

import errno
import http.client
import socket
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from tensorfleet_service.observe.health import Health
from tensorfleet_service.observe.http_server import HttpServer
from tests.fuzz.targets import TARGETS

settings.register_profile(
    "million", max_examples=1_000_000, deadline=None, suppress_health_check=list(HealthCheck)
)

_FEW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
_limits = settings() if settings.default.max_examples == 1_000_000 else _FEW


@cache
def seeds(name: str) -> tuple[bytes, ...]:
    return tuple(TARGETS[name].seeds())


@st.composite
def inputs(draw: st.DrawFn, name: str) -> bytes:
    """Any bytes, or a right input with some of it changed, cut out, repeated or put in."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.binary(max_size=300))
    data = bytearray(draw(st.sampled_from(seeds(name))))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 3)):
            case 0:
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case 1:
                data[at : at + draw(st.integers(1, 30))] = b""
            case 2:
                data[at:at] = draw(st.binary(max_size=12)) or data[at : at + 20]
            case 3:
                data[at : at + 8] = draw(
                    st.sampled_from((b"\xff" * 8, bytes(8), b"\x80" * 9 + b"\1", b"\x7f"))
                )
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_parser(name: str) -> None:
    target = TARGETS[name]
    for seed in seeds(name):
        _parse(name, seed)

    @_limits
    @given(inputs(name))
    def parses(data: bytes) -> None:
        _parse(name, data)

    parses()
    assert target.seeds()


def _parse(name: str, data: bytes) -> None:
    target = TARGETS[name]
    try:
        target.run(data)
    except target.raises:
        return


@pytest.fixture(scope="module")
def pages() -> Iterator[HttpServer]:
    server = HttpServer("127.0.0.1", 0, Health())
    server.start()
    yield server
    server.close()


@_limits
@given(
    st.one_of(
        st.binary(max_size=300),
        st.builds(
            b"%s %s HTTP/%s\r\n%s\r\n\r\n".__mod__,
            st.tuples(
                st.sampled_from((b"GET", b"HEAD", b"POST", b"", b"\xff")),
                st.one_of(st.just(b"/healthz/live"), st.binary(max_size=50)),
                st.sampled_from((b"1.1", b"1.0", b"0.9", b"9.9.9", b"-1", b"2.0")),
                st.binary(max_size=60),
            ),
        ),
    )
)
@example(b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n")
@example(b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 1000 + b"\r\n")
@example(b"POST /metrics HTTP/1.1\r\nContent-Length: -5\r\n\r\n")
def test_http(pages: HttpServer, data: bytes) -> None:
    """Whatever comes, the next one gets its page."""
    with socket.create_connection(("127.0.0.1", pages.port), 10) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass
        except OSError as e:
            # It has not read all that was sent; a shutdown after that finds no connection.
            if not isinstance(e, ConnectionError) and e.errno != errno.ENOTCONN:
                raise
    connection = http.client.HTTPConnection("127.0.0.1", pages.port, timeout=10)
    try:
        connection.request("GET", "/healthz/live")
        assert connection.getresponse().read() == b"ok\n"
    finally:
        connection.close()
