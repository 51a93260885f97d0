"""A step of a session: runs a signature's graphs on all its tasks, and gathers the fetches."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.wire.connection import cork
from tensorfleet_service.net import limits, timeouts

if TYPE_CHECKING:
    from tensorfleet_service.master.members import Member, Registered
    from tensorfleet_service.tracing.trace import StepTrace

log = logging.getLogger(__name__)


StepDone = Callable[["errors.OpError | None", "list[Any]"], None]


class MasterStep:
    """One step. The first error on any task ends it everywhere, and is reported.

    A step never blocks the thread that starts it: `done` is called once, with the fetches in order or the
        error, on the thread on which the last part has ended.
    """

    __slots__ = ("_answered", "_done", "_lock", "_parts", "_remaining", "_results", "began", "id")

    def __init__(self, step_id: int, parts: Sequence[Registered], fetches: int, done: StepDone) -> None:
        self.id = step_id
        self.began = time.perf_counter_ns()
        self._parts = parts
        self._answered: list[Registered] = []
        self._remaining = len(parts)
        self._results: list[Any] = [None] * fetches
        self._done: StepDone | None = done
        self._lock = threading.Lock()

    @property
    def is_distributed(self) -> bool:
        """Whether other tasks take part."""
        parts = self._parts
        return len(parts) > 1 or (len(parts) == 1 and not parts[0].member.is_local)

    def start(self, feeds: Sequence[Any], trace: StepTrace | None = None, may_block: bool = True) -> None:
        """Asks every task to run its part; the master's own is the last, so that the others run beside it."""
        if not self._parts:
            done, self._done = self._done, None
            if done is not None:
                done(None, self._results)
        elif self._parts[-1].member.sends_at_once(self._parts[-1].handle):
            # The first tensors of the master's own part go out in one write with the requests to run.
            with cork():
                self._start(feeds, trace, may_block)
        else:
            self._start(feeds, trace, may_block)

    def _start(self, feeds: Sequence[Any], trace: StepTrace | None, may_block: bool) -> None:
        for part in self._parts:
            if self._done is None:
                return  # a part has failed at once, and ended the step
            values = [feeds[i] for i in part.layout.args]
            part.member.run(part.handle, self.id, values, _PartDone(self, part), trace, may_block)

    def part_done(self, part: Registered, error: errors.OpError | None, values: Sequence[Any]) -> None:
        if error is not None:
            self.fail(error)
            return
        with self._lock:
            self._answered.append(part)
            results = self._results
            for index, value in zip(part.layout.rets, values, strict=True):
                results[index] = value
            self._remaining -= 1
            if self._remaining:
                return
            done, self._done = self._done, None
        if done is not None:
            done(None, results)
        for each in self._parts:
            if each.member.cleans_up:
                each.member.end_step(self.id)

    def activity(self, seconds: float = timeouts.ASK_SECONDS) -> list[str]:
        """Descriptions of what the tasks that have not answered do; asks them, for at most `seconds`."""
        with self._lock:
            missing = [part.member for part in self._parts if part not in self._answered]

        def ask(member: Member) -> list[str]:
            task = member.task.replace("/replica:0", "")
            left = end - time.monotonic()
            try:
                if left <= 0:
                    raise errors.DeadlineExceededError(None, None, "it was not asked: others took too long")
                found = member.activity(self.id, left)
            except errors.OpError as e:
                return [f"{task} has not answered, and gives no reason: {e.message}"]
            return [f"{task} {text}" for text in found or ["has not answered"]]

        end = time.monotonic() + seconds
        if len(missing) < 2:
            return [text for member in missing for text in ask(member)]
        with ThreadPoolExecutor(min(len(missing), limits.MAX_TASK_THREADS), "ask") as executor:
            return [text for texts in executor.map(ask, missing) for text in texts]

    def unanswered(self) -> list[str]:
        """Texts about the tasks that have not answered, without asking them."""
        with self._lock:
            missing = [part.member.task for part in self._parts if part not in self._answered]
        return [f"waits for {task.replace('/replica:0', '')}" for task in missing]

    def late(self, seconds: float) -> errors.OpError:
        """The error for a step that has not ended in time, with what it waits for; it asks the tasks."""
        try:
            what = "; ".join(self.activity()) or "nothing any more: it was about to end"
        except Exception as e:  # reading the stacks of running threads may fail, and the step has to end
            log.exception("what step %d waits for could not be found", self.id)
            what = f"unknown, because of {type(e).__name__}"
        text = f"The step did not end within {seconds:g} s. It waits for this: {what}"
        return errors.DeadlineExceededError(None, None, text)

    def time_out(self, seconds: float) -> None:
        """Ends the step, whose time is over, without waiting."""
        if self._done is None:
            return
        thread = threading.Thread(target=lambda: self.fail(self.late(seconds)), name=f"end step {self.id}")
        thread.daemon = True
        try:
            thread.start()
        except (RuntimeError, MemoryError):  # then without asking the tasks what they wait for
            what = "; ".join(self.unanswered())
            text = f"The step did not end within {seconds:g} s. It {what}"
            self.fail(errors.DeadlineExceededError(None, None, text))

    def fail(self, error: errors.OpError) -> None:
        """Ends the step with `error`, if it has not ended, and tells all tasks to drop it.

        The error is reported once the members of the step's collectives have heard of it: a step that they
        begin afterwards does not meet this one.
        """
        with self._lock:
            done, self._done = self._done, None
        if done is None:
            return
        cause = errors.from_code(errors.ABORTED, f"Step {self.id} was ended by another task: {error.message}")
        for part in self._parts:
            part.member.abort(self.id, cause)
        own = next((part.member for part in self._parts if part.member.is_local), None)
        if own is None:
            done(error, [])
        else:
            own.when_heard(lambda: done(error, []))


class _PartDone:
    """The callback of one part: a function with two slots, cheaper to make than a closure."""

    __slots__ = ("part", "step")

    def __init__(self, step: MasterStep, part: Registered) -> None:
        self.step = step
        self.part = part

    def __call__(self, error: errors.OpError | None, values: Sequence[Any]) -> None:
        self.step.part_done(self.part, error, values)
