"""Work that waits for one Future after the other, without a thread meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from tensorfleet_service.threads.future import Future

if TYPE_CHECKING:
    from tensorfleet_service.threads.pool import Pool


def drive(generator: Generator[Future, Any, Any], pool: Pool) -> Any:
    """Runs a generator that yields a Future when it has to wait; gives its result, or a Future for it."""
    return _Drive(generator, pool).start()


class _Drive:
    def __init__(self, generator: Generator[Future, Any, Any], pool: Pool) -> None:
        self._generator = generator
        self._pool = pool
        self._lock = threading.Lock()
        self._current: Future | None = None
        self._result = Future(self._cancel, self)
        self._cancelled = False

    def start(self) -> Any:
        try:
            self._go_on(next(self._generator))
        except StopIteration as e:
            return e.value
        return self._result

    def _go_on(self, future: Future) -> None:
        """Goes on until the generator waits again; raises StopIteration if it ends at once."""
        while True:
            with self._lock:
                self._current = future
                cancelled = self._cancelled
            if cancelled:
                future.cancel()
                self._generator.close()
                return
            if future.start(lambda completed: self._pool.submit(self._resume, completed)):
                return
            future = future.resume(self._generator)

    def _resume(self, completed: Future) -> None:
        try:
            self._go_on(completed.resume(self._generator))
        except StopIteration as e:
            self._result.complete(e.value)
        except Exception as e:
            self._result.complete(None, e)

    def waits_for(self, _: Future) -> str:
        """A description of what the work waits for now."""
        with self._lock:
            current = self._current
        return "nothing: it is about to go on" if current is None else current.what

    def _cancel(self, _: Future) -> None:
        with self._lock:
            self._cancelled = True
            current = self._current
        if current is not None:
            current.cancel()
