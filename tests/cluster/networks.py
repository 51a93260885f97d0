"""Network namespaces for tests: hosts of their own, with links between them that can be cut."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_SECONDS = 10.0


def missing() -> str:
    """Why there can be no namespaces here; empty if there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need root on Linux"
    absent = [tool for tool in ("ip", "unshare", "nsenter") if shutil.which(tool) is None]
    if absent:
        return f"network namespaces need {', '.join(absent)}"
    tried = subprocess.run(
        ["unshare", "-n", "ip", "link", "add", "name", "v0", "type", "veth"], capture_output=True
    )
    return "" if tried.returncode == 0 else f"no network namespaces: {tried.stderr.decode().strip()}"


def enter(path: str | None) -> None:
    """Moves this process, whose only thread calls, into a namespace; None leaves it where it is."""
    if path is None:
        return
    # Whoever runs in a namespace must not ask a proxy of the machine.
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "*"
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(descriptor)


class Network:
    """A host of its own, with the address 10.77.0.`number`.

    Attributes:
        host: the address.
        path: of the namespace, for `enter`.
    """

    def __init__(self, number: int) -> None:
        self.host = f"10.77.0.{number}"
        self._holder = subprocess.Popen(
            ["unshare", "-n", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._holder.stdin is not None
        assert self._holder.stdout is not None
        self._holder.stdin.write(b"ready\n")
        self._holder.stdin.flush()
        self._holder.stdout.readline()  # `cat` runs, so the namespace is there
        self.path = f"/proc/{self._holder.pid}/ns/net"
        self.ip("link", "set", "lo", "up")

    @property
    def process(self) -> int:
        """A process in the namespace."""
        return self._holder.pid

    def ip(self, *arguments: str) -> None:
        """Runs `ip` in the namespace."""
        command = ["nsenter", f"--net={self.path}", "ip", *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)

    def cut(self, other: Network) -> None:
        """Has no packet go to or come from another host any more; nobody is told."""
        self.ip("link", "set", _link(self, other), "down")

    def mend(self, other: Network) -> None:
        """Has packets go again."""
        link = _link(self, other)
        self.ip("link", "set", link, "up")
        self.ip("route", "replace", other.host, "dev", link)

    def close(self) -> None:
        self._holder.kill()
        self._holder.communicate()


class Networks:
    """Hosts that all have a link to each other."""

    def __init__(self, count: int) -> None:
        self.hosts = [Network(i + 1) for i in range(count)]
        try:
            for i, one in enumerate(self.hosts):
                for other in self.hosts[i + 1 :]:
                    _connect(one, other)
        except BaseException:
            self.close()
            raise

    def __getitem__(self, index: int) -> Network:
        return self.hosts[index]

    def close(self) -> None:
        for host in self.hosts:
            host.close()


def _connect(one: Network, other: Network) -> None:
    here, there = _link(one, other), _link(other, one)
    one.ip("link", "add", "name", here, "type", "veth", "peer", "name", there, "netns", str(other.process))
    for host, link in ((one, here), (other, there)):
        host.ip("addr", "add", f"{host.host}/32", "dev", link)
        host.ip("link", "set", link, "up")
    one.ip("route", "add", other.host, "dev", here)
    other.ip("route", "add", one.host, "dev", there)


def _link(one: Network, other: Network) -> str:
    return f"to{other.host.rpartition('.')[2]}"


def python(network: Network, code: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    """A Python process on a host; what it prints is in its `stdout`, line by line."""
    command: Sequence[str] = ["nsenter", f"--net={network.path}", sys.executable, "-u", "-c", code]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "no_proxy": "*", "NO_PROXY": "*", **environment},
    )
