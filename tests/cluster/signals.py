"""Signals to tasks of the tests."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.until import until


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stops a process for a while, all its threads before the body is entered.

    `kill` returns before the signal is dealt with: on a busy machine, a thread of the process that is running
    would still answer the next request.
    """
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: all(_state(task) in "Tt" for task in Path(f"/proc/{pid}/task").iterdir()))
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _state(task: Path) -> str:
    try:
        status = (task / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
        return "T"
    return status.rpartition(")")[2].split()[0]
