"""A step on one task: the runs of its partitions, and the tensors that arrive for them.

A partition that waits for a tensor is a suspended generator, not a blocked thread. The thread that delivers
the tensor (it reads the connection to the producer, or runs another partition of this task) resumes it, at
once if the rest is known to be short, else on a thread of the pool. So no thread waits inside a step, and a
step cannot deadlock on threads.

A partition that waits for another step, such as for an element of a queue, is suspended in the same way, with
a Future in place of the edge, which is cancelled if the step fails.

Invariants: a generator is resumed only by the thread that took it out of `_waiting`, or by the one that runs
it already; `_waiting` and `_arrived` are changed under the lock; after `fail`, both stay empty.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Generator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from tensorfleet.core import errors
from tensorfleet_service.executor.dataflow import DataflowPlan
from tensorfleet_service.executor.dataflow_run import DataflowRun
from tensorfleet_service.executor.statements import explained
from tensorfleet_service.threads.future import FAILED, PENDING, Future
from tensorfleet_service.threads.run_queue import INLINE_SECONDS, resume
from tensorfleet_service.threads.running import RUNNING

if TYPE_CHECKING:
    from tensorfleet_service.executor.plan import Plan
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.threads.pool import Pool

Done = Callable[["errors.OpError | None", "Sequence[Any]"], None]
Push = Callable[[str, int, int, Any], None]
AnyPlan: TypeAlias = "Plan | DataflowPlan"
AnyRun: TypeAlias = "_Run | DataflowRun"


class Recorder(Protocol):
    """Records each op that ran: a trace, or a sampler."""

    def record(self, node: Node, start: int, end: int, value: Any) -> None: ...


class Step:
    """One step on one task.

    Made when the task is asked to run its part, or when a tensor arrives before that.
    """

    __slots__ = (
        "_arrived",
        "_done",
        "_lock",
        "_remaining",
        "_results",
        "_trace",
        "_waiting",
        "began",
        "error",
        "id",
        "pool",
        "pull",
        "send",
        "sources",
    )

    def __init__(self, step_id: int, pool: Pool, push: Push) -> None:
        self.id = step_id
        self.pool = pool
        self.error: errors.OpError | None = None
        # Asks for a tensor of a loop's iteration, if there are tasks that do not push.
        self.pull: Callable[[int], None] | None = None
        self.send = push  # sends a tensor to another task
        self.sources: Collection[str] = ()  # the tasks from which the step's plans receive tensors
        self._lock = threading.Lock()
        self._arrived: dict[int, Any] = {}
        self._waiting: dict[int | Future, AnyRun] = {}
        self._remaining = 0
        self._results: list[Any] = []
        self._done: Done | None = None
        self._trace: Recorder | None = None
        self.began = 0.0

    @property
    def started(self) -> bool:
        """Whether the task has been asked to run its part."""
        return self._done is not None

    def start(
        self,
        plans: Sequence[AnyPlan],
        args: Sequence[Sequence[Any]],
        done: Done,
        trace: Recorder | None = None,
        may_block: bool = True,
    ) -> None:
        """Runs the plans with their fed values; then calls `done` once, on any thread.

        `done` gets None and the fetches of all plans in their order, or the error that ended the step.
        `may_block` says whether the calling thread has nothing else to do, so that a long plan may run on it.
        """
        self.began = monotonic()
        if may_block:
            client = RUNNING.client
            if client is not None and client.step is None:
                client.step = self
        if not self.pool.has_room:
            self.fail(self.pool.refusal())
        with self._lock:
            error = self.error
            self._done = done
            self._remaining = len(plans)
            self._results = [()] * len(plans)
            self._trace = trace
        if error is not None:
            done(error, [])
            return
        if len(plans) == 1 and (may_block or _is_short(plans[0], may_block)):
            self._new_run(plans[0], 0, args[0]).begin()
            return
        short: list[AnyRun] = []
        long: list[AnyRun] = []
        for i, (plan, own_args) in enumerate(zip(plans, args, strict=True)):
            # Decided once, as other steps of the same plan change its time meanwhile.
            (short if _is_short(plan, may_block) else long).append(self._new_run(plan, i, own_args))
        last = [long.pop()] if may_block and long else []
        for run in long:
            self.pool.submit(run.begin)
        for run in short + last:
            run.begin()

    def _new_run(self, plan: AnyPlan, index: int, args: Sequence[Any]) -> AnyRun:
        if isinstance(plan, DataflowPlan) and plan.waits:
            return DataflowRun(self, plan, index, args)
        return _Run(self, plan, index, args)

    # Called by generated code

    def push(self, task: str, edge: int, value: Any) -> None:
        """Sends a tensor to another task."""
        self.send(task, self.id, edge, value)

    def deliver(self, edges: Sequence[int], values: Sequence[Any]) -> None:
        """Hands tensors to the partitions of this task that receive them, now or later."""
        ready = []
        with self._lock:
            if self.error is not None:
                return
            for edge, value in zip(edges, values, strict=True):
                run = self._waiting.pop(edge, None)
                if run is None:
                    self._arrived[edge] = value
                else:
                    ready.append((run, edge, value))
        for run, edge, value in ready:
            if _is_short(run.plan, may_block=False):
                run.resume(edge, value)
            else:
                self.pool.submit(run.resume, edge, value)

    def trace(self, node: Node, start: int, end: int, value: Any) -> None:
        """Records the time of a node's run, in nanoseconds since the epoch, and its output."""
        assert self._trace is not None
        self._trace.record(node, start, end, value)

    @property
    def tracer(self) -> Callable[[Node, int, int, Any], None] | None:
        """The function that records each op that ran, if the step is traced."""
        return None if self._trace is None else self._trace.record

    # Ends

    def fail(self, error: errors.OpError) -> None:
        """Ends the step with `error`, unless it has ended; waiting partitions are closed and drop their
        tensors.
        """
        with self._lock:
            if self.error is not None:
                return
            self.error = error
            waiting = list(self._waiting.items())
            self._waiting.clear()
            self._arrived.clear()
            done = self._done if self._remaining else None
            self._remaining = 0
        for source, run in waiting:
            if isinstance(source, Future):
                source.cancel()
            run.close()
        if done is not None:
            done(error, [])

    def wait_for(self, source: int | Future, run: AnyRun) -> Any:
        """The value that a run waits for; PENDING if the run will be resumed with it; or FAILED.

        The value is the tensor of an edge, or the future itself when it is completed.
        """
        return self._take(source, run) if type(source) is int else self._await(source, run)  # type: ignore[arg-type]

    def _take(self, edge: int, run: AnyRun) -> Any:
        """The tensor of an edge; PENDING after noting that `run` waits for it; or FAILED if the step has."""
        with self._lock:
            if self.error is not None:
                return FAILED
            value = self._arrived.pop(edge, PENDING)
            if value is PENDING:
                run.pause()
                self._waiting[edge] = run
            return value

    def _await(self, future: Future, run: AnyRun) -> Any:
        """The future, if it has been completed meanwhile; else PENDING or FAILED as from `_take`."""
        with self._lock:
            failed = self.error is not None
            if not failed:
                run.pause()
                self._waiting[future] = run
        if failed:
            future.cancel()
            return FAILED
        if future.start(self._completed):
            return PENDING
        with self._lock:
            if self._waiting.pop(future, None) is None:
                return PENDING  # the step has failed and closed the run, which is never resumed
        run.resumed = time.perf_counter()
        return future

    def waiting(self) -> list[tuple[int | Future, AnyRun]]:
        """The partitions that are suspended now, each with the source it waits for."""
        with self._lock:
            return list(self._waiting.items())

    def _completed(self, future: Future) -> None:
        """Called by the thread that completed a future, in the middle of another step."""
        with self._lock:
            run = self._waiting.pop(future, None)
        if run is not None:
            plan = run.plan
            resume(run, future, float("inf") if plan.lasts else plan.seconds, self.pool)

    def finish(self, index: int, results: Sequence[Any]) -> None:
        """Notes the results of a partition; the last one ends the step."""
        with self._lock:
            if self.error is not None:
                return
            self._results[index] = results
            self._remaining -= 1
            if self._remaining:
                return
            done = self._done
            flat = [value for part in self._results for value in part]
            self._results = []
        assert done is not None
        done(None, flat)


def _is_short(plan: AnyPlan, may_block: bool) -> bool:
    """Whether a plan may run at once; one that may last may not: nobody would notice the step's end."""
    return plan.seconds < INLINE_SECONDS and (may_block or not plan.lasts)


class Sender:
    """The step of a task that receives nothing, in the form that generated code needs to send.

    `error` stays None, as nobody tells such a step that it has failed elsewhere.
    """

    __slots__ = ("_push", "id")

    error: ClassVar[errors.OpError | None] = None

    def __init__(self, step_id: int, push: Push) -> None:
        self.id = step_id
        self._push = push

    def push(self, task: str, edge: int, value: Any) -> None:
        """Sends a tensor to another task."""
        self._push(task, self.id, edge, value)


class _Run:
    """One partition in one step."""

    __slots__ = ("args", "explain", "generator", "index", "longest", "plan", "resumed", "step")

    def __init__(self, step: Step, plan: AnyPlan, index: int, args: Sequence[Any]) -> None:
        self.step = step
        self.plan = plan
        self.index = index
        self.args = args
        self.generator: Generator[int | Future, Any, Sequence[Any]] | None = None
        self.explain: Callable[[BaseException], errors.OpError] = plan.explain
        self.longest = 0.0  # longest time between two pauses, in seconds
        self.resumed = 0.0

    def begin(self) -> None:
        plan, step = self.plan, self.step
        function = plan.function
        if step._trace is not None:
            function, self.explain = plan.traced()
        if plan.waits:
            self.generator = function(step, self.args)
            self.resume(0, None)
            return
        started = time.perf_counter()
        outer, RUNNING.step = RUNNING.step, step
        try:
            results = function(step, self.args)
        except BaseException as e:
            RUNNING.step = outer
            self._fail(e)
            return
        RUNNING.step = outer
        plan.took(time.perf_counter() - started)
        step.finish(self.index, results)

    def resume(self, source: int | Future, value: Any) -> None:
        """Goes on with the value that the generator waits for, until it waits again or ends."""
        generator = self.generator
        assert generator is not None
        now = time.perf_counter()
        if self.resumed:
            self.plan.waited(type(source) is int, now - self.resumed)
        self.resumed = now
        try:
            while True:
                outer, RUNNING.step = RUNNING.step, self.step
                try:
                    wanted = value.resume(generator) if type(value) is Future else generator.send(value)
                finally:
                    RUNNING.step = outer
                value = self.step.wait_for(wanted, self)
                if value is PENDING:
                    # Another thread may have resumed the generator by now: it must not be touched any more.
                    return
                if value is FAILED:
                    generator.close()
                    return
        except StopIteration as e:
            self.pause()
            self.plan.took(self.longest)
            self.step.finish(self.index, e.value)
        except BaseException as e:
            self._fail(e)

    def pause(self) -> None:
        """Notes the time since the run was resumed.

        The longest such time is that for which a thread that resumes the run cannot do its other work.
        """
        now = time.perf_counter()
        self.longest = max(self.longest, now - self.resumed)
        self.resumed = now  # the run goes on at once if the value was there after all

    def close(self) -> None:
        """Drops the values of a waiting run."""
        assert self.generator is not None
        self.generator.close()

    def _fail(self, error: BaseException) -> None:
        self.step.fail(explained(self.explain, error))
        if not isinstance(error, Exception):
            raise error
