"""`tensorfleet connect`: ports that lead to whichever pod is the master."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tensorfleet.cli import connect
from tensorfleet.core import errors
from tensorfleet.kube import forward
from tensorfleet.kube.forward import Forwarder
from tensorfleet.security.authority import Authority, pem
from tensorfleet.security.settings import Security
from tests.kube.fake_api import FakeApi, client_access
from tests.until import until

TIMEOUT = 20.0


class Echo:
    """A server that answers with what it gets, after its name."""

    def __init__(self, name: bytes) -> None:
        self._name = name
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._echo, args=(client,), daemon=True).start()

    def _echo(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                client.sendall(self._name + data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


class Kubernetes:
    """Pods, each of which is a server; streams to them are sockets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.echo: Echo | None = None
        self.phase = "Running"
        monkeypatch.setattr(forward, "Tunnel", self.tunnel)
        monkeypatch.setattr(forward, "RETRY_SECONDS", 0.05)

    def find_pod(self) -> Any:
        metadata = SimpleNamespace(name="fleet-worker-0", namespace="lab", deletion_timestamp=None)
        return SimpleNamespace(metadata=metadata, status=SimpleNamespace(phase=self.phase))

    def tunnel(self, cluster: Any, name: str, namespace: str, port: int) -> socket.socket:
        if self.echo is None:
            raise errors.UnavailableError(None, None, f"cannot forward a port to the pod {name}: gone")
        return socket.create_connection(("127.0.0.1", self.echo.port), TIMEOUT)


@pytest.fixture
def kubernetes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kubernetes]:
    found = Kubernetes(monkeypatch)
    yield found
    if found.echo is not None:
        found.echo.close()


def ask(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as sock:
        sock.sendall(data)
        return sock.recv(1 << 16)


def test_connections_go_to_the_pod_that_is_there(kubernetes: Kubernetes) -> None:
    said: list[str] = []
    kubernetes.echo = Echo(b"a:")
    forwarder = Forwarder(None, kubernetes.find_pod, "127.0.0.1", {0: 2222}, said.append)  # type: ignore[arg-type]
    try:
        forwarder.check()
        port = forwarder.local_ports[2222]
        assert ask(port, b"x") == b"a:x"
        kubernetes.echo.close()
        kubernetes.echo = None
        answer: list[bytes] = []
        client = threading.Thread(target=lambda: answer.append(ask(port, b"y")))
        client.start()
        wait_for(lambda: bool(said))
        assert said == ["cannot forward a port to the pod fleet-worker-0: gone; trying again"]
        kubernetes.echo = Echo(b"b:")
        client.join(TIMEOUT)
        assert answer == [b"b:y"], "the connection waited for the pod"
        assert said[1:] == ["connected again"]
    finally:
        forwarder.close()
    with pytest.raises(OSError):  # noqa: PT011  refused or reset, as the system likes
        ask(port, b"z")


def test_a_pod_that_is_not_running(kubernetes: Kubernetes) -> None:
    kubernetes.phase = "Pending"
    forwarder = Forwarder(None, kubernetes.find_pod, "127.0.0.1", {0: 2222}, lambda _: None)  # type: ignore[arg-type]
    try:
        with pytest.raises(errors.UnavailableError, match="fleet-worker-0 is not there: Pending"):
            forwarder.check(0.2)
    finally:
        forwarder.close()


def test_the_command_prints_the_address_until_a_signal(
    api: FakeApi, kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubernetes.echo = Echo(b"a:")
    answers: list[bytes] = []
    # Not capsys: what is written while another thread reads from that may be lost.
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    address = re.compile(r"export TENSORFLEET_ADDRESS=grpc://127\.0\.0\.1:(\d+)\n")

    def interrupt() -> None:
        found = until(lambda: address.search(out.getvalue()))
        answers.append(ask(int(found[1]), b"x"))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert connect.main(["--release", "fleet", "--port", "0"]) == 0
    thread.join(TIMEOUT)
    assert answers == [b"a:x"]


def secured(api: FakeApi) -> None:
    api.config_maps[0]["data"]["client.json"] = client_access("fleet-client")
    keys = ("client.pem", "client-key.pem", "ca.pem", "token")
    api.secrets["fleet-client"] = {key: f"of {key}".encode() for key in keys}


def test_credentials_are_files_of_this_user_while_it_runs(
    api: FakeApi, kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secured(api)
    kubernetes.echo = Echo(b"a:")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    found: dict[str, str] = {}
    modes: list[int] = []

    def look() -> None:
        line = until(lambda: out.getvalue() if out.getvalue().endswith("\n") else None)
        found.update(part.split("=", 1) for part in shlex.split(line)[1:])
        for name in ("TLS_CERT", "TLS_KEY", "TLS_CA", "TOKEN_FILE"):
            path = Path(found[f"TENSORFLEET_{name}"])
            found[name] = path.read_text()
            modes.append(stat.S_IMODE(path.parent.stat().st_mode))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=look)
    thread.start()
    assert connect.main(["--release", "fleet", "--port", "0"]) == 0
    thread.join(TIMEOUT)
    contents = [found[name] for name in ("TLS_CERT", "TLS_KEY", "TLS_CA", "TOKEN_FILE")]
    assert contents == ["of client.pem", "of client-key.pem", "of ca.pem", "of token"]
    assert found["TENSORFLEET_TLS_SERVER_NAME"] == "fleet.lab"
    assert set(modes) == {0o700}
    assert not list(tmp_path.glob("tensorfleet-*")), "they go with it"


@pytest.fixture
def usable(tmp_path: Path) -> dict[str, bytes]:
    """The keys of the Secret, with certificates that TLS can use."""
    authority = Authority.create("test", 1)
    chain, key = authority.issue("", ["client.test"], 1)
    roots = pem(authority.certificate)
    return {"client.pem": chain, "client-key.pem": key, "ca.pem": roots, "token": b"tft_x"}


def test_a_proxy_shows_what_clients_of_the_release_show(
    api: FakeApi, kubernetes: Kubernetes, usable: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    secured(api)
    api.secrets["fleet-client"] = usable
    kubernetes.echo = Echo(b"a:")
    made: list[Security] = []

    def proxy(target: str, listen: object, security: Security, *rest: object) -> None:
        made.append(security)
        raise errors.UnavailableError(None, None, "far enough")

    monkeypatch.setattr(connect, "Proxy", proxy)
    assert connect.main(["--release", "fleet", "--listen", "127.0.0.1:0"]) == 1
    (security,) = made
    assert security.tls is not None
    assert (security.server_name, Path(security.token_file).name) == ("fleet.lab", "token")


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        ("right", "cannot read the Secret fleet-client"),
        ("secret", 'secrets "fleet-client" not found'),
        ("key", "the Secret fleet-client in the namespace lab has no token"),
    ],
)
def test_credentials_that_are_not_to_be_had(
    api: FakeApi, capsys: pytest.CaptureFixture[str], missing: str, text: str
) -> None:
    secured(api)
    if missing == "right":
        api.refused["GET secrets"] = 403
    elif missing == "secret":
        del api.secrets["fleet-client"]
    else:
        del api.secrets["fleet-client"]["token"]
    assert connect.main(["--release", "fleet", "--port", "0"]) == 1
    assert text in capsys.readouterr().err


def test_a_port_that_is_taken(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert connect.main(["--release", "fleet", "--port", str(port)]) == 1
    assert f"cannot listen at 127.0.0.1:{port}" in capsys.readouterr().err


def wait_for(condition: Any) -> None:
    pause = threading.Event()
    for _ in range(int(TIMEOUT / 0.02)):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError("in vain")
