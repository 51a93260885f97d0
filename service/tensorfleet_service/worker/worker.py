"""Worker: the graphs registered on one task, and the steps that run on it.

Everything here is free of transports: the master of the same task calls it, the stream service and the gRPC
service call it for masters elsewhere. What it needs of other tasks is one function, `push`.
"""

from __future__ import annotations

import itertools
import logging
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from tensorfleet.core import errors
from tensorfleet.core.files import LOCAL, Files
from tensorfleet_service.devices.allocator import keep_freed_memory
from tensorfleet_service.devices.blas import limit_threads
from tensorfleet_service.devices.memory import BUDGET
from tensorfleet_service.executor.dataflow import DataflowPlan, needs_dataflow
from tensorfleet_service.executor.functions import Library
from tensorfleet_service.executor.layout import by_device, layout, task_of
from tensorfleet_service.executor.plan import Plan
from tensorfleet_service.executor.plan_writer import StatefulKernels
from tensorfleet_service.executor.rendezvous import Rendezvous, edge_number, key_of
from tensorfleet_service.executor.statements import explained
from tensorfleet_service.executor.step import AnyPlan, Done, Push, Recorder, Sender, Step
from tensorfleet_service.kernels.registry import AsyncKernel, Watch
from tensorfleet_service.net import limits
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.threads.pool import Pool
from tensorfleet_service.threads.run_queue import INLINE_SECONDS
from tensorfleet_service.tracing.meter import SAMPLE_MASK, Errors, OpSampler, PlanTotals
from tensorfleet_service.worker.collectives.service import Collectives
from tensorfleet_service.worker.task_graph import Pull, TaskGraph

if TYPE_CHECKING:
    from tensorfleet.proto.function_pb2 import FunctionDef
    from tensorfleet_service.devices.device import Device
    from tensorfleet_service.graph.graph import Node

log = logging.getLogger(__name__)

REMEMBERED_STEPS = 10_000  # ended steps whose late tensors are dropped
MAX_EARLY_STEPS = 10_000  # steps of which tensors have arrived, but no request yet,
EARLY_SECONDS = 30.0  # and how long their tensors are kept: masters ask all tasks at the same time
REMEMBERED_SESSIONS = 10_000  # ended sessions to which nothing is added any more
MAX_QUESTIONS = 10_000  # those that are withdrawn when a step fails: of a loop, there are more and more


class Connections(Protocol):
    """The ways to other tasks: what sends tensors to them, and asks those that do not push for theirs."""

    def sender(self, tasks: Iterable[str]) -> Push: ...
    def pulls_from(self, task: str) -> bool: ...
    def pull(self, task: str, step_id: int, edge: int, key: str) -> Callable[[], None]: ...


class _Early:
    """The tensors of a step that the task has not been asked to run."""

    __slots__ = ("began", "bytes")

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.bytes = 0


class Worker:
    """The graphs, steps and resources of one task.

    Args:
        sampler: times ops of a step now and then.
        files: those that ops may use; by default all that the process may.
    """

    def __init__(
        self,
        task: str,
        devices: Sequence[Device],
        incarnation: int,
        sampler: OpSampler | None = None,
        files: Files = LOCAL,
    ) -> None:
        limit_threads()
        keep_freed_memory()
        self.task = task
        self.incarnation = incarnation
        self.devices = {device.name: device for device in devices}
        self.pool = Pool("compute")
        self.collectives = Collectives(task, incarnation, self.pool)
        self.resources = Resources(self.collectives, files)
        self.rendezvous = Rendezvous()
        self.steps_total = 0
        self.step_errors = Errors()
        self._sampler = sampler
        self._dropped = PlanTotals()  # what the plans of graphs have done that are no more
        self._no_push: Push = partial(_no_push, task)
        self._peers: Connections | None = None
        self._lock = threading.Lock()
        self._idle = threading.Condition()
        self._draining = False
        self._graphs: dict[int, TaskGraph] = {}
        # A handle of the task's process before a restart must not name another graph now.
        self._handles = itertools.count(secrets.randbits(47) << 15)
        self._steps: dict[int, Step] = {}
        self._early: dict[int, _Early] = {}
        self._early_bytes = 0
        self._early_watched = False
        self._deadlines = Deadlines()
        self._ended: OrderedDict[int, errors.OpError | None] = OrderedDict()
        self._isolated: dict[str, Resources] = {}
        self._stateful: dict[str, StatefulKernels] = {}
        self._libraries: dict[str, Library] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()

    def connect(self, peers: Connections) -> None:
        """Makes this one of the tasks of a cluster."""
        self._peers = peers

    # Sessions and graphs

    def create_session(self, handle: str, isolate: bool) -> None:
        """Prepares for a master's session; an isolated one gets resources of its own.

        Raises:
            AbortedError: the session has ended already.
        """
        with self._lock:
            self._check_session(handle)
            self._stateful[handle] = {}
            if isolate:
                self._isolated[handle] = Resources(self.collectives, self.resources.files)

    def delete_session(self, handle: str) -> None:
        """Drops a session's graphs, and its resources if it was isolated."""
        with self._lock:
            self._gone[handle] = None
            if len(self._gone) > REMEMBERED_SESSIONS:
                self._gone.popitem(last=False)
            isolated = self._isolated.pop(handle, None)
            self._stateful.pop(handle, None)
            library = self._libraries.pop(handle, None)
            for graph_handle in [h for h, g in self._graphs.items() if g.session == handle]:
                self._dropped.add(self._graphs.pop(graph_handle).plans)
        if library is not None:
            library.close()
        if isolated is not None:
            isolated.close()

    def _check_session(self, handle: str) -> None:
        """Raises AbortedError if a session has ended: what is added to it now, nobody would drop."""
        if handle in self._gone:
            raise errors.AbortedError(None, None, f"Session {handle} has ended on {self.task}")

    def _library(self, session: str) -> Library:
        with self._lock:
            self._check_session(session)
            library = self._libraries.get(session)
            if library is None:
                resources = self._isolated.get(session, self.resources)
                library = self._libraries[session] = Library(resources, self.pool)
            return library

    def register_graph(
        self, session: str, nodes: Sequence[Node], functions: Sequence[FunctionDef] = ()
    ) -> tuple[int, TaskGraph]:
        """Compiles what this task runs of a signature: the nodes of all its devices, each in the order to
            run.

        Args:
            session: the session's handle.
            nodes: every node's `assigned` names a device of this task.
            functions: what the nodes call.

        Raises:
            AbortedError: the session has ended, possibly meanwhile.
            OpError: a kernel does not exist or refuses its node.
        """
        library = self._library(session)
        resources = library.resources
        library.add(functions)
        plans: list[AnyPlan] = []
        for name, own in by_device(nodes).items():
            device = self.devices.get(name)
            if device is None:
                raise errors.InvalidArgumentError(
                    None, None, f"{self.task} has no device {name}; it has {', '.join(self.devices)}"
                )
            sends = {}
            for node in own:
                if node.op == "_Send":
                    task = task_of(node.attrs["recv_device"].decode())
                    sends[int(node.attrs["_edge"])] = "" if task == self.task else task
            kind = DataflowPlan if needs_dataflow(own) else Plan
            stateful = self._stateful.get(session)
            plans.append(kind(name, own, resources, device.xp, sends, stateful, library))
        graph = TaskGraph(plans, session, layout(nodes), *self._pulls(nodes))
        graph.push = self._sender(nodes)
        graph.sources = self._sources(nodes)
        graph.watches = self._watches(session, nodes)
        handle = next(self._handles)
        with self._lock:
            self._check_session(session)
            self._graphs[handle] = graph
        return handle, graph

    def _sender(self, nodes: Sequence[Node]) -> Push:
        """The function that sends the graph's tensors to other tasks."""
        tasks = {task_of(n.attrs["recv_device"].decode()) for n in nodes if n.op == "_Send"} - {self.task}
        return self._no_push if self._peers is None else self._peers.sender(tasks)

    def _sources(self, nodes: Sequence[Node]) -> frozenset[str]:
        """The other tasks that the graph waits for."""
        tasks = {task_of(n.attrs["send_device"].decode()) for n in nodes if n.op == "_Recv"}
        return frozenset(tasks - {self.task})

    def _watches(self, session: str, nodes: Sequence[Node]) -> list[Watch]:
        """The watches of the graph's kernels, to be called when a step begins."""
        kernels = self._stateful.get(session, {})
        found = [kernels.get((node.assigned, node.name)) for node in nodes if node.opdef.is_stateful]
        return [k.watch for k in found if isinstance(k, AsyncKernel) and k.watch is not None]

    def _pulls(self, nodes: Sequence[Node]) -> tuple[list[Pull], dict[int, tuple[str, Node]]]:
        """The tensors that this task has to ask for: those of tasks that do not push.

        Those of loops, of which there is one in each iteration, are by edge, with their task.
        """
        pulls, loop_pulls = [], {}
        for node in nodes:
            if node.op == "_Recv" and self._peers is not None:
                source = task_of(node.attrs["send_device"].decode())
                if source != self.task and self._peers.pulls_from(source):
                    edge = int(node.attrs["_edge"])
                    if node.attrs.get("_in_loop"):
                        loop_pulls[edge] = (source, node)
                    else:
                        pulls.append((source, edge, key_of(node)))
        return pulls, loop_pulls

    def deregister_graph(self, handle: int) -> None:
        with self._lock:
            graph = self._graphs.pop(handle, None)
            if graph is not None:
                self._dropped.add(graph.plans)

    def graph(self, handle: int) -> TaskGraph:
        """A registered graph.

        Raises:
            AbortedError: there is none; most likely the task has restarted.
        """
        graph = self._graphs.get(handle)
        if graph is None:
            raise errors.AbortedError(
                None,
                None,
                f'Graph handle {handle} is not found. Possibly this worker ("{self.task}") just restarted.',
            )
        return graph

    # Steps

    def run(
        self,
        graph: TaskGraph,
        step_id: int,
        values: Sequence[Any],
        done: Done,
        trace: Recorder | None = None,
        may_block: bool = True,
    ) -> None:
        """Runs this task's part of a step; see `Step.start`."""
        self.steps_total += 1
        if self._draining:
            self.step_errors.add(errors.UNAVAILABLE)
            done(
                errors.UnavailableError(None, None, f"{self.task} is shutting down and starts no new steps"),
                [],
            )
            return
        sampler = self._sampler
        if (
            sampler is not None
            and trace is None
            and graph.plans
            and not graph.plans[0].runs & SAMPLE_MASK
            and sampler.due(graph.plans)
        ):
            trace = sampler
        plan = graph.simple
        if plan is not None and trace is None and (may_block or plan.seconds < INLINE_SECONDS):
            self._run_simple(plan, step_id, values, done, graph.push)
            return
        step = self._step(step_id)
        if step is None:
            ended = errors.AbortedError(None, None, f"Step {step_id} has ended already")
            done(self._ended.get(step_id) or ended, [])
            return

        step.send, step.sources = graph.push, graph.sources
        questions: Iterable[Callable[[], None]] = self._ask(graph.pulls, step_id) if graph.pulls else ()
        if graph.loop_pulls:
            questions = deque(questions, maxlen=MAX_QUESTIONS)
            step.pull = partial(self._ask_in_loop, graph.loop_pulls, step_id, questions)
        watchers = [watch() for watch in graph.watches]

        def end(error: errors.OpError | None, results: Sequence[Any]) -> None:
            draining = self._draining
            if not draining:
                self._forget(step_id)
            if error is not None:
                self.step_errors.add(error.error_code)
                self.rendezvous.fail(step_id, error)  # who asks for a tensor of it waits for nothing
                for withdraw in questions:
                    withdraw()
            done(error, results)
            if error is not None:
                # Not before the error is on its way: what it does to collectives is not why the step failed.
                for failed in watchers:
                    failed(error)
            if draining:
                self._forget(step_id)  # not before the result is on its way: then the task may end

        step.start(graph.plans, graph.split_args(values), end, trace, may_block)

    def _ask(self, pulls: Sequence[Pull], step_id: int) -> list[Callable[[], None]]:
        """Asks for tensors of other tasks; returns what withdraws each question."""
        assert self._peers is not None
        questions: list[Callable[[], None]] = []
        try:
            for task, edge, key in pulls:
                questions.append(self._peers.pull(task, step_id, edge, key))
        except errors.OpError as e:
            self.abort(step_id, e)
        return questions

    def _ask_in_loop(
        self,
        pulls: dict[int, tuple[str, Node]],
        step_id: int,
        questions: deque[Callable[[], None]],
        edge: int,
    ) -> None:
        """Asks for a tensor of one iteration, if it is one to ask for."""
        found = pulls.get(edge_number(edge))
        if found is not None:
            task, node = found
            questions.extend(self._ask([(task, edge, key_of(node, edge))], step_id))

    def _run_simple(self, plan: AnyPlan, step_id: int, values: Sequence[Any], done: Done, push: Push) -> None:
        """Runs a plan to which nothing can be delivered: nobody needs to find its step."""
        started = time.perf_counter()
        try:
            results = plan.function(Sender(step_id, push), values)
        except Exception as e:
            error = explained(plan.explain, e)
            self.step_errors.add(error.error_code)
            self.rendezvous.fail(step_id, error)
            done(error, [])
            return
        plan.took(time.perf_counter() - started)
        done(None, results)

    def deliver(self, step_id: int, edges: Sequence[int], values: Sequence[Any]) -> None:
        """Tensors from another task: for a step that runs, or one that is going to."""
        step = self._steps.get(step_id) or self._step(step_id, early=True)
        if step is not None:
            step.deliver(edges, values)
        if self._early and step_id in self._early:
            self._count_early(step_id, values)

    def abort(self, step_id: int, error: errors.OpError) -> None:
        """Ends a step on this task, now or when it comes."""
        with self._lock:
            step = self._steps.pop(step_id, None)
            self._begun(step_id)
            self._remember(step_id)
        self.rendezvous.fail(step_id, error)
        if step is not None:
            step.fail(error)

    def task_lost(self, task: str, error: errors.OpError) -> None:
        """Ends the steps that wait for tensors of a task to which the connection is lost."""
        for step in list(self._steps.values()):
            if task in step.sources:
                self.abort(step.id, error)

    def waits_since(self, task: str) -> float | None:
        """Since when a step runs that needs tensors of a task, as a monotonic time; None if none does."""
        began = (step.began for step in self.known_steps() if step.started and task in step.sources)
        return min(began, default=None)

    def abort_all(self, error: errors.OpError) -> None:
        """Ends every step on this task."""
        for step_id in list(self._steps):
            self.abort(step_id, error)

    def known_steps(self) -> list[Step]:
        """The steps that run, and those of which tensors came before the request to run."""
        return list(self._steps.values())

    @property
    def simple_code(self) -> CodeType:
        """The code of the function in which steps run that nobody needs to find."""
        return self._run_simple.__func__.__code__  # type: ignore[attr-defined, no-any-return]

    @property
    def steps(self) -> int:
        """The number of steps known at this moment."""
        return len(self._steps)

    @property
    def running(self) -> list[float]:
        """The start times of steps that run at this moment and can be found, as monotonic times."""
        return [step.began for step in list(self._steps.values()) if step.started]

    def totals(self) -> PlanTotals:
        """The work of all plans so far."""
        with self._lock:
            totals = self._dropped.copy()
            for graph in self._graphs.values():
                totals.add(graph.plans)
        return totals

    def all_resources(self) -> list[Resources]:
        """The resources of the task, and those of isolated sessions."""
        with self._lock:
            return [self.resources, *self._isolated.values()]

    @property
    def graphs(self) -> int:
        """The number of registered graphs."""
        return len(self._graphs)

    def drain(self, end: float) -> bool:
        """Refuses new steps, and waits until none runs or the monotonic time is `end`; whether none does."""
        self._draining = True
        with self._idle:
            return self._idle.wait_for(
                lambda: not any(step.started for step in list(self._steps.values())), end - time.monotonic()
            )

    def _step(self, step_id: int, early: bool = False) -> Step | None:
        """The step of a number, made if need be; None if it has ended. `early`: not asked to run yet."""
        with self._lock:
            step = self._steps.get(step_id)
            if step is None:
                if step_id in self._ended:
                    return None
                step = self._steps[step_id] = Step(step_id, self.pool, self._no_push)
                if early:
                    self._early[step_id] = _Early()
                    if not self._early_watched:
                        self._early_watched = True
                        self._deadlines.after(EARLY_SECONDS / 4, self._drop_old)
            elif not early:
                self._begun(step_id)
            return step

    def _begun(self, step_id: int) -> None:
        """A step is no early one any more."""
        early = self._early.pop(step_id, None)
        if early is not None:
            self._early_bytes -= early.bytes

    def _count_early(self, step_id: int, values: Sequence[Any]) -> None:
        """Holds the tensors that come before their steps to the limit on their bytes."""
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
                self._deadlines.after(EARLY_SECONDS / 4, self._drop_old)

    def _drop_stale(self) -> None:
        """Forgets steps that nobody has asked to run for long, or too many: their masters are gone."""
        dropped = []
        oldest = time.monotonic() - EARLY_SECONDS
        with self._lock:
            while self._early:
                step_id, early = next(iter(self._early.items()))
                fits = len(self._early) <= MAX_EARLY_STEPS and self._early_bytes <= limits.MAX_EARLY_BYTES
                if fits and early.began > oldest:
                    break
                self._begun(step_id)
                error = limits.early_error(f"Step {step_id}", early.bytes)
                self._remember(step_id, error)
                dropped.append((self._steps.pop(step_id), error))
        for step, error in dropped:
            step.fail(error)
        if dropped:
            log.warning("dropped the tensors of %d steps that no master has asked to run", len(dropped))
            dropped.clear()
            BUDGET.release()  # no step is going to use that memory again, as it does that of others

    def _forget(self, step_id: int) -> None:
        with self._lock:
            self._steps.pop(step_id, None)
            self._remember(step_id)
        if self._draining:
            with self._idle:
                self._idle.notify_all()

    def _remember(self, step_id: int, error: errors.OpError | None = None) -> None:
        self._ended[step_id] = error
        if len(self._ended) > REMEMBERED_STEPS:
            self._ended.popitem(last=False)

    def close(self) -> None:
        """Ends all steps and the threads of the pool."""
        self.abort_all(errors.CancelledError(None, None, f"{self.task} is shutting down"))
        self.collectives.close()
        self._deadlines.close()
        for library in list(self._libraries.values()):
            library.close()
        self.resources.close()
        self.pool.close()


def _no_push(own_task: str, task: str, step: int, edge: int, value: Any) -> None:
    raise errors.InternalError(None, None, f"{own_task} is not connected to {task}")
