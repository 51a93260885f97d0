"""Relief of threads that read connections, and what comes on them runs longer than it was known to.

Short plans run on the thread that reads, which saves waking another one. One that was short so far may take
long on other values; then another thread goes on with reading, and the first one ends after its work. So
nobody else who comes by the connection waits for longer than a moment.
"""

from __future__ import annotations

import logging
import threading
from time import monotonic
from typing import Protocol

log = logging.getLogger(__name__)

LONG_SECONDS = 0.02
TICK_SECONDS = 0.02
QUIET_TICKS = 50
"""After so many looks at which nothing was going on, nobody looks until something does."""


class Reading(Protocol):
    """A connection's reading.

    Attributes:
        began: the monotonic time since when its thread has been at something else; 0 while it reads.
    """

    began: float

    def relieve(self, began: float) -> None:
        """Has another thread read, if the one that does is still at what it has begun then."""


class Relief:
    """Looks at all connections of the process, on one thread, while anything comes on them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: set[Reading] = set()
        self._running = False
        self._awake = threading.Event()
        self.asleep = False

    def watch(self, reading: Reading) -> None:
        """Begins to look at a connection.

        Raises:
            RuntimeError, MemoryError: there is no thread for it.
        """
        with self._lock:
            self._watched.add(reading)
            if self._running:
                return
            self._running = True
        try:
            threading.Thread(target=self._look, name="relief", daemon=True).start()
        except (RuntimeError, MemoryError):
            with self._lock:
                self._running = False
                self._watched.discard(reading)
            raise

    def forget(self, reading: Reading) -> None:
        with self._lock:
            self._watched.discard(reading)
        self.wake()

    def wake(self) -> None:
        """Something begins. To be called where `asleep` says so, once `began` is set."""
        self._awake.set()

    def _look(self) -> None:
        quiet = 0
        while True:
            self._awake.clear()
            self.asleep = quiet >= QUIET_TICKS
            # Whoever begins before this look is seen by it; whoever begins later sees `asleep`.
            with self._lock:
                if not self._watched:
                    self._running = self.asleep = False
                    return
                watched = list(self._watched)
            busy = False
            for reading in watched:
                began = reading.began
                if began:
                    busy = True
                    if monotonic() - began > LONG_SECONDS:
                        self._relieve(reading, began)
            del watched, reading
            if self.asleep and not busy:
                self._awake.wait()
                quiet = 0
            else:
                quiet = 0 if busy else quiet + 1
                self.asleep = False
                self._awake.wait(TICK_SECONDS)

    def _relieve(self, reading: Reading, began: float) -> None:
        try:
            reading.relieve(began)
        except (RuntimeError, MemoryError) as e:
            log.warning("nobody reads a connection while its thread is busy: %s", e)


RELIEF = Relief()
"""That of this process."""
