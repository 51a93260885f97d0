"""StepWaiter: blocks a thread until a step has ended."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from tensorfleet import errors


class StepWaiter:
    """What a step calls at its end, and where one thread waits for that."""

    __slots__ = ("_error", "_running", "_values", "has_ended")

    def __init__(self) -> None:
        # A lock alone: an event would be a third of what the calling thread does for a small step.
        self._running = threading.Lock()
        self._running.acquire()
        self._error: errors.OpError | None = None
        self._values: Sequence[Any] = ()
        self.has_ended = False

    def done(self, error: errors.OpError | None, values: Sequence[Any]) -> None:
        """Notes how the step has ended; called once."""
        self._error = error
        self._values = values
        self.has_ended = True
        self._running.release()

    def wait(self, timeout: float | None) -> Sequence[Any]:
        """The fetched values; called once.

        Raises:
            DeadlineExceededError: the step has not ended within `timeout` seconds; it goes on.
            OpError: the step has failed.
        """
        if not self._running.acquire(timeout=-1 if timeout is None else timeout):
            raise errors.DeadlineExceededError(None, None, f"The step did not end within {timeout:g} s")
        if self._error is not None:
            raise self._error
        return self._values
