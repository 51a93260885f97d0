"""The steps of a task: those that run, those that will, and for a while those that have ended.

Tensors may arrive before the request to run their step, and after its end. Early ones are kept within limits,
as the request may never come; late ones are dropped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet_service.devices.memory import BUDGET
from tensorfleet_service.executor.step import Push, Step
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.threads.deadlines import Deadlines

if TYPE_CHECKING:
    from tensorfleet_service.threads.pool import Pool

log = logging.getLogger(__name__)


class _Early:
    """The tensors of a step that the task has not been asked to run yet."""

    __slots__ = ("began", "bytes")

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.bytes = 0


class Steps:
    """The steps of one task, by number.

    Args:
        no_push: the function that a step uses to send tensors until it runs.
    """

    def __init__(self, pool: Pool, no_push: Push) -> None:
        self._pool = pool
        self._no_push = no_push
        self._lock = threading.Lock()
        self._fewer = threading.Condition()
        self._waits_idle = False
        self._known: dict[int, Step] = {}
        self._early: dict[int, _Early] = {}
        self._early_bytes = 0
        self._early_watched = False
        self._deadlines = Deadlines()
        self._ended: OrderedDict[int, errors.OpError | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def known(self) -> list[Step]:
        """The running steps, and those whose tensors came before the request to run."""
        return list(self._known.values())

    def find(self, step_id: int, early: bool = False) -> Step | None:
        """The step with a number, made if need be; None if it has ended. `early`: it is not to run yet."""
        with self._lock:
            step = self._known.get(step_id)
            if step is None:
                if step_id in self._ended:
                    return None
                step = self._known[step_id] = Step(step_id, self._pool, self._no_push)
                if early:
                    self._early[step_id] = _Early()
                    if not self._early_watched:
                        self._early_watched = True
                        self._deadlines.after(timeouts.EARLY_SECONDS / 4, self._drop_old)
            elif not early:
                self._begun(step_id)
            return step

    def error(self, step_id: int) -> errors.OpError | None:
        """The error of a step that was dropped before it began."""
        return self._ended.get(step_id)

    def deliver(self, step_id: int, edges: Sequence[int], values: Sequence[Any]) -> None:
        """Takes tensors from another task, for a step that runs or will run."""
        step = self._known.get(step_id) or self.find(step_id, early=True)
        if step is not None:
            step.deliver(edges, values)
        if self._early and step_id in self._early:
            self._count_early(step_id, values)

    def forget(self, step_id: int) -> Step | None:
        """Notes that a step has ended, possibly before it began; returns it if it was known."""
        with self._lock:
            step = self._known.pop(step_id, None)
            self._begun(step_id)
            self._remember(step_id)
        if self._waits_idle:
            with self._fewer:
                self._fewer.notify_all()
        return step

    def wait_idle(self, end: float) -> bool:
        """Waits for running steps until the monotonic time `end`; whether none runs."""
        self._waits_idle = True
        with self._fewer:
            return self._fewer.wait_for(
                lambda: not any(step.started for step in self.known()), end - time.monotonic()
            )

    def close(self) -> None:
        """Ends the thread that drops early tensors."""
        self._deadlines.close()

    def _begun(self, step_id: int) -> None:
        """Stops counting a step as early."""
        early = self._early.pop(step_id, None)
        if early is not None:
            self._early_bytes -= early.bytes

    def _count_early(self, step_id: int, values: Sequence[Any]) -> None:
        """Counts early tensors, and enforces the limit on their bytes."""
        size = sum(getattr(value, "nbytes", 0) for value in values)
        with self._lock:
            early = self._early.get(step_id)
            if early is not None:
                early.bytes += size
                self._early_bytes += size
        self._drop_stale()

    def _drop_old(self) -> None:
        self._drop_stale()
        with self._lock:
            self._early_watched = bool(self._early)
            if self._early_watched:
                self._deadlines.after(timeouts.EARLY_SECONDS / 4, self._drop_old)

    def _drop_stale(self) -> None:
        """Drops early steps that are too old or too many, as their masters are gone."""
        dropped = []
        oldest = time.monotonic() - timeouts.EARLY_SECONDS
        with self._lock:
            while self._early:
                step_id, early = next(iter(self._early.items()))
                few = len(self._early) <= limits.MAX_EARLY_STEPS
                if few and self._early_bytes <= limits.MAX_EARLY_BYTES and early.began > oldest:
                    break
                self._begun(step_id)
                error = limits.early_error(f"Step {step_id}", early.bytes)
                self._remember(step_id, error)
                dropped.append((self._known.pop(step_id), error))
        for step, error in dropped:
            step.fail(error)
        if dropped:
            log.warning("dropped the tensors of %d steps that no master has asked to run", len(dropped))
            dropped.clear()
            BUDGET.release()  # no step will reuse that memory soon

    def _remember(self, step_id: int, error: errors.OpError | None = None) -> None:
        self._ended[step_id] = error
        if len(self._ended) > limits.REMEMBERED_STEPS:
            self._ended.popitem(last=False)
