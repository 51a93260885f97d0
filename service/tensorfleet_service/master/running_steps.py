"""RunningSteps: a session's steps on its master, from their start until they are counted."""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet_service.master.gate import Gate
from tensorfleet_service.master.signature import MasterSignature, SignatureKey
from tensorfleet_service.master.step import MasterStep, StepDone
from tensorfleet_service.threads.deadlines import Deadline, Deadlines
from tensorfleet_service.tracing.meter import SAMPLE_MASK, MasterMeter, OpSampler
from tensorfleet_service.worker.progress import computing_in

if TYPE_CHECKING:
    from tensorfleet_service.security.quotas import Account
    from tensorfleet_service.tracing.trace import StepTrace

log = logging.getLogger(__name__)

_random = random.SystemRandom()
QUOTA_DEADLINES = Deadlines()  # of this process's tasks; its thread starts with the first


class RunningSteps:
    """The steps of a session.

    Attributes:
        started: the number of steps that were started.
        is_metered: whether steps are counted.
    """

    def __init__(
        self,
        session: str,
        gate: Gate,
        prepare: Callable[[SignatureKey], MasterSignature],
        meter: MasterMeter | None,
        account: Account | None = None,
    ) -> None:
        self.started = 0
        self._account = account
        self.is_metered = meter is not None
        self._session = session
        self._gate = gate
        self._prepare = prepare
        self._meter = meter
        self._running: dict[int, MasterStep] = {}
        # Steps of `run_metered` by thread: the time of their start, and their signature.
        self._direct: dict[int, tuple[int, MasterSignature]] = {}
        # A task knows steps of all masters by their numbers, so each session begins with a random one. The
        # highest bit distinguishes them from the numbers of requests on a connection.
        self._step_ids = itertools.count(_random.getrandbits(61) | 1 << 62)

    def __len__(self) -> int:
        """The number of running steps."""
        return len(self._running) + len(self._direct)

    def start(
        self,
        signature: MasterSignature,
        feeds: Sequence[Any],
        done: StepDone,
        trace: StepTrace | None = None,
        may_block: bool = True,
    ) -> MasterStep:
        """Starts a step; `done` is called once, possibly before this returns.

        Raises:
            ResourceExhaustedError: the client runs as many steps as it may.
        """
        account = self._account
        if account is None:
            return self._start(signature, feeds, done, trace, may_block)
        account.begin_step(len(self._running))
        limit: list[Deadline] = []

        def end(error: errors.OpError | None, values: list[Any]) -> None:
            ended.set()
            account.end_step()
            for deadline in limit:
                deadline.cancel()
            done(error, values)

        ended = threading.Event()
        seconds = account.limits.step_seconds
        try:
            # What has a limit does not compute on this thread, which sets it.
            step = self._start(signature, feeds, end, trace, may_block and not seconds)
        except BaseException:
            if not ended.is_set():
                account.end_step()
            raise
        if seconds and not ended.is_set():
            limit.append(QUOTA_DEADLINES.after(seconds, lambda: step.fail(account.too_long())))
            if ended.is_set():
                limit[0].cancel()
        return step

    def _start(
        self,
        signature: MasterSignature,
        feeds: Sequence[Any],
        done: StepDone,
        trace: StepTrace | None,
        may_block: bool,
    ) -> MasterStep:
        gate = self._gate
        gate.check()
        parts = signature.parts
        if not parts:
            parts = self._prepare(signature.key).parts  # it was dropped to make room for others
        self.started += 1
        step_id = next(self._step_ids)
        running = self._running
        meter = self._meter

        def end(error: errors.OpError | None, values: list[Any]) -> None:
            if meter is not None:
                self._count(meter, step, error)
            draining = gate.draining
            if not draining:
                running.pop(step_id, None)
            done(error, values)
            if draining:
                running.pop(step_id, None)  # after `done`, as the task may end when no step runs
            if gate.draining:
                gate.step_ended()

        step = MasterStep(step_id, parts, signature.fetches, end)
        running[step_id] = step
        if gate.refusal is not None:
            # The gate was shut after the check above: `drain` does not wait for this step.
            running.pop(step_id, None)
            gate.check()
        try:
            step.start(feeds, trace, may_block)
        except errors.OpError as e:
            step.fail(e)
        except BaseException:
            step.fail(errors.CancelledError(None, None, "The step was interrupted"))
            raise
        return step

    def _count(self, meter: MasterMeter, step: MasterStep, error: errors.OpError | None) -> None:
        """Counts a step that has ended."""
        nanoseconds = time.perf_counter_ns() - step.began
        (meter.distributed if step.is_distributed else meter.local).observe(nanoseconds)
        if error is not None:
            meter.step_errors.add(error.error_code)
            log.debug("step failed: %s", error.message, extra={"session": self._session, "step": step.id})

    def run_metered(self, signature: MasterSignature, feeds: Sequence[Any]) -> Sequence[Any]:
        """Like `run_direct`, on a task that counts steps, and waits for them when it drains."""
        meter, plan = self._meter, signature.direct
        if meter is None or plan is None:
            return self.run_direct(signature, feeds)
        thread = threading.get_ident()
        began = time.perf_counter_ns()
        self._direct[thread] = began, signature
        try:
            # A few sampled steps run with a clock at each op.
            sampled = not plan.runs & SAMPLE_MASK and meter.sampler.due((plan,))
            values = self.run_direct(signature, feeds, meter.sampler if sampled else None)
        except errors.OpError as e:
            meter.step_errors.add(e.error_code)
            log.debug("step failed: %s", e.message, extra={"session": self._session})
            raise
        finally:
            meter.local.observe(time.perf_counter_ns() - began)
            self._direct.pop(thread, None)
            if self._gate.draining:
                self._gate.step_ended()
        plan.runs += 1
        return values

    def run_direct(
        self, signature: MasterSignature, feeds: Sequence[Any], sampler: OpSampler | None = None
    ) -> Sequence[Any]:
        """Runs a step that one device of this task computes alone, on the calling thread.

        Raises:
            OpError: the step failed.
        """
        plan = signature.direct
        assert plan is not None
        function = plan.function if sampler is None else plan.traced()[0]
        if self._gate.refusal is not None:
            self._gate.check()
        self.started += 1
        if signature.reorder_args:
            feeds = [feeds[i] for i in plan.args]
        try:
            values: Sequence[Any] = function(sampler, feeds)
        except Exception as e:
            raise (plan.explain if sampler is None else plan.traced()[1])(e) from None
        if signature.reorder_rets:
            by_index = dict(zip(plan.rets, values, strict=True))
            values = [by_index[i] for i in range(signature.fetches)]
        return values

    def cancel(self, message: str) -> None:
        """Ends all steps, except those that compute on the thread of their caller."""
        for step in list(self._running.values()):
            step.fail(errors.CancelledError(None, None, message))

    def describe(self) -> list[tuple[int, float, list[str]]]:
        """The running steps: number (0 if they have none), age in seconds, what they wait for."""
        now = time.perf_counter_ns()
        found = [
            (step.id, (now - step.began) / 1e9, step.unanswered()) for step in list(self._running.values())
        ]
        for thread, (began, signature) in list(self._direct.items()):
            assert signature.direct is not None
            found.append((0, (now - began) / 1e9, [computing_in(thread, signature.direct).text]))
        return found

    def began(self) -> list[int]:
        """The start times of the running steps, by the performance counter, in nanoseconds."""
        direct = [began for began, _ in list(self._direct.values())]
        return [step.began for step in list(self._running.values())] + direct
