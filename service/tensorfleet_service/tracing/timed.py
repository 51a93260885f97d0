"""Timed: how a plan runs, as far as that is known."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

# Ops that take no time of their own in a step.
NOT_RUN = frozenset(("_Arg", "_Retval", "Const", "NoOp"))


class Timed:
    """The times of a plan: how long it computes at a stretch, how often it has run, and how it has waited.

    Attributes:
        nodes: what it runs.
        seconds: how long it computes at a stretch, as measured so far; infinite before the first run.
        runs: how many runs have ended well.
        tensor_waits, tensor_wait_seconds: how often and how long it was suspended for another device's
            tensor.
        resource_waits, resource_wait_seconds: the same for resources, such as queues.
        loops: whether it may run without an end, and has to be told that the step has failed.
        next_sample: the monotonic time before which its ops are not timed again.
    """

    __slots__ = (
        "_op_counts",
        "next_sample",
        "nodes",
        "resource_wait_seconds",
        "resource_waits",
        "runs",
        "seconds",
        "tensor_wait_seconds",
        "tensor_waits",
    )

    loops = False

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.seconds = float("inf")
        self.runs = 0
        self.tensor_waits = self.resource_waits = 0
        self.tensor_wait_seconds = self.resource_wait_seconds = 0.0
        self.next_sample = 0.0
        self._op_counts: Counter[str] | None = None

    def took(self, seconds: float) -> None:
        """Notes the end of a run, and how long it took. One that was interrupted by other work of the machine
        counts little.
        """
        self.runs += 1
        known = self.seconds
        self.seconds = seconds if seconds < known else known + (seconds - known) * 0.1

    def waited(self, tensor: bool, seconds: float) -> None:
        """Notes that a run was suspended for so long, for a tensor or for a resource."""
        if tensor:
            self.tensor_waits += 1
            self.tensor_wait_seconds += seconds
        else:
            self.resource_waits += 1
            self.resource_wait_seconds += seconds

    def ops_run(self) -> dict[str, int]:
        """The number of ops that have run, in runs that ended well, by op type."""
        runs = self.runs
        if not runs:
            return {}
        counts = self._op_counts
        if counts is None:
            counts = self._op_counts = Counter(node.op for node in self.nodes if is_run(node))
        return {op: count * runs for op, count in counts.items()}


def is_run(node: Node) -> bool:
    """Whether a node counts as an op that runs: fed values, constants and fetches do not."""
    return node.op not in NOT_RUN
