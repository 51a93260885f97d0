"""Threads for computing: as many as are busy at once, kept for a while when idle."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import environment, errors

IDLE_SECONDS = 30.0

MAX_THREADS_VARIABLE = "TENSORFLEET_MAX_THREADS"
MAX_THREADS = environment.integer(MAX_THREADS_VARIABLE, 4096)

log = logging.getLogger(__name__)

_Work = tuple[Callable[..., None], tuple[Any, ...]]


class Pool:
    """Runs functions on threads, the last idle one first; a function never waits for a thread.

    Steps may depend on each other (one fills a queue, another drains it), so there are as many threads as
    partitions that compute at the same time. What is new asks `check_room` first, and is refused where
    `limit` threads are busy; what goes on with something else is not, and has twice as many. If even these
    are busy, or the system cannot start a thread, a function waits for the first one that is free.
    """

    def __init__(self, name: str, limit: int | None = None) -> None:
        self._name = name
        self._limit = MAX_THREADS if limit is None else limit
        self._lock = threading.Lock()
        self._idle: deque[_Thread] = deque()
        self._waiting: deque[_Work] = deque()  # only while no thread can be started
        self._closed = False
        self._made = 0
        self._threads = 0

    @property
    def limit(self) -> int:
        """The number of busy threads from which new work is refused."""
        return self._limit

    @property
    def busy(self) -> int:
        """The number of threads that run a function."""
        with self._lock:
            return self._threads - len(self._idle)

    @property
    def has_room(self) -> bool:
        """Whether fewer threads are busy than may be."""
        # Without the lock, as each step asks: one more or less does not matter.
        return self._threads < self._limit or self._threads - len(self._idle) < self._limit

    def check_room(self) -> None:
        """Raises ResourceExhaustedError where as many threads are busy as may be."""
        if not self.has_room:
            raise self.refusal()

    def refusal(self) -> errors.OpError:
        """The error of what is refused."""
        return errors.ResourceExhaustedError(
            None,
            None,
            f"The task computes on {self._limit} threads, as many as it may at a time: end other steps, "
            f"or raise {MAX_THREADS_VARIABLE} on it",
        )

    def submit(self, function: Callable[..., None], *arguments: Any) -> None:
        """Runs `function(*arguments)` on a thread of the pool; its exceptions are logged.

        Raises:
            RuntimeError, MemoryError: the pool has no thread, and none can be started.
        """
        with self._lock:
            if self._closed:
                return
            thread = self._idle.pop() if self._idle else None
            if thread is None:
                thread = self._new()
            if thread is None or self._waiting:
                self._waiting.append((function, arguments))
                if thread is None:
                    return
                function, arguments = self._waiting.popleft()
        thread.give(function, arguments)

    def _new(self) -> _Thread | None:
        """A new thread; None if none can be started, but others will be free."""
        try:
            if self._threads >= 2 * self._limit:
                raise RuntimeError(f"{MAX_THREADS_VARIABLE} is {self._limit}")
            thread = _Thread(self, f"{self._name} {self._made + 1}")
        except (RuntimeError, MemoryError) as e:
            if not self._threads:
                raise
            if not self._waiting:
                log.warning("%s: work waits for one of %d threads: %s", self._name, self._threads, e)
            return None
        self._made += 1
        self._threads += 1
        return thread

    def close(self) -> None:
        """Ends the idle threads; the busy ones end with their work."""
        with self._lock:
            self._closed = True
            idle = list(self._idle)
            self._idle.clear()
            self._waiting.clear()
        for thread in idle:
            thread.give(None, ())

    def _wait(self, thread: _Thread) -> bool:
        """Gives a thread work that waits for one, or puts it among the idle ones; False if it shall end."""
        with self._lock:
            if self._closed:
                return False
            if self._waiting:
                thread.give(*self._waiting.popleft())
            else:
                self._idle.append(thread)
            return True

    def _retire(self, thread: _Thread) -> bool:
        """Removes a thread that was idle for long; False if it has got work meanwhile."""
        with self._lock:
            if thread in self._idle:
                self._idle.remove(thread)
                self._threads -= 1
                return True
            return False


class _Thread:
    def __init__(self, pool: Pool, name: str) -> None:
        self._pool = pool
        self._work: tuple[Callable[..., None] | None, tuple[Any, ...]] = (None, ())
        self._given = threading.Lock()  # held while there is no work
        self._given.acquire()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def give(self, function: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
        self._work = (function, arguments)
        self._given.release()

    def _run(self) -> None:
        np.seterr(all="ignore")  # kernels give NaN and infinity without warnings, as TensorFlow's do
        while True:
            if not self._given.acquire(timeout=IDLE_SECONDS):
                if self._pool._retire(self):
                    return
                continue
            function, arguments = self._work
            self._work = (None, ())
            if function is None:
                return
            try:
                function(*arguments)
            except Exception:
                log.exception("unexpected error on a thread of the pool")
            del function, arguments
            if not self._pool._wait(self):
                return
