"""The run queue: runs that another step has made runnable, as an enqueue does with a dequeue.

In general a thread of the pool runs them, as the thread that completes a future is in the middle of other
work. But a thread that handles short work from a connection can run them afterwards, which takes less time
than to wake another thread, and lets everything that is sent meanwhile go out together.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tensorfleet_service.threads.future import Future
    from tensorfleet_service.threads.pool import Pool

INLINE_SECONDS = 0.002
"""Time of a plan, in seconds, below which it runs on the thread that made it runnable."""


class Resumable(Protocol):
    """A run that waits for a future."""

    def resume(self, source: Future, value: Future, /) -> None: ...


class _Queue(threading.local):
    runs: deque[tuple[Resumable, Future, Pool]] | None = None
    seconds = 0.0


_queue = _Queue()


class run_queue:
    """Has this thread go on, at the end of the block, with short runs that the block has made runnable."""

    __slots__ = ("_outer",)

    def __enter__(self) -> None:
        self._outer = _queue.runs
        if self._outer is None:
            _queue.runs = deque()
            _queue.seconds = 0.0

    def __exit__(self, *_: object) -> None:
        if self._outer is not None:
            return
        runs = _queue.runs
        assert runs is not None
        try:
            while runs:
                run, future, _pool = runs.popleft()
                run.resume(future, future)
        finally:
            _queue.runs = None
            for run, future, pool in runs:
                pool.submit(run.resume, future, future)


def resume(run: Resumable, future: Future, seconds: float, pool: Pool) -> None:
    """Has a run whose future has been completed go on soon, but not within this call.

    Args:
        seconds: the time that the run is known to take.
        pool: the pool on which it runs if this thread has other work.
    """
    runs = _queue.runs
    if runs is not None and _queue.seconds + seconds < INLINE_SECONDS:
        _queue.seconds += seconds
        runs.append((run, future, pool))
    else:
        pool.submit(run.resume, future, future)
