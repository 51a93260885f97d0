"""Deadlines: functions to be called at a later time, on one thread."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)


class Deadline:
    """A function that is called at its time unless it is cancelled before."""

    __slots__ = ("_function", "time")

    def __init__(self, at: float, function: Callable[[], None]) -> None:
        self.time = at
        self._function: Callable[[], None] | None = function

    def cancel(self) -> None:
        self._function = None

    def expire(self) -> None:
        function, self._function = self._function, None
        if function is not None:
            function()


class Deadlines:
    """Calls functions at their times. The thread starts with the first deadline."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Deadline]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def after(self, seconds: float, function: Callable[[], None]) -> Deadline:
        """Has `function` called in so many seconds; it must not block."""
        deadline = Deadline(time.monotonic() + seconds, function)
        with self._changed:
            heapq.heappush(self._heap, (deadline.time, next(self._order), deadline))
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
            self._changed.notify()
        return deadline

    def close(self) -> None:
        """Ends the thread; deadlines that are left do not expire."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (not self._heap or self._heap[0][0] > time.monotonic()):
                    self._changed.wait(self._heap[0][0] - time.monotonic() if self._heap else None)
                if self._closed:
                    return
                deadline = heapq.heappop(self._heap)[2]
            try:
                deadline.expire()
            except Exception:
                log.exception("a deadline's function failed")
