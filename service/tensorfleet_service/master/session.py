"""MasterSession: a client's graph on the master, and its run signatures.

The graph work of a run signature (feeds, fetches, targets) is done once, by `prepare`; a step that repeats it
goes from the look-up straight to the tasks.
"""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors, gc_pause
from tensorfleet.proto import master_pb2
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet_service.executor.evaluate import evaluate_node
from tensorfleet_service.executor.layout import task_of
from tensorfleet_service.graph.graph import SessionGraph, needed_functions
from tensorfleet_service.master.colocate import holds_state, state_related
from tensorfleet_service.master.late_reads import read_late
from tensorfleet_service.master.members import LocalMember, Member, Registered
from tensorfleet_service.master.optimize import optimize
from tensorfleet_service.master.partition import partition
from tensorfleet_service.master.place import place, placement_report
from tensorfleet_service.master.prune import after, prune
from tensorfleet_service.master.step import MasterStep, StepDone
from tensorfleet_service.tracing.meter import SAMPLE_MASK, MasterMeter, OpSampler, timed
from tensorfleet_service.worker.progress import computing_in

if TYPE_CHECKING:
    from tensorfleet.proto.graph_pb2 import GraphDef
    from tensorfleet_service.executor.step import AnyPlan
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.tracing.trace import StepTrace

log = logging.getLogger(__name__)

MAX_SIGNATURES = 10_000

SignatureKey = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], frozenset[str]]
"""The names of feeds, fetches and targets, and of nodes that have run already, in a partial run."""

_random = random.SystemRandom()


class Signature:
    """A run signature, prepared on its tasks.

    Attributes:
        key: what it is prepared for.
        parts: the tasks that take part, the master's own last; none any more if it had to make room.
        direct: the only plan, where one device of the master's own task runs all of it, and it must end.
        loops: whether a plan of the master's own task may run without an end.
        reorder_args, reorder_rets: whether that plan takes the feeds, or returns the fetches, in another
            order.
    """

    __slots__ = (
        "direct",
        "feeds",
        "fetches",
        "graphs",
        "key",
        "loops",
        "parts",
        "reorder_args",
        "reorder_rets",
    )

    def __init__(
        self, key: SignatureKey, parts: list[Registered], graphs: list[tuple[str, list[Node]]]
    ) -> None:
        feeds, fetches = len(key[0]), len(key[1])
        self.feeds = feeds
        self.fetches = fetches
        self.parts = parts
        self.graphs = graphs
        self.key = key
        self.direct: AnyPlan | None = None
        self.reorder_args = self.reorder_rets = False
        local = [part.member.graph(part.handle) for part in parts if isinstance(part.member, LocalMember)]
        self.loops = any(plan.loops for graph in local for plan in graph.plans)
        if len(parts) == 1 and local:
            plans = local[0].plans
            if len(plans) == 1 and not plans[0].waits and not self.loops:
                self.direct = plans[0]
                self.reorder_args = plans[0].args != list(range(feeds))
                self.reorder_rets = plans[0].rets != list(range(fetches))


class MasterSession:
    """A session on the master.

    `report` is given the placement of each signature where the client asks for it (log_device_placement).
    `meter` counts, where somebody looks at it.
    """

    def __init__(
        self,
        handle: str,
        config: ConfigProto,
        members: Sequence[Member],
        report: Callable[[str], None] = log.info,
        meter: MasterMeter | None = None,
    ) -> None:
        self.handle = handle
        self._meter = meter
        self._report = report
        self.config = config
        self.members = {member.task: member for member in members}
        self.graph = SessionGraph()
        self.created = time.time()
        self.operation_timeout = config.operation_timeout_in_ms / 1000
        self.steps = 0
        self._devices = [device.name for member in members for device in member.devices]
        self._incarnations = {
            device.name: device.incarnation for member in members for device in member.devices
        }
        self._frame_ids = any(member.by_grpc for member in members)
        self._default_device = self._devices[0]
        self._lock = threading.Lock()
        self._idle = threading.Condition()
        self._draining = False
        self._signatures: dict[SignatureKey, Signature] = {}
        self._running: dict[int, MasterStep] = {}
        # Steps of `run_metered` by thread: when they began, and what they run.
        self._direct: dict[int, tuple[int, Signature]] = {}
        # Step numbers differ between sessions by where they start (a task knows a step by its number, whoever
        # its master is), and from requests on a connection by their highest bit.
        self._step_ids = itertools.count(_random.getrandbits(61) | 1 << 62)
        self._closed = False
        self._when_closed: list[Callable[[], object]] = []
        self._refusal: errors.OpError | None = None

    def extend(self, graph_def: GraphDef, current_version: int | None = None) -> int:
        """Adds nodes to the session's graph; its new version.

        Raises:
            AbortedError: the client's idea of the version is another one.
            OpError: the graph is wrong; nothing was added.
        """
        with self._lock:
            if current_version is not None and current_version != self.graph.version:
                raise errors.AbortedError(
                    None,
                    None,
                    f"Expected graph version {current_version} but the current version is "
                    f"{self.graph.version}.",
                )
            with gc_pause.paused():
                self.graph.extend(graph_def)
            return self.graph.version

    def prepare(
        self,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
        ran: frozenset[str] = frozenset(),
    ) -> Signature:
        """The graph work of a run signature, done at its first use.

        Raises:
            OpError: a name is unknown, a node cannot be placed, has no kernel, or a task does not answer.
        """
        key = (feeds, fetches, targets, ran)
        found = self._signatures.get(key)
        if found is None:
            with self._lock:
                self.check_open()
                found = self._signatures.get(key)
                if found is None:
                    try:
                        with gc_pause.paused():
                            found = self._signatures[key] = self._prepare(*key)
                    except errors.OpError as e:
                        if self._meter is not None:
                            self._meter.prepare_errors.add(e.error_code)
                        raise
                    if len(self._signatures) > MAX_SIGNATURES:
                        self._drop(self._signatures.pop(next(iter(self._signatures))))
        return found

    def _prepare(
        self,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
        ran: frozenset[str],
    ) -> Signature:
        with timed(self._meter, "prune"):
            nodes = prune(after(self.graph, ran), feeds, fetches, targets)
        if any(not node.assigned and holds_state(node) for node in nodes):
            # Where state is must not depend on which step comes first: all nodes that share it decide, now.
            self._place(state_related(self.graph.nodes.values()))
            nodes = prune(after(self.graph, ran), feeds, fetches, targets)
        _check_fetches(nodes)
        with timed(self._meter, "place"):
            self._place(nodes)
        if self.config.log_device_placement:
            self._report(f"placement of session {self.handle}:\n{placement_report(nodes)}")
        options = self.config.graph_options
        level = options.optimizer_options.opt_level
        with timed(self._meter, "optimize"):
            nodes = read_late(nodes)
            if not (level < 0 or options.rewrite_options.disable_meta_optimizer):
                nodes = optimize(nodes, evaluate_node, level)
        by_task: dict[str, list[Node]] = {}
        graphs = []
        with timed(self._meter, "partition"):
            parts = partition(nodes, self._incarnations, self._frame_ids)
        for part in parts:
            by_task.setdefault(task_of(part.device), []).extend(part.nodes)
            graphs.append((part.device, part.nodes))
        tasks = sorted(by_task, key=lambda task: isinstance(self.members[task], LocalMember))
        registered: list[Registered] = []
        try:
            with timed(self._meter, "register"):
                for task in tasks:
                    functions = needed_functions(by_task[task], self.graph.functions)
                    registered.append(self.members[task].register(self.handle, by_task[task], functions))
        except errors.OpError:
            for done in registered:
                done.member.deregister(done.handle)
            raise
        return Signature((feeds, fetches, targets, ran), registered, graphs)

    def _place(self, nodes: list[Node]) -> None:
        soft = self.config.allow_soft_placement
        place(nodes, self._devices, self._default_device, allow_soft_placement=soft)

    def _drop(self, signature: Signature) -> None:
        parts, signature.parts = signature.parts, []
        for part in parts:
            part.member.deregister(part.handle)

    def start(
        self,
        signature: Signature,
        feeds: Sequence[Any],
        done: StepDone,
        trace: StepTrace | None = None,
        may_block: bool = True,
    ) -> MasterStep:
        """Starts a step; `done` is called once, possibly before this returns."""
        self.check_open()
        parts = signature.parts
        if not parts:
            parts = self.prepare(*signature.key).parts  # it had to make room for others
        self.steps += 1
        step_id = next(self._step_ids)
        running = self._running
        meter = self._meter

        def end(error: errors.OpError | None, values: list[Any]) -> None:
            if meter is not None:
                self._count(meter, step, error)
            draining = self._draining
            if not draining:
                running.pop(step_id, None)
            done(error, values)
            if draining:
                running.pop(step_id, None)  # not before `done`: once nothing runs, the task may end
            if self._draining:
                with self._idle:
                    self._idle.notify_all()

        step = MasterStep(step_id, parts, signature.fetches, end)
        running[step_id] = step
        if self._refusal is not None:
            # Since it was looked at above: whoever drains does not wait for this step.
            running.pop(step_id, None)
            self.check_open()
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
            log.debug("step failed: %s", error.message, extra={"session": self.handle, "step": step.id})

    @property
    def is_metered(self) -> bool:
        """Whether steps are counted."""
        return self._meter is not None

    def run_metered(self, signature: Signature, feeds: Sequence[Any]) -> Sequence[Any]:
        """`run_direct` on a task that counts, and that waits for the step when it drains."""
        meter, plan = self._meter, signature.direct
        if meter is None or plan is None:
            return self.run_direct(signature, feeds)
        thread = threading.get_ident()
        began = time.perf_counter_ns()
        self._direct[thread] = began, signature
        try:
            # Now and then a step runs with a clock at each op, which shows where the time goes.
            sampled = not plan.runs & SAMPLE_MASK and meter.sampler.due((plan,))
            values = self.run_direct(signature, feeds, meter.sampler if sampled else None)
        except errors.OpError as e:
            meter.step_errors.add(e.error_code)
            log.debug("step failed: %s", e.message, extra={"session": self.handle})
            raise
        finally:
            meter.local.observe(time.perf_counter_ns() - began)
            self._direct.pop(thread, None)
            if self._draining:
                with self._idle:
                    self._idle.notify_all()
        plan.runs += 1
        return values

    def run_direct(
        self, signature: Signature, feeds: Sequence[Any], sampler: OpSampler | None = None
    ) -> Sequence[Any]:
        """Runs a step that one device of this task computes alone, on the calling thread.

        Raises:
            OpError: the step failed.
        """
        plan = signature.direct
        assert plan is not None
        function = plan.function if sampler is None else plan.traced()[0]
        if self._refusal is not None:
            self.check_open()
        self.steps += 1
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

    def list_devices(self) -> master_pb2.ListDevicesResponse:
        """The devices of the session: those of the master's task, and the others."""
        response = master_pb2.ListDevicesResponse()
        for member in self.members.values():
            found = response.local_device if isinstance(member, LocalMember) else response.remote_device
            found.extend(member.devices)
        return response

    def drain(self, end: float) -> bool:
        """Refuses new steps, and waits until none runs or the monotonic time is `end`; whether none does."""
        self._draining = True
        if self._refusal is None:
            self._refusal = errors.UnavailableError(
                None, None, "The server is shutting down and starts no new steps"
            )
        with self._idle:
            return self._idle.wait_for(lambda: not self.running, end - time.monotonic())

    def close(self, error: errors.OpError | None = None) -> None:
        """Ends the session's steps and gives back what it has on the tasks. Variables stay."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._refusal = error or errors.AbortedError(None, None, f"Session {self.handle} is not found.")
            self._signatures.clear()
            functions, self._when_closed = self._when_closed, []
        for function in functions:
            function()
        for step in list(self._running.values()):
            step.fail(errors.CancelledError(None, None, "Session was closed."))
        for member in self.members.values():
            member.delete_session(self.handle)

    def when_closed(self, function: Callable[[], object]) -> None:
        """Has `function` called once the session is closed, by whomever, at once if it is. It must not
        block.
        """
        with self._lock:
            if not self._closed:
                self._when_closed.append(function)
                return
        function()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def running(self) -> int:
        """How many steps run at this moment."""
        return len(self._running) + len(self._direct)

    def running_steps(self) -> list[tuple[int, float, list[str]]]:
        """The steps that run: number (0 where there is none), age in seconds, what they wait for."""
        now = time.perf_counter_ns()
        found = [
            (step.id, (now - step.began) / 1e9, step.unanswered()) for step in list(self._running.values())
        ]
        for thread, (began, signature) in list(self._direct.items()):
            assert signature.direct is not None
            found.append((0, (now - began) / 1e9, [computing_in(thread, signature.direct).text]))
        return found

    @property
    def began(self) -> list[int]:
        """When the running steps began, by the performance counter, in nanoseconds."""
        direct = [began for began, _ in list(self._direct.values())]
        return [step.began for step in list(self._running.values())] + direct

    def check_open(self) -> None:
        """Raises what the use of a session is answered with that is closed, or whose server is draining."""
        if self._refusal is not None:
            raise errors.from_code(self._refusal.error_code, self._refusal.message)

    @property
    def signatures(self) -> int:
        """How many run signatures are prepared."""
        return len(self._signatures)


def _check_fetches(nodes: Sequence[Node]) -> None:
    """Raises InvalidArgumentError for a fetch that has no value which could be handed out."""
    for node in nodes:
        if node.op == "_Retval":
            source, index = node.inputs[0]
            dtype = source.output_types[index].base
            if dtype.np is None:
                text = (
                    f"{source.name}:{index} is a {dtype.name}, which stays on its task, and cannot be "
                    "fetched. Fetch what is read from it, such as a variable's value."
                )
                raise errors.InvalidArgumentError(None, None, f"{text}\n\t [[{{{{node {source.name}}}}}]]")
