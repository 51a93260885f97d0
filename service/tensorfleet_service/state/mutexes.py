"""Locks that steps hold, on one task.

A lock is an object that travels on the edges of a step. Its holder releases it; if a step fails before, the
lock is released at the end of the object, which can come on any thread, in the middle of anything. So that
end only puts a note into a queue, and a thread that may take locks does the rest.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque

from tensorfleet_service.threads.future import Future

_logger = logging.getLogger("tensorfleet")


class Mutex:
    """A lock for one holder at a time; those that wait get it in the order in which they came."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._is_held = False
        self._waiting: deque[Future] = deque()

    def acquire(self) -> Held | Future:
        """The lock, or a Future for it."""
        releaser.start()
        with self._lock:
            if not self._is_held:
                self._is_held = True
                return Held(self)
            future = Future(self._cancel, self)
            self._waiting.append(future)
            return future

    def waits_for(self, _: Future) -> str:
        """What a step waits for."""
        return f"the lock {self.name}"

    def _cancel(self, future: Future) -> None:
        with self._lock:
            if future in self._waiting:
                self._waiting.remove(future)

    def _release(self) -> None:
        with self._lock:
            following = self._waiting.popleft() if self._waiting else None
            self._is_held = following is not None
        if following is not None:
            # Whoever was cancelled just now drops the lock with the future, and so releases it.
            following.complete(Held(self))


class Held:
    """A lock that somebody holds."""

    __slots__ = ("__weakref__", "_is_released", "_mutex")

    def __init__(self, mutex: Mutex) -> None:
        self._mutex = mutex
        self._is_released = False

    def release(self) -> None:
        """Hands the lock on; does nothing the second time."""
        if not self._is_released:
            self._is_released = True
            self._mutex._release()

    def __del__(self) -> None:
        if not self._is_released:
            self._is_released = True
            releaser.queue.put(self._mutex)


class _Releaser:
    """The thread that releases the locks of failed steps."""

    def __init__(self) -> None:
        # The one queue that may be put into while the same thread is at it: the collector may run there.
        self.queue: queue.SimpleQueue[Mutex] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is not None:
            return
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="locks of failed steps", daemon=True)
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        while True:
            mutex = self.queue.get()
            try:
                mutex._release()
            except Exception:
                _logger.exception("The step that waited for the lock %s could not go on", mutex.name)
            del mutex


releaser = _Releaser()
