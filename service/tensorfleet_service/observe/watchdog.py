"""The watchdog of a task: a thread that checks once a second whether the running steps make progress.

It reports those that do not in the log and in the metrics, in the words of `worker.progress`, which deadlines
and `tensorfleet status --steps` use, too. The same thread adjusts the memory budget to the use of others, and
gives free memory of the C library's heap back to the system when the task is idle after a busy time.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorfleet.core.environment import number
from tensorfleet_service.devices.memory import BUDGET
from tensorfleet_service.observe.stack_dump import STACK_DUMP
from tensorfleet_service.worker.progress import activities, computes

if TYPE_CHECKING:
    from tensorfleet_service.worker.progress import StepActivity
    from tensorfleet_service.worker.worker import Worker

log = logging.getLogger(__name__)

VARIABLE = "TENSORFLEET_STALL_SECONDS"
STALL_SECONDS = number(VARIABLE, 60.0)
"""Time in seconds without progress after which a step is reported; 0: none is reported."""

TICK_SECONDS = 1.0
SHORT_TICK_SECONDS = 0.05
IDLE_SECONDS = 30.0
"""Idle time of a process after which its free memory is given back; steps that follow sooner need it."""
_IDLE_LOAD = 0.02  # of one core


@dataclass
class _Seen:
    mark: object
    since: float
    reported: bool = False


class Watchdog:
    """Watches the steps of one worker.

    Args:
        is_busy: whether steps run on threads of the master, of which the worker does not know.

    Attributes:
        stalls: the number of steps that have been reported.
        stalled: the number of running steps that have made no progress for long.
    """

    def __init__(
        self,
        worker: Worker,
        stall_seconds: float = STALL_SECONDS,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self.stalls = 0
        self.stalled = 0
        self._worker = worker
        self._is_busy = is_busy
        self._stall_seconds = stall_seconds
        self._seen: dict[int, _Seen] = {}
        self._used = 0.0  # processor time at the last check, in seconds
        self._idle_since: float | None = None  # None: nothing has run since memory was given back
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        next_look = 0.0
        while not self._stopped.wait(SHORT_TICK_SECONDS if BUDGET.has_holes else TICK_SECONDS):
            try:
                now = time.monotonic()
                if BUDGET.was_exhausted:
                    if now >= next_look:
                        # Arrays of failed steps are held by the tracebacks of their errors, which are cycles.
                        gc.collect()
                        BUDGET.release()
                    is_busy = bool(self._worker.steps or computes(self._worker) or self._is_busy())
                    # Before the look: who is refused memory meanwhile needs another one.
                    BUDGET.was_exhausted = False
                    if not BUDGET.rebase(is_busy):
                        BUDGET.was_exhausted = True
                BUDGET.refresh()
                if now >= next_look:
                    next_look = now + TICK_SECONDS / 2
                    STACK_DUMP.alive()
                    self.trim(now)
                    self.look(now)
            except Exception:
                log.exception("the watchdog could not check the steps")

    def trim(self, now: float) -> None:
        """Gives free memory back, once after each busy time.

        The processor time says whether the process is busy, as opening and closing sessions also leaves free
        memory behind.
        """
        used = time.process_time()
        if used - self._used > _IDLE_LOAD * TICK_SECONDS:
            self._idle_since = now
        elif self._idle_since is not None and now - self._idle_since >= IDLE_SECONDS:
            self._idle_since = None
            BUDGET.release()
            used = time.process_time()
        self._used = used

    def look(self, now: float) -> None:
        """Compares the steps' progress with that at the last check; `now` is the monotonic time."""
        if not self._stall_seconds:
            return
        # The progress of short steps is not asked for, which would cost them time.
        old = [step for step in self._worker.running if now - step > self._stall_seconds / 2]
        steps = activities(self._worker) if old else []
        self._seen = {step.id: self._compared(step, now) for step in steps}
        self.stalled = sum(seen.reported for seen in self._seen.values())

    def _compared(self, step: StepActivity, now: float) -> _Seen:
        seen = self._seen.get(step.id)
        if seen is None or seen.mark != step.mark:
            if seen is not None and seen.reported:
                log.info("step %d goes on after %.0f s", step.id, now - seen.since, extra={"step": step.id})
            return _Seen(step.mark, max(step.began, now - self._stall_seconds / 2) if seen is None else now)
        if not seen.reported and now - seen.since >= self._stall_seconds:
            seen.reported = True
            self.stalls += 1
            log.warning(
                "step %d has made no progress for %.0f s: it %s",
                step.id,
                now - seen.since,
                "; ".join(step.texts) or "does nothing",
                extra={"step": step.id},
            )
        return seen
