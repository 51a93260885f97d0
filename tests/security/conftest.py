"""Clusters of tasks with security, in this process, and what attackers need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.security import identity, local, settings, tokens
from tensorfleet.security.authority import Authority, pem
from tensorfleet.security.settings import Security, TlsFiles
from tensorfleet_service.server import TaskServer
from tests.ports import free_ports

SECRET = b"0123456789abcdef0123456789abcdef"
DOMAIN, CLUSTER = "example.org", "one"


class Pki:
    """A CA in a directory, and certificates of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority.create("test", 1)
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(pem(self.authority.certificate))

    def issue(self, name: str, uri: str, *hosts: str, days: float = 1) -> TlsFiles:
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}-key.pem"
        data = self.authority.issue(uri, hosts or ("127.0.0.1",), days)
        cert.write_bytes(data[0])
        key.write_bytes(data[1])
        return TlsFiles(str(cert), str(key), str(self.ca))

    def task(self, job: str, index: int, hosts: tuple[str, ...] = (), **how: Any) -> TlsFiles:
        return self.issue(f"{job}-{index}", identity.task_uri(DOMAIN, CLUSTER, job, index), *hosts, **how)

    def user(self, name: str, role: str = "run", **how: Any) -> TlsFiles:
        return self.issue(f"user-{name}", identity.user_uri(DOMAIN, CLUSTER, role, name), **how)


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    folder = tmp_path / "pki"
    folder.mkdir()
    return Pki(folder)


class TokenBook:
    """A file of tokens, and the tokens themselves."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts: dict[str, str] = {}
        self.kept: dict[str, tokens.Token] = {}

    def add(self, name: str, role: str = "run", days: float | None = None) -> str:
        self.texts[name], self.kept[name] = tokens.create(name, role, days)
        tokens.write(str(self.path), self.kept.values())
        return self.texts[name]

    def revoke(self, name: str) -> None:
        del self.kept[name]
        tokens.write(str(self.path), self.kept.values())


@pytest.fixture
def book(tmp_path: Path) -> TokenBook:
    return TokenBook(tmp_path / "tokens.json")


@pytest.fixture(autouse=True)
def by_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sessions of this process use sockets, and its environment says nothing of security."""
    for name in settings.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "stream")
    monkeypatch.setattr(local, "folder", lambda: tmp_path / "clusters")


@pytest.fixture(params=["stream", "grpc", "connect"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """All transports, one after the other: sockets, single calls by gRPC, and one call that stays."""
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc" if request.param == "grpc" else "stream")
    return str(request.param)


MakeTasks = Callable[..., dict[str, TaskServer]]


@pytest.fixture
def tasks(request: pytest.FixtureRequest) -> Iterator[MakeTasks]:
    """Starts tasks: `tasks({"ps:0": security, "worker:0": security}, protocol="grpc")`."""
    made: list[TaskServer] = []
    connect = "way" in request.fixturenames and request.getfixturevalue("way") == "connect"
    usual = "grpc" if connect else "grpc+stream"

    def make(
        wanted: dict[str, Security], protocol: str = usual, bind: str | None = None
    ) -> dict[str, TaskServer]:
        ports = iter(free_ports(len(wanted)))
        cluster: dict[str, dict[int, str]] = {}
        for name in wanted:
            job, _, index = name.partition(":")
            cluster.setdefault(job, {})[int(index)] = f"127.0.0.1:{next(ports)}"
        started = {}
        for name, security in wanted.items():
            job, _, index = name.partition(":")
            server = TaskServer(
                ClusterSpec(cluster), job, int(index), protocol, bind_host=bind, security=security
            )
            made.append(server)
            server.start()
            started[name] = server
        return started

    yield make
    for server in made:
        server.stop(1)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets what clients of this process show: `client(token=…)`, `client(tls=…)`, `client(secret=…)`."""

    def show(token: str = "", tls: TlsFiles | None = None, secret: bytes = b"") -> None:
        values = {
            settings.TOKEN: token,
            settings.SECRET: secret.decode(),
            settings.CERT: tls.cert if tls else "",
            settings.KEY: tls.key if tls else "",
            settings.CA: tls.ca if tls else "",
        }
        for name, value in values.items():
            if value:
                monkeypatch.setenv(name, value)
            elif name in os.environ:
                monkeypatch.delenv(name)

    return show
