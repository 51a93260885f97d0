"""StepFuture: the end of a step, for one thread that waits for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors

if TYPE_CHECKING:
    from tensorfleet_service.master.step import MasterStep


class StepFuture:
    """The callback of a step's end, and the place where one thread waits for it."""

    __slots__ = ("_error", "_running", "_values", "has_ended")

    def __init__(self) -> None:
        # A plain lock: an event would take a third of the calling thread's time for a small step.
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

    def wait(self, step: MasterStep, timeout: float | None) -> Sequence[Any]:
        """The fetched values of the step whose end calls `done`; called once.

        Raises:
            DeadlineExceededError: the step has not ended within `timeout` seconds, and was ended; the message
                says what it waited for.
            OpError: the step has failed.
        """
        if not self._running.acquire(timeout=-1 if timeout is None else timeout):
            assert timeout is not None
            step.fail(step.late(timeout))
            self._running.acquire()  # time_out, or the step's own end at the same time, calls `done`
        if self._error is not None:
            raise self._error
        return self._values
