"""Threads for computing: as many as are busy at once, kept for a while when idle."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

IDLE_SECONDS = 30.0

log = logging.getLogger(__name__)

_Work = tuple[Callable[..., None], tuple[Any, ...]]


class Pool:
    """Runs functions on threads, the last idle one first; a function never waits for a thread.

    Steps may depend on each other (one fills a queue, another drains it), so the number of threads is not
    bounded: there are as many as partitions that compute at the same time. If the system cannot start a
        thread, a function waits for the first one that is free.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._idle: deque[_Thread] = deque()
        self._waiting: deque[_Work] = deque()  # only while no thread can be started
        self._closed = False
        self._made = 0
        self._threads = 0

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
