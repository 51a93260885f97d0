"""The stacks of all threads, even while one of them holds the interpreter's lock and no Python code runs.

A signal has them written into a memory file, where `tensorfleet stacks` on the same machine finds them. If a
thread keeps the task's watchdog from running for long, its stack is in the log afterwards.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
from typing import IO

from tensorfleet.cli.local_process import STACKS_FILE, STACKS_SIGNAL

log = logging.getLogger(__name__)

BUSY_SECONDS = 10.0


class StackDump:
    """The two memory files of a process."""

    def __init__(self) -> None:
        self._busy: IO[bytes] | None = None
        self._asked: IO[bytes] | None = None

    def install(self) -> None:
        """Prepares this process; called on its main thread. Has no effect on systems other than Linux."""
        if not hasattr(os, "memfd_create") or STACKS_SIGNAL is None:
            return
        self._asked = os.fdopen(os.memfd_create(STACKS_FILE), "r+b", buffering=0)
        self._busy = os.fdopen(os.memfd_create("tensorfleet-busy"), "r+b", buffering=0)
        if signal.getsignal(STACKS_SIGNAL) is signal.SIG_DFL:
            faulthandler.register(STACKS_SIGNAL, self._asked, all_threads=True, chain=False)

    def alive(self) -> None:
        """Called regularly by the watchdog. If that could not run for long, logs the stack that kept it."""
        busy = self._busy
        if busy is None:
            return
        faulthandler.cancel_dump_traceback_later()
        size = os.fstat(busy.fileno()).st_size
        if size:
            busy.seek(0)
            text = busy.read(size).decode("utf-8", "replace")
            busy.seek(0)
            busy.truncate()
            log.warning(
                "one thread has held the interpreter's lock for %g s, and no other could run:\n%s",
                BUSY_SECONDS,
                text,
            )
        try:
            faulthandler.dump_traceback_later(BUSY_SECONDS, file=busy)
        except RuntimeError as e:
            log.debug("%s", e)  # without memory no thread can be started; the next call tries again

    def close(self) -> None:
        """Ends the timer."""
        if self._busy is not None:
            faulthandler.cancel_dump_traceback_later()


STACK_DUMP = StackDump()
"""The stack dump of this process."""
