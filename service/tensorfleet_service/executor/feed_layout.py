"""Layout: the fed values that a task takes and the fetches that it returns, in the order of their transfer.

The master and the worker compute it from the same nodes, so it is never sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node


@dataclass(frozen=True, slots=True)
class Layout:
    """The fed values and fetches of one task.

    Attributes:
    args: indices among the step's feeds, ascending.
    rets: indices among the step's fetches, device by device.
    """

    args: tuple[int, ...]
    rets: tuple[int, ...]


def by_device(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """The nodes of each device in order; devices by first appearance."""
    result: dict[str, list[Node]] = {}
    device, own = "", result.get("")
    for node in nodes:
        if own is None or node.assigned != device:
            device = node.assigned
            own = result.setdefault(device, [])
        own.append(node)
    return result


def layout(nodes: Sequence[Node]) -> Layout:
    """The layout of one task's nodes."""
    args = sorted({int(n.attrs["index"]) for n in nodes if n.op == "_Arg"})
    rets = [
        int(node.attrs["index"]) for own in by_device(nodes).values() for node in own if node.op == "_Retval"
    ]
    return Layout(tuple(args), tuple(rets))


def task_of(device: str) -> str:
    """The task of a canonical device name, which is the name without its last part."""
    return device[: device.rindex("/device:")]
