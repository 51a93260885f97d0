"""MasterSignature: feeds, fetches and targets of a session, prepared on the tasks that run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import dtypes, errors
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.graph import large
from tensorfleet_service.master.members import LocalMember, Registered

if TYPE_CHECKING:
    from tensorfleet_service.executor.step import AnyPlan
    from tensorfleet_service.graph.graph import Node

SignatureKey = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], frozenset[str]]
"""The names of feeds, fetches and targets, and, in a partial run, of nodes that have run already."""


class MasterSignature:
    """A run signature, prepared on its tasks.

    Attributes:
        key: the names for which it is prepared.
        feeds, fetches: the numbers of feeds and fetches.
        parts: the parts of the tasks, the master's own last; empty after it was dropped to make room.
        graphs: the nodes by device.
        direct: the only plan, where one device of the master's own task runs all of it, it must end, and no
            quota is to be looked at.
        loops: whether a plan of the master's own task may run without an end.
        reorder_args, reorder_rets: whether that plan takes the feeds, or returns the fetches, in another
            order.
    """

    __slots__ = (
        "_expected",
        "_task",
        "direct",
        "feeds",
        "fetches",
        "graphs",
        "key",
        "lasts",
        "parts",
        "reorder_args",
        "reorder_rets",
    )

    def __init__(
        self,
        key: SignatureKey,
        parts: Sequence[Registered],
        graphs: list[tuple[str, list[Node]]],
        direct: bool = True,
    ) -> None:
        feeds, fetches = len(key[0]), len(key[1])
        self.feeds = feeds
        self.fetches = fetches
        self.parts = list(parts)
        self.graphs = graphs
        self._task = next((part.member.task for part in parts if part.member.is_local), "")
        large.keep(self, sum(len(nodes) for _, nodes in graphs))
        self.key = key
        args = [node for _, nodes in graphs for node in nodes if node.op == "_Arg"]
        self._expected = [(node.attrs["index"], kind) for node in args if (kind := node.output_types[0].np)]
        self.direct: AnyPlan | None = None
        self.reorder_args = self.reorder_rets = False
        local = [part.member.graph(part.handle) for part in parts if isinstance(part.member, LocalMember)]
        self.lasts = any(plan.lasts for graph in local for plan in graph.plans)
        if direct and len(parts) == 1 and local:
            plans = local[0].plans
            if len(plans) == 1 and not plans[0].waits and not self.lasts:
                self.direct = plans[0]
                self.reorder_args = plans[0].args != list(range(feeds))
                self.reorder_rets = plans[0].rets != list(range(fetches))

    def __del__(
        self, discard: Callable[..., None] = large.discard, task_of: Callable[[str], str] = task_of
    ) -> None:
        graphs = getattr(self, "graphs", ())
        # The nodes of the master's own task are those of plans, which may still run, and end with these.
        others = [nodes for device, nodes in graphs if task_of(device) != self._task]
        discard(self, others, [nodes for _, nodes in graphs])

    def check_feeds(self, values: Sequence[Any]) -> None:
        """Raises InvalidArgumentError for fed values of a client with other dtypes than the signature's."""
        if len(values) != self.feeds:
            raise errors.InvalidArgumentError(
                None, None, f"Expected {self.feeds} feed tensors, but got {len(values)}"
            )
        for i, expected in self._expected:
            if values[i].dtype != expected:
                got = dtypes.as_dtype(values[i].dtype).name
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"{self.key[0][i]} is fed a value of type {got}, but is of type "
                    f"{dtypes.as_dtype(expected).name}. Cast what you feed.",
                )

    def release(self) -> None:
        """Drops the registered graphs, without waiting; a later use prepares the signature anew."""
        parts, self.parts = self.parts, []
        for part in parts:
            part.member.deregister(part.handle)
