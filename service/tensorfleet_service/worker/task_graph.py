"""TaskGraph: what one task runs of a step, as it is registered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet_service.executor.plan import Plan

if TYPE_CHECKING:
    from tensorfleet_service.executor.layout import Layout
    from tensorfleet_service.executor.step import AnyPlan, Push
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.kernels.registry import Watch
    from tensorfleet_service.net.wire_graph import Keys

Pull = tuple[str, int, str]
"""A tensor to ask for: its task, its edge, and its key."""


class TaskGraph:
    """A task's part of steps: a plan per device; fed values and fetches travel in the order of
    `layout`.

    Attributes:
        push: sends a tensor to another task.
        sources: the other tasks of whose tensors the plans wait.
        sends_first: whether a plan may send tensors before it waits for one.
        master: the task that has registered the graph, where it came by gRPC.
        keys: what fed values and fetches are called by gRPC, where the graph came that way.
    """

    __slots__ = (
        "_arg_positions",
        "keys",
        "layout",
        "loop_pulls",
        "master",
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
        self.master = ""
        place = {index: i for i, index in enumerate(layout.args)}
        self._arg_positions = [[place[index] for index in plan.args] for plan in plans]
        # The plan that is all of it, receives nothing, takes the fed values as they come, and does end.
        self.simple: AnyPlan | None = None
        if len(plans) == 1 and not plans[0].waits and plans[0].args == list(layout.args):
            self.simple = None if plans[0].loops else plans[0]
        self.sends_first = any(map(_sends_first, plans))

    def split_args(self, values: Sequence[Any]) -> list[list[Any]]:
        """The fed values of each plan, from those of the task."""
        return [[values[i] for i in positions] for positions in self._arg_positions]


def _sends_first(plan: AnyPlan) -> bool:
    for node in plan.nodes:
        if node.op == "_Send":
            return True
        if node.op == "_Recv" and isinstance(plan, Plan):  # the others run in the order in which tensors come
            return False
    return False
