"""Spinning: polling for an answer in a loop for a moment, before a thread goes to sleep until it comes.

A wake-up takes some 50 us, more in a virtual machine, as long as a small step computes. So a thread that has
just sent something and will soon get an answer polls for it, as long as nobody else can use the core. That is
seen by the time that it takes to offer it (`sched_yield`): if others wait for the core or for the
interpreter's lock, the thread goes to sleep at once, and does so the next times, too.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from time import perf_counter

from tensorfleet.core.environment import number

LONGEST_SECONDS = number("TENSORFLEET_SPIN_MICROSECONDS", 1000) / 1e6
"""Limit on the time for which a thread spins, in seconds; 0 for never."""

WANTED_SECONDS = 15e-6
"""Duration of an offer of the core, in seconds, from which it counts as taken by another thread."""

SKIPPED_SPINS = 2
"""Number of times that no thread spins after that."""


class Spinner:
    """At most one thread of a process spins at a time."""

    def __init__(self) -> None:
        self._spinning = threading.Lock()
        self._skip = 0

    def spin(self, sock: socket.socket) -> bool:
        """Waits for a moment until the socket can be read; whether it can."""
        if self._skip:
            self._skip -= 1
            return False
        if not LONGEST_SECONDS or not self._spinning.acquire(blocking=False):
            return False
        try:
            return self._spin(sock)
        finally:
            self._spinning.release()

    def _spin(self, sock: socket.socket) -> bool:
        poll = select.poll()
        try:
            poll.register(sock, select.POLLIN)
        except ValueError:
            return False  # closed meanwhile; the next use of the socket raises the error
        look, offer = poll.poll, os.sched_yield
        end = perf_counter() + LONGEST_SECONDS
        while not look(0):
            offered = perf_counter()
            offer()
            now = perf_counter()
            if now - offered > WANTED_SECONDS:
                self._skip = SKIPPED_SPINS
                return False
            if now > end:
                return False
        return True


SPINNER = Spinner()
"""The spinner of this process."""
