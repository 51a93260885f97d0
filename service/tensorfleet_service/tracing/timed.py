"""Timed: measurements of a plan's runs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

# Ops that take no time of their own in a step.
NOT_RUN = frozenset(("_Arg", "_Retval", "Const", "NoOp"))


class Timed:
    """Base class of plans: their times, runs and waits.

    Attributes:
        nodes: the nodes that it runs.
        seconds: the measured time that it computes without a pause; infinite before the first run.
        runs: the number of successful runs.
        tensor_waits, tensor_wait_seconds: the number and the total time of suspensions for another device's
            tensor.
        resource_waits, resource_wait_seconds: the same for resources, such as queues.
        lasts: whether it has loops without an end, or ops that may compute for long, and so looks whether the
            step has failed: it runs where that can be told.
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

    lasts = False

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.seconds = float("inf")
        self.runs = 0
        self.tensor_waits = self.resource_waits = 0
        self.tensor_wait_seconds = self.resource_wait_seconds = 0.0
        self.next_sample = 0.0
        self._op_counts: Counter[str] | None = None

    def took(self, seconds: float) -> None:
        """Notes the time of a run that has ended. A run that other work of the machine has interrupted counts
        little.
        """
        self.runs += 1
        known = self.seconds
        self.seconds = seconds if seconds < known else known + (seconds - known) * 0.1

    def waited(self, tensor: bool, seconds: float) -> None:
        """Notes that a run was suspended for `seconds`, for a tensor or for a resource."""
        if tensor:
            self.tensor_waits += 1
            self.tensor_wait_seconds += seconds
        else:
            self.resource_waits += 1
            self.resource_wait_seconds += seconds

    def ops_run(self) -> dict[str, int]:
        """The number of ops that have run in successful runs, by op type."""
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
