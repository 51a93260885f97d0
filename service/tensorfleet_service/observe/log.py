"""The log of a task, as lines of text for people or as JSON for a log collector; every line names the task.

A record that is about a session or a step has their ids as fields: `log.info(…, extra={"session": handle})`.
"""

from __future__ import annotations

import functools
import json
import logging
import sys
import time
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, TextIO

from tensorfleet.core.long_texts import beginning
from tensorfleet.core.printable import MAX_TOLD, told
from tensorfleet_service.state import printed

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")


PRINTED = "tensorfleet_service.print"
"""The logger of what ops print."""

FIELDS = ("session", "step")
"""Fields of `extra` that a record may have; the ids of steps are numbers."""


class TextFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO /job:ps/task:0 server: message`. Further lines of a message have a bar
    in place of the colon, so that text from outside cannot pass for another message.

    Fields that the message does not contain stand at the end of its first line: `step failed: …
        [session=4f0c]`.
    """

    def __init__(self, task: str) -> None:
        super().__init__()
        self._task = task

    def format(self, record: logging.LogRecord) -> str:
        head = f"{utc(record)} {record.levelname} {self._task} {record.module}"
        lines = told(super().format(record)).removesuffix("\n").split("\n")
        found = {name: str(getattr(record, name)) for name in FIELDS if hasattr(record, name)}
        fields = " ".join(f"{name}={value}" for name, value in found.items() if value not in lines[0])
        if fields:
            lines[0] += f" [{fields}]"
        return "\n".join(f"{head}{' |' if i else ':'} {line}" for i, line in enumerate(lines))


class JsonFormatter(logging.Formatter):
    """One object per line: time, level, task, logger, message; session, step and exception if present."""

    def __init__(self, task: str) -> None:
        super().__init__()
        self._task = task

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": utc(record),
            "level": record.levelname.lower(),
            "task": self._task,
            "logger": record.name,
            "message": told(record.getMessage()),
        }
        fields |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            fields["exception"] = told(self.formatException(record.exc_info))
        return json.dumps(fields, ensure_ascii=False)


def utc(record: logging.LogRecord) -> str:
    """The time of a record: `2026-01-31T12:00:00.123Z`."""
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"


def configure(task: str, log_format: str, level: str, stream: TextIO | None = None) -> None:
    """Sends the whole log of this process to `stream` (standard error), in the name of a task.

    Args:
        task: the short name, such as `/job:ps/task:0`.
        log_format: one of FORMATS.
        level: one of LEVELS, the lowest that is written.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter(task) if log_format == "json" else TextFormatter(task))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    printed.through(functools.partial(_print, handler))


def _print(handler: logging.StreamHandler[TextIO], stream: str, text: Iterable[str]) -> None:
    """Writes what an op prints, whatever the log's level: as a message, so that it can pass for no other."""
    level = {"log(warning)": logging.WARNING, "log(error)": logging.ERROR}.get(stream, logging.INFO)
    line = beginning(text, MAX_TOLD).removesuffix("\n")
    record = logging.LogRecord(PRINTED, level, "print", 0, line, None, None)
    if stream != "stdout":
        handler.handle(record)
        return
    with handler.lock or nullcontext():
        sys.stdout.write(f"{handler.format(record)}\n")
        sys.stdout.flush()
