"""Worker: the graphs registered on one task, and the steps that run on it.

It knows no transports: the master of the same task calls it, and the stream service and the gRPC service call
it for other masters. It reaches other tasks by `Connections`.
"""

from __future__ import annotations

import itertools
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
from tensorfleet_service.devices import copying
from tensorfleet_service.devices.allocator import keep_freed_memory
from tensorfleet_service.devices.blas import limit_threads
from tensorfleet_service.executor.dataflow import DataflowPlan, needs_dataflow
from tensorfleet_service.executor.feed_layout import by_device, layout, task_of
from tensorfleet_service.executor.functions import Library
from tensorfleet_service.executor.host_memory import with_copies
from tensorfleet_service.executor.node_kernels import StatefulKernels
from tensorfleet_service.executor.plan import Plan
from tensorfleet_service.executor.rendezvous import Rendezvous, edge_number, key_of
from tensorfleet_service.executor.statements import explained
from tensorfleet_service.executor.step import AnyPlan, Done, Push, Recorder, Sender, Step
from tensorfleet_service.kernels.registry import AsyncKernel, Watch
from tensorfleet_service.net import limits
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.threads.pool import Pool
from tensorfleet_service.threads.run_queue import INLINE_SECONDS
from tensorfleet_service.tracing.meter import SAMPLE_MASK, Errors, OpSampler, PlanTotals
from tensorfleet_service.worker.collectives.service import Collectives
from tensorfleet_service.worker.steps import Steps
from tensorfleet_service.worker.task_graph import Pull, TaskGraph, pulls, receivers, senders

if TYPE_CHECKING:
    from tensorfleet.proto.function_pb2 import FunctionDef
    from tensorfleet_service.devices.device import Device
    from tensorfleet_service.graph.graph import Node


class Connections(Protocol):
    """The connections to other tasks, to send tensors and to ask for those that are not pushed."""

    def sender(self, tasks: Iterable[str]) -> Push: ...
    def pulls_from(self, task: str) -> bool: ...
    def pull(self, task: str, step_id: int, edge: int, key: str) -> Callable[[], None]: ...


class Worker:
    """The graphs, steps and resources of one task.

    Args:
        sampler: measures the times of ops in a few steps.
        files: the files that ops may use; by default all files that the process may use.
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
        copying.use()
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
        self._dropped = PlanTotals()  # the work of the plans of dropped graphs
        self._no_push: Push = partial(_no_push, task)
        self._peers: Connections | None = None
        self._lock = threading.Lock()  # for graphs and sessions; steps have their own
        self._draining = False
        self._steps = Steps(self.pool, self._no_push)
        self.deliver = self._steps.deliver
        self._graphs: dict[int, TaskGraph] = {}
        # Random, so that no handle from before a restart of the task names another graph now.
        self._handles = itertools.count(secrets.randbits(47) << 15)
        self._isolated: dict[str, Resources] = {}
        self._stateful: dict[str, StatefulKernels] = {}
        self._libraries: dict[str, Library] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()

    def connect(self, peers: Connections) -> None:
        """Makes this the worker of a task of a cluster."""
        self._peers = peers

    # Sessions and graphs

    def create_session(self, handle: str, isolate: bool) -> None:
        """Prepares for a master's session; an isolated one gets its own resources.

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
            if len(self._gone) > limits.REMEMBERED_SESSIONS:
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
        """Raises AbortedError if a session has ended, as nobody would drop what is added to it now."""
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
        """Compiles this task's part of a signature: the nodes of all its devices, in the order of running.

        Args:
            session: the session's handle.
            nodes: their `assigned` names devices of this task.
            functions: the functions that the nodes call.

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
            if device.scope is None:
                plans.append(kind(name, own, resources, device.xp, sends, stateful, library))
                continue
            with device.scope:
                own = with_copies(own)
                plans.append(kind(name, own, resources, device.xp, sends, stateful, library, device.scope))
        peers = self._peers
        asked = ([], {}) if peers is None else pulls(nodes, self.task, peers.pulls_from)
        graph = TaskGraph(plans, session, layout(nodes), *asked)
        graph.push = self._no_push if peers is None else peers.sender(receivers(nodes) - {self.task})
        graph.sources = frozenset(senders(nodes) - {self.task})
        graph.watches = self._watches(session, nodes)
        handle = next(self._handles)
        with self._lock:
            self._check_session(session)
            self._graphs[handle] = graph
        return handle, graph

    def _watches(self, session: str, nodes: Sequence[Node]) -> list[Watch]:
        """The watches of the graph's kernels, which are called when a step begins."""
        kernels = self._stateful.get(session, {})
        found = [kernels.get((node.assigned, node.name)) for node in nodes if node.opdef.is_stateful]
        return [k.watch for k in found if isinstance(k, AsyncKernel) and k.watch is not None]

    def deregister_graph(self, handle: int) -> None:
        with self._lock:
            graph = self._graphs.pop(handle, None)
            if graph is not None:
                self._dropped.add(graph.plans)

    def graph(self, handle: int) -> TaskGraph:
        """A registered graph.

        Raises:
            AbortedError: it does not exist; most likely the task has restarted.
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
        step = self._steps.find(step_id)
        if step is None:
            ended = errors.AbortedError(None, None, f"Step {step_id} has ended already")
            done(self._steps.error(step_id) or ended, [])
            return

        step.send, step.sources = graph.push, graph.sources
        questions: Iterable[Callable[[], None]] = self._ask(graph.pulls, step_id) if graph.pulls else ()
        if graph.loop_pulls:
            questions = deque(questions, maxlen=limits.MAX_QUESTIONS)
            step.pull = partial(self._ask_in_loop, graph.loop_pulls, step_id, questions)
        watchers = [watch() for watch in graph.watches]

        def end(error: errors.OpError | None, results: Sequence[Any]) -> None:
            draining = self._draining
            if not draining:
                self._steps.forget(step_id)
            if error is not None:
                self.step_errors.add(error.error_code)
                self.rendezvous.fail(step_id, error)  # so that nobody waits for its tensors
                for withdraw in questions:
                    withdraw()
                if watchers:
                    self.collectives.step_failed(step_id, error)
            done(error, results)
            if error is not None:
                # After the error was sent: failures of collectives that this causes must not come first.
                for failed in watchers:
                    failed(error)
            if draining:
                self._steps.forget(step_id)  # after the result was sent, as the task may end then

        step.start(graph.plans, graph.split_args(values), end, trace, may_block)

    def _ask(self, pulls: Sequence[Pull], step_id: int) -> list[Callable[[], None]]:
        """Asks for tensors of other tasks; returns functions that withdraw the requests."""
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
        """Asks for a tensor of one iteration, if its task does not push it."""
        found = pulls.get(edge_number(edge))
        if found is not None:
            task, node = found
            questions.extend(self._ask([(task, edge, key_of(node, edge))], step_id))

    def _run_simple(self, plan: AnyPlan, step_id: int, values: Sequence[Any], done: Done, push: Push) -> None:
        """Runs a plan to which nothing can be delivered, so that its step need not be found."""
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

    def abort(self, step_id: int, error: errors.OpError) -> None:
        """Ends a step on this task, at once or when the request to run it comes."""
        step = self._steps.forget(step_id)
        self.rendezvous.fail(step_id, error)
        if step is not None:
            step.fail(error)
        # Its part here may have ended well, and what others have from that does not count.
        self.collectives.step_failed(step_id, error)

    def task_lost(self, task: str, error: errors.OpError) -> None:
        """Ends the steps that wait for tensors of a task whose connection is lost."""
        for step in self._steps.known():
            if task in step.sources:
                self.abort(step.id, error)

    def abort_all(self, error: errors.OpError) -> None:
        """Ends every step on this task."""
        for step in self._steps.known():
            self.abort(step.id, error)

    def known_steps(self) -> list[Step]:
        """The running steps, and those whose tensors came before the request to run."""
        return self._steps.known()

    @property
    def simple_code(self) -> CodeType:
        """The code of the function that runs steps which need not be found."""
        return Worker._run_simple.__code__

    @property
    def steps(self) -> int:
        """The number of known steps."""
        return len(self._steps)

    @property
    def running(self) -> list[float]:
        """The start times, as monotonic times, of the running steps that can be found."""
        return [step.began for step in self._steps.known() if step.started]

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
        """Refuses new steps, and waits for running ones until the monotonic time `end`; whether none runs."""
        self._draining = True
        return self._steps.wait_idle(end)

    def close(self) -> None:
        """Ends all steps and the threads of the pool."""
        self.abort_all(errors.CancelledError(None, None, f"{self.task} is shutting down"))
        self.collectives.close()
        self._steps.close()
        for library in list(self._libraries.values()):
            library.close()
        self.resources.close()
        self.pool.close()


def _no_push(own_task: str, task: str, step: int, edge: int, value: Any) -> None:
    raise errors.InternalError(None, None, f"{own_task} is not connected to {task}")
