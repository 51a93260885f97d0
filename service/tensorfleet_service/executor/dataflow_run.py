"""DataflowRun: the run of a partition with control flow that waits for tensors or for other steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet_service.executor.execution import Execution, Source
from tensorfleet_service.executor.statements import explained
from tensorfleet_service.threads.future import FAILED, PENDING
from tensorfleet_service.threads.running import RUNNING

if TYPE_CHECKING:
    from tensorfleet_service.executor.dataflow import DataflowPlan
    from tensorfleet_service.executor.step import Step
    from tensorfleet_service.graph.graph import Node


class DataflowRun:
    """The run of one partition in one step.

    The thread that brings a value goes on with the run, unless another thread runs it, which then takes the
    value, too.
    """

    __slots__ = (
        "_busy",
        "_closed",
        "_execution",
        "_inbox",
        "_lock",
        "index",
        "longest",
        "plan",
        "resumed",
        "step",
    )

    def __init__(self, step: Step, plan: DataflowPlan, index: int, args: Sequence[Any]) -> None:
        self.step = step
        self.plan = plan
        self.index = index
        self.resumed = self.longest = 0.0
        self._execution: Execution | None = Execution(plan, step, args, self._ask, step.tracer)
        self._lock = threading.Lock()
        self._inbox: list[tuple[Source, Any]] = []
        self._busy = True
        self._closed = False

    def begin(self) -> None:
        self._turn_in_scope()

    def resume(self, source: Source, value: Any) -> None:
        """Goes on with the op that waits for the source."""
        with self._lock:
            self._inbox.append((source, value))
            if self._busy or self._closed:
                return
            self._busy = True
        self.plan.waited(type(source) is int, time.perf_counter() - self.resumed)
        self._turn_in_scope()

    def pause(self) -> None:
        """Notes that one more op waits; the others go on, so the time is counted per turn."""

    def waiting_node(self, source: Source) -> Node | None:
        """The node that waits for a source; None if it no longer does."""
        execution = self._execution
        found = None if execution is None else execution.outstanding.get(source)
        return None if found is None else found[0].node

    def close(self) -> None:
        """Drops the run's values, at once or when the thread that runs it notices."""
        with self._lock:
            self._closed = True
            if not self._busy:
                self._execution = None
                self._inbox.clear()

    def _ask(self, source: Source) -> None:
        if self.step.pull is not None and type(source) is int:
            self.step.pull(source)
        value = self.step.wait_for(source, self)
        if value is not PENDING:
            with self._lock:
                self._inbox.append((source, value))

    def _turn_in_scope(self) -> None:
        scope = self.plan.scope
        if scope is None:
            self._turn()
        else:
            with scope:
                self._turn()

    def _turn(self) -> None:
        started = time.perf_counter()
        execution = self._execution
        assert execution is not None
        try:
            while True:
                outer, RUNNING.step = RUNNING.step, self.step
                try:
                    execution.run()
                finally:
                    RUNNING.step = outer
                with self._lock:
                    arrived, self._inbox = self._inbox, []
                    if self._closed or (not arrived and execution.outstanding):
                        self.resumed = time.perf_counter()
                        self.longest = max(self.longest, self.resumed - started)
                        self._busy = False
                        if self._closed:
                            self._execution = None
                        return
                if not arrived:
                    break
                for source, value in arrived:
                    if value is FAILED:
                        self.close()
                        break
                    execution.arrive(source, value)
            results = execution.results()
        except BaseException as e:
            self.step.fail(explained(self.plan.explain, e))
            if not isinstance(e, Exception):
                raise
            return
        self.plan.took(max(self.longest, time.perf_counter() - started))
        self.step.finish(self.index, results)
