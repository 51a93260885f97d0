"""The graph work of a run signature: from the session's graph to the parts that tasks register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tensorfleet.core import errors
from tensorfleet.core.environment import choice
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet_service.executor.evaluate import evaluate_node
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.graph import large
from tensorfleet_service.graph.graph import Node, needed_functions
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.kernels.device_memory import has_gpu_kernel
from tensorfleet_service.master.colocate import holds_state, state_related
from tensorfleet_service.master.inline import Inliner
from tensorfleet_service.master.late_reads import read_late
from tensorfleet_service.master.members import Functions, Member
from tensorfleet_service.master.optimize import optimize
from tensorfleet_service.master.partition import partition
from tensorfleet_service.master.place import place, placement_report
from tensorfleet_service.master.prune import after, prune
from tensorfleet_service.master.rewrites import Rewrites
from tensorfleet_service.master.signature import SignatureKey
from tensorfleet_service.tracing.meter import MasterMeter, timed


@dataclass(slots=True)
class TaskPart:
    """A task's part of a signature: the nodes of all its devices, and the functions that they call."""

    member: Member
    nodes: list[Node]
    functions: Functions


@dataclass(slots=True)
class Cut:
    """The partitioned graph of a signature.

    Attributes:
        parts: the parts of the tasks, the master's own last.
        graphs: by device, for clients that ask for partition graphs.
    """

    parts: list[TaskPart]
    graphs: list[tuple[str, list[Node]]]


class GraphWork:
    """Prunes, inlines, places, optimizes and cuts the graphs of one session, under the session's lock."""

    def __init__(
        self,
        config: ConfigProto,
        members: Sequence[Member],
        report: Callable[[str], None],
        meter: MasterMeter | None,
    ) -> None:
        """`report` gets the placement of each signature if the client asks for it."""
        self._config = config
        self._members = {member.task: member for member in members}
        self._rewrites = Rewrites.of(config.graph_options)
        self._report = report
        self._meter = meter
        devices = [device for member in members for device in member.devices]
        self._devices = [device.name for device in devices]
        # The master's own device is the first of them. TensorFlow 1.15 takes the first one by name, so that
        # nodes without a device are on one task for all sessions of a cluster, and share their state there.
        own = choice("TENSORFLEET_UNPLACED") == "own"
        self._default_device = self._devices[0] if own else min(self._devices)
        self._incarnations = {device.name: device.incarnation for device in devices}
        self._has_gpu = any(device.device_type == "GPU" for device in devices)
        self._inliner: Inliner | None = None
        self._frame_ids = any(member.by_grpc for member in members)

    def cut(self, graph: SessionGraph, key: SignatureKey) -> Cut:
        """The nodes that a signature runs, by task and by device, as copies. Keeps their placement in
        `graph`.

        Raises:
            OpError: a name is unknown, or a node cannot be placed.
        """
        feeds, fetches, targets, ran = key
        given = after(graph, ran)
        with timed(self._meter, "prune"):
            nodes = prune(given, feeds, fetches, targets)
        if self._inliner is None:
            self._inliner = Inliner(graph.functions, len(self._devices) > 1)
        inliner = self._inliner
        if any(not node.assigned and holds_state(node) for node in nodes):
            # The device of state must not depend on the first step that uses it, so all nodes that share
            # state are placed now.
            self._place(state_related(inliner.staying(graph.nodes.values())))
            large.end(nodes)
            if given is not graph:
                large.end(list(given.nodes.values()))
                given = after(graph, ran)
            nodes = prune(given, feeds, fetches, targets)
        if given is not graph:
            large.end(list(given.nodes.values()))
        nodes = inliner.inline(nodes)
        _check_fetches(nodes)
        with timed(self._meter, "place"):
            self._place(nodes)
        if self._config.log_device_placement:
            self._report(placement_report(nodes))
        with timed(self._meter, "optimize"):
            late = read_late(nodes)
            nodes = optimize(late, evaluate_node, self._rewrites)
            _end_old(late, nodes)
        with timed(self._meter, "partition"):
            partitions = partition(nodes, self._incarnations, self._frame_ids)
            _end_old(nodes, *(part.nodes for part in partitions))
        by_task: dict[str, list[Node]] = {}
        for part in partitions:
            by_task.setdefault(task_of(part.device), []).extend(part.nodes)
        parts = [
            TaskPart(self._members[task], own, needed_functions(own, graph.functions))
            for task, own in by_task.items()
        ]
        parts.sort(key=lambda part: part.member.is_local)
        return Cut(parts, [(part.device, part.nodes) for part in partitions])

    def close(self) -> None:
        """Drops what it keeps of functions."""
        if self._inliner is not None:
            large.discard(self._inliner, self._inliner.bodies.all())

    def _place(self, nodes: list[Node]) -> None:
        soft = self._config.allow_soft_placement
        kernels = has_gpu_kernel if self._has_gpu else None
        place(nodes, self._devices, self._default_device, soft, kernels)


def _end_old(old: list[Node], *new: Sequence[Node]) -> None:
    """Takes apart what a stage has made copies of."""
    kept = {id(node) for nodes in new for node in nodes}
    if not any(id(node) in kept for node in old):
        large.end(old)


def _check_fetches(nodes: Sequence[Node]) -> None:
    """Raises InvalidArgumentError for a fetch without a value that can be returned."""
    for node in nodes:
        if node.op == "_Retval":
            source, index = node.inputs[0]
            dtype = source.output_types[index].base
            if dtype.np is None:
                text = (
                    f"{source.name}:{index} is a {dtype.name}, which stays on its task, and cannot be "
                    "fetched. Fetch a value that is read from it, such as a variable's."
                )
                raise errors.InvalidArgumentError(None, None, f"{text}\n\t [[{{{{node {source.name}}}}}]]")
