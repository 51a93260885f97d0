"""Credentials of clusters on this machine, written by `tensorfleet up` for clients of the same user.

They are in files of the user's state directory that other users cannot read, one for each cluster.
"""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensorfleet.security.settings import MAX_FILE_BYTES, Security, is_loopback
from tensorfleet.security.tokens import write_private

log = logging.getLogger("tensorfleet")


def folder() -> Path:
    """The directory of the files."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return base / "tensorfleet" / "clusters"


def write(addresses: Sequence[str], token: str, secret: str) -> Path:
    """Writes the credentials of this process's cluster; returns the file, which the caller removes."""
    place = folder()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in place.glob("*.json"):
        if old.stem.isdecimal() and not _lives(int(old.stem)):
            old.unlink(missing_ok=True)  # left by a process that was killed
    path = place / f"{os.getpid()}.json"
    content = {"addresses": list(addresses), "token": token, "secret": secret}
    write_private(str(path), json.dumps(content) + "\n")
    return path


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def find(address: str) -> Security | None:
    """The credentials for a task at `host:port`, if it belongs to a cluster of this user."""
    try:
        files = sorted(folder().glob("*.json"))
    except (OSError, RuntimeError):  # no such directory, or no home
        return None
    for path in files:
        try:
            content = _read(path)
            known = address in content["addresses"] or any(
                _same_port(address, a) for a in content["addresses"]
            )
            if known and _lives(int(path.stem)):
                return Security(token=str(content["token"]), secret=str(content["secret"]).encode())
        except (OSError, ValueError, KeyError) as e:
            log.warning("%s is not used: %s", path, e)
    return None


def _same_port(one: str, other: str) -> bool:
    """Whether two addresses of this machine have the same port."""
    (host, _, port), (other_host, _, other_port) = one.rpartition(":"), other.rpartition(":")
    return port == other_port and is_loopback(host) and is_loopback(other_host)


def _read(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        about = os.fstat(file.fileno())
        if about.st_uid != os.geteuid() or stat.S_IMODE(about.st_mode) & 0o077:
            raise ValueError("other users can read or write it")
        content = json.loads(file.read(MAX_FILE_BYTES))
    if not isinstance(content, dict):
        raise ValueError("it holds no credentials")
    return content
