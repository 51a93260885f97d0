"""Watching: looking for an answer in a loop for a moment, before a thread goes to sleep until it comes.

To be woken takes some 50 us, in a virtual machine more: as long as a small step computes. A thread that has
just sent something and will soon get an answer therefore looks for it itself, as long as nobody else has a
use for the core. That shows in the time that it takes to offer it (`sched_yield`): where others are waiting,
for the core or for the interpreter's lock, the thread goes to sleep at once, the next times, too.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from time import perf_counter

LONGEST = int(os.environ.get("TENSORFLEET_WATCH_MICROSECONDS", "1000")) / 1e6
"""Seconds for which a thread watches; 0 for never."""

WANTED = 15e-6
"""An offer that takes so many seconds was taken by another thread."""

PAUSE = 2
"""So many times no thread watches after that."""


class Watcher:
    """At most one thread of a process watches at a time."""

    def __init__(self) -> None:
        self._watching = threading.Lock()
        self._pause = 0

    def watch(self, sock: socket.socket) -> bool:
        """Waits for a moment until the socket can be read; whether it can."""
        if self._pause:
            self._pause -= 1
            return False
        if not LONGEST or not self._watching.acquire(blocking=False):
            return False
        try:
            return self._watch(sock)
        finally:
            self._watching.release()

    def _watch(self, sock: socket.socket) -> bool:
        poll = select.poll()
        try:
            poll.register(sock, select.POLLIN)
        except ValueError:
            return False  # closed meanwhile, as the next look at the socket itself will say better
        look, offer = poll.poll, os.sched_yield
        end = perf_counter() + LONGEST
        while not look(0):
            offered = perf_counter()
            offer()
            now = perf_counter()
            if now - offered > WANTED:
                self._pause = PAUSE
                return False
            if now > end:
                return False
        return True


WATCHER = Watcher()
"""That of this process."""
