"""Stacks of a task of this machine whose interpreter is busy, requested by a signal.

`tensorfleet serve` has a handler for the signal that needs no interpreter and writes the stacks of all
threads to a memory file. A user who may send the signal may also read the file.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

STACKS_FILE = "tensorfleet-stacks"
STACKS_SIGNAL = getattr(signal, "SIGUSR2", None)

_LISTENS = "0A"  # the state of a socket in /proc/net/tcp
_WRITE_SECONDS = 5.0
_QUIET_SECONDS = 0.2  # without further output, after which the stacks are complete


def listener(address: str) -> int | None:
    """The process of this machine (or pod) that listens at an address, if the host is local."""
    host, _, port = address.rpartition(":")
    if host.strip("[]") not in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::", os.uname().nodename):
        return None
    inodes = set()
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{name}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == int(port):
                inodes.add(f"socket:[{fields[9]}]")
    for process in Path("/proc").iterdir() if inodes else ():
        if process.name.isdecimal() and any(link in inodes for _, link in _descriptors(int(process.name))):
            return int(process.name)
    return None


def _descriptors(pid: int) -> list[tuple[str, str]]:
    """The open files of a process, if accessible: their paths in /proc and the targets."""
    result = []
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            result.append((entry.path, os.readlink(entry.path)))
    except OSError:
        pass  # another user's, or it has ended
    return result


def dump_stacks(pid: int) -> str:
    """The stacks of a task's process, requested by the signal; "" if it has no handler."""
    path = next((path for path, link in _descriptors(pid) if f"/memfd:{STACKS_FILE}" in link), None)
    if path is None or STACKS_SIGNAL is None:
        return ""
    with open(path, "r+b", buffering=0) as file:
        before = os.fstat(file.fileno()).st_size
        os.kill(pid, STACKS_SIGNAL)
        end = time.monotonic() + _WRITE_SECONDS
        size, changed = before, time.monotonic()
        while time.monotonic() < end and (size == before or time.monotonic() - changed < _QUIET_SECONDS):
            now = os.fstat(file.fileno()).st_size
            if now != size:
                size, changed = now, time.monotonic()
            time.sleep(0.01)
        file.seek(before)
        text = file.read(size - before).replace(b"\0", b"").decode("utf-8", "replace")
        os.ftruncate(file.fileno(), 0)  # the next output keeps its position, after a hole
    return text
