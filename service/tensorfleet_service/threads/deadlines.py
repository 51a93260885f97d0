"""Deadlines: functions that one thread calls at a later time."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

MIN_DROPPED_DEADLINES = 1000
MAX_SECONDS = 1e9


class Deadline:
    """A function that is called at its time unless it is cancelled before."""

    __slots__ = ("_function", "_owner", "time")

    def __init__(self, owner: Deadlines, at: float, function: Callable[[], None]) -> None:
        self.time = at
        self._owner = owner
        self._function: Callable[[], None] | None = function

    @property
    def pending(self) -> bool:
        """Whether it has neither expired nor been cancelled."""
        return self._function is not None

    def cancel(self) -> None:
        function, self._function = self._function, None
        if function is not None:
            self._owner.forget_one()

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
        self._cancelled = 0

    def after(self, seconds: float, function: Callable[[], None]) -> Deadline:
        """Has `function`, which must not block, called after `seconds`, but at most MAX_SECONDS."""
        if not seconds <= MAX_SECONDS:  # or no number: clients give them, and no clock takes all
            seconds = MAX_SECONDS
        deadline = Deadline(self, time.monotonic() + seconds, function)
        with self._changed:
            heapq.heappush(self._heap, (deadline.time, next(self._order), deadline))
            if self._thread is None and not self._closed:
                thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                thread.start()
                self._thread = thread
            if self._heap[0][2] is deadline:
                self._changed.notify()
        return deadline

    def forget_one(self) -> None:
        """Counts a cancelled deadline. Drops all cancelled ones when they are the majority."""
        with self._changed:
            self._cancelled += 1
            if self._cancelled > max(len(self._heap) // 2, MIN_DROPPED_DEADLINES):
                self._heap = [entry for entry in self._heap if entry[2].pending]
                heapq.heapify(self._heap)
                self._cancelled = 0

    def close(self) -> None:
        """Ends the thread; the remaining deadlines do not expire."""
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
