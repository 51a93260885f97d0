"""TaskGraph: the part of a signature that a task has registered, and its exchange with other tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.executor.plan import Plan
from tensorfleet_service.executor.rendezvous import key_of

if TYPE_CHECKING:
    from tensorfleet_service.executor.feed_layout import Layout
    from tensorfleet_service.executor.step import AnyPlan, Push
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.kernels.registry import Watch
    from tensorfleet_service.net.wire_graph import Keys

Pull = tuple[str, int, str]
"""A tensor to ask for: its task, its edge, and its key."""


class TaskGraph:
    """A task's part of a signature, with a plan for each device; in the order of `feed_layout`.

    Attributes:
        push: sends a tensor to another task.
        sources: the other tasks for whose tensors the plans wait.
        sends_first: whether a plan may send tensors before it waits for one.
        keys: the names of fed values and fetches, if the graph came by gRPC.
    """

    __slots__ = (
        "_arg_positions",
        "keys",
        "layout",
        "loop_pulls",
        "plans",
        "pulls",
        "push",
        "sends_first",
        "session",
        "simple",
        "sources",
        "watches",
    )

    def __init__(
        self,
        plans: list[AnyPlan],
        session: str,
        layout: Layout,
        pulls: list[Pull],
        loop_pulls: dict[int, tuple[str, Node]],
    ) -> None:
        self.plans = plans
        self.push: Push
        self.sources: frozenset[str] = frozenset()
        self.pulls = pulls
        self.loop_pulls = loop_pulls
        self.session = session
        self.layout = layout
        self.watches: list[Watch] = []
        self.keys: Keys | None = None
        place = {index: i for i, index in enumerate(layout.args)}
        self._arg_positions = [[place[index] for index in plan.args] for plan in plans]
        # The only plan, if it receives nothing, takes the fed values in their order, and does not last.
        self.simple: AnyPlan | None = None
        if len(plans) == 1 and not plans[0].waits and plans[0].args == list(layout.args):
            self.simple = None if plans[0].lasts else plans[0]
        self.sends_first = any(map(_sends_first, plans))

    def split_args(self, values: Sequence[Any]) -> list[list[Any]]:
        """The fed values of each plan, from those of the task."""
        return [[values[i] for i in positions] for positions in self._arg_positions]


def receivers(nodes: Sequence[Node]) -> set[str]:
    """The tasks to which nodes send tensors."""
    return {task_of(node.attrs["recv_device"].decode()) for node in nodes if node.op == "_Send"}


def senders(nodes: Sequence[Node]) -> set[str]:
    """The tasks from which nodes receive tensors."""
    return {task_of(node.attrs["send_device"].decode()) for node in nodes if node.op == "_Recv"}


def pulls(
    nodes: Sequence[Node], own_task: str, pulls_from: Callable[[str], bool]
) -> tuple[list[Pull], dict[int, tuple[str, Node]]]:
    """The tensors that a task has to ask for, which are those of tasks for which `pulls_from` is true.

    Tensors of loops, of which there is one in each iteration, are given by edge, with their task.
    """
    once: list[Pull] = []
    in_loops = {}
    for node in nodes:
        if node.op == "_Recv":
            source = task_of(node.attrs["send_device"].decode())
            if source != own_task and pulls_from(source):
                edge = int(node.attrs["_edge"])
                if node.attrs.get("_in_loop"):
                    in_loops[edge] = (source, node)
                else:
                    once.append((source, edge, key_of(node)))
    return once, in_loops


def _sends_first(plan: AnyPlan) -> bool:
    for node in plan.nodes:
        if node.op == "_Send":
            return True
        if node.op == "_Recv" and isinstance(plan, Plan):  # dataflow plans run in the order of arrival
            return False
    return False
