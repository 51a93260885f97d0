"""The audit log: who did what, one JSON object per line.

It contains no secrets, and text from outside is escaped by JSON's rules. Steps are not in it, but their
sessions are; metrics count the steps.
"""

from __future__ import annotations

import json
import logging
import os
import time
from typing import Any

from tensorfleet_service.security.repeats import Repeats

log = logging.getLogger(__name__)

MAX_TEXT = 1000
"""Limit on the characters of a text, as texts from outside may be long."""

MAX_TEXTS = 100
"""Limit on the texts of a list."""


class Audit:
    """Writes events.

    Args:
        task: the task that writes.
        path: the file; "-" for standard error, "" for the task's own log.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, task: str, path: str = "") -> None:
        self._task = task
        self._refusals = Repeats()
        self._descriptor: int | None = None
        if path == "-":
            self._descriptor = os.dup(2)
        elif path:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, event: str, who: str, **about: Any) -> None:
        """Writes an event: what `who` did, with further fields."""
        now = time.time()
        fields: dict[str, Any] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z",
            "task": self._task,
            "event": event,
            "who": who,
        }
        fields |= {key: _short(value) for key, value in about.items()}
        line = json.dumps(fields)
        if self._descriptor is None:
            log.info("audit %s", line)
            return
        try:
            os.write(self._descriptor, line.encode() + b"\n")
        except OSError as e:
            log.error("the audit log cannot be written: %s; %s", e, line)

    def refused(self, who: str, **about: Any) -> bool:
        """Writes that somebody was refused; of those who are again and again, only their number, later.

        Args:
            about: further fields, such as `peer`, the other side's address and port.

        Returns whether it was written.
        """
        peer = str(about.get("peer", ""))
        written = self._refusals.note(peer.rpartition(":")[0] or peer or who)
        if written:
            self.write("refused", who, **about)
        return written

    def write_rest(self, at_once: bool = False) -> None:
        """Writes how many were refused besides, if it is time."""
        for left in self._refusals.take(at_once=at_once):
            self.write("refused", "", peer=left.place, more=left.count, seconds=round(left.seconds, 1))

    def close(self) -> None:
        self.write_rest(at_once=True)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MAX_TEXT]
    return [_short(item) for item in value[:MAX_TEXTS]] if isinstance(value, list) else value
