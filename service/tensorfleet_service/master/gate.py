"""Gate: refuses new steps of a session when it is closed, or its task drains."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tensorfleet.core import errors


class Gate:
    """A gate that steps pass at their start.

    Attributes:
        refusal: the error for later steps; None while the gate is open.
        draining: whether somebody waits for the end of the running steps.
    """

    __slots__ = ("_idle", "draining", "refusal")

    def __init__(self) -> None:
        self.refusal: errors.OpError | None = None
        self.draining = False
        self._idle = threading.Condition()

    def check(self) -> None:
        """Raises the refusal, if there is one."""
        if self.refusal is not None:
            raise errors.from_code(self.refusal.error_code, self.refusal.message)

    def drain(self, running: Callable[[], int], end: float) -> bool:
        """Refuses new steps, and waits for running ones until the monotonic time `end`; whether none runs."""
        self.draining = True
        if self.refusal is None:
            self.refusal = errors.UnavailableError(
                None, None, "The server is shutting down and starts no new steps"
            )
        with self._idle:
            return self._idle.wait_for(lambda: not running(), end - time.monotonic())

    def step_ended(self) -> None:
        """Wakes `drain`; called after a step was removed from the list."""
        with self._idle:
            self._idle.notify_all()
