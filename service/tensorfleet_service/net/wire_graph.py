"""Graphs in the form of TensorFlow's workers: a task's part of a step for RegisterGraph by gRPC.

There, a fed value is a `_Recv`, and a fetch a `_Send`, both `client_terminated`: RunGraph names them by their
rendezvous keys. In the runtime's own form they are `_Arg` and `_Retval` nodes, with positions.

A graph that TensorFlow's master has partitioned comes in no particular order, and does not say whether a
tensor
may be dead, or whether one comes in each iteration of a loop: that is determined here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet.graph.graph import MIN_CONSUMER_VERSION, PRODUCER_VERSION
from tensorfleet_service.executor.feed_layout import by_device, layout
from tensorfleet_service.executor.rendezvous import FRAME_IDS, edge_of_name, key_of
from tensorfleet_service.graph.fused_ops import take_apart
from tensorfleet_service.graph.graph import Node, is_back_edge, opdef_of, to_graph_def
from tensorfleet_service.graph.loops import find_frames
from tensorfleet_service.graph.session_graph import from_graph_def

if TYPE_CHECKING:
    from tensorfleet.proto import function_pb2, graph_pb2

_HOST = {"_HostSend": "_Send", "_HostRecv": "_Recv"}
_EXCHANGES = frozenset(("_Send", "_Recv"))


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of a task's fed and fetched tensors in RunGraph.

    Attributes:
        feeds: keys, with positions among the task's fed values; one value may go to several devices.
        fetches: keys, in the order of the task's layout.
    """

    feeds: tuple[tuple[str, int], ...]
    fetches: tuple[str, ...]


def to_wire(
    nodes: Sequence[Node], functions: Iterable[function_pb2.FunctionDef], incarnations: Mapping[str, int]
) -> tuple[graph_pb2.GraphDef, Keys]:
    """The GraphDef of one task's nodes, which stay as they are, and the keys of its feeds and fetches.

    Args:
        incarnations: of the task's devices.
    """
    position = {index: i for i, index in enumerate(layout(nodes).args)}
    feeds: list[tuple[str, int]] = []
    fetches: dict[Node, str] = {}
    made: dict[Node, Node] = {}
    for node in nodes:
        copied = made[node] = node.copy()
        if node.op in ("_Arg", "_Retval"):
            fed = node.op == "_Arg"
            index = int(node.attrs["index"])
            attrs = {
                "tensor_type" if fed else "T": node.attrs["T"].base,
                "tensor_name": f"{'feed' if fed else 'fetch'}_{index}".encode(),
                "send_device": node.assigned.encode(),
                "send_device_incarnation": _signed(incarnations[node.assigned]),
                "recv_device": node.assigned.encode(),
                "client_terminated": True,
            }
            copied = made[node] = _node(node, "_Recv" if fed else "_Send", attrs)
            if fed:
                feeds.append((key_of(copied), position[index]))
            else:
                fetches[node] = key_of(copied)
    _join(made)
    graph_def = to_graph_def(_pass_on_death(list(made.values())), functions)
    graph_def.versions.producer = PRODUCER_VERSION
    graph_def.versions.min_consumer = MIN_CONSUMER_VERSION
    in_order = [fetches[node] for own in by_device(nodes).values() for node in own if node in fetches]
    return graph_def, Keys(tuple(feeds), tuple(in_order))


def _pass_on_death(nodes: Sequence[Node]) -> list[Node]:
    """The nodes, with an Identity behind each `_Recv` that others wait for by control edges.

    In TensorFlow, a node that waits for a `_Recv` runs even if the received tensor is dead.
    """
    made: dict[Node, Node] = {}
    waited_for = {control for node in nodes for control in node.controls}
    result = []
    for node in nodes:
        node.controls = [made.get(control, control) for control in node.controls]
        result.append(node)
        if node.op == "_Recv" and node in waited_for and node.attrs.get("_may_be_dead"):
            identity = made[node] = _node(node, "Identity", {"T": node.attrs["tensor_type"]})
            identity.name = f"{node.name}/alive"
            identity.inputs = [(node, 0)]
            result.append(identity)
    return result


def from_wire(graph_def: graph_pb2.GraphDef) -> tuple[list[Node], Keys]:
    """The nodes of one task's part, in an order in which they can run, and the keys that RunGraph will use.

    Raises as `from_graph_def` does, and InvalidArgumentError if tensors are exchanged by names that are not
    TensorFlow's.
    """
    take_apart(graph_def)
    given = from_graph_def(graph_def)
    is_foreign = any(_is_foreign(node) for node in given)
    feeds: list[tuple[str, int]] = []
    fetches: dict[Node, str] = {}
    made: dict[Node, Node] = {}
    for node in given:
        op, attrs = _HOST.get(node.op, node.op), node.attrs
        if op not in _EXCHANGES:
            made[node] = node.copy()
        elif not attrs["client_terminated"]:
            if is_foreign:
                attrs = {**attrs, "_edge": edge_of_name(attrs["tensor_name"].decode(errors="replace"))}
            made[node] = _node(node, op, attrs)
        elif op == "_Recv":
            made[node] = _node(node, "_Arg", {"T": attrs["tensor_type"], "index": len(feeds)})
            feeds.append((key_of(node), len(feeds)))
        else:
            copied = made[node] = _node(node, "_Retval", {"T": attrs["T"], "index": len(fetches)})
            fetches[copied] = key_of(node)
    _join(made)
    nodes = list(made.values())
    if is_foreign:
        nodes = _in_order(nodes)
        _note_loops(nodes)
    in_order = [fetches[node] for own in by_device(nodes).values() for node in own if node in fetches]
    return nodes, Keys(tuple(feeds), tuple(in_order))


def _is_foreign(node: Node) -> bool:
    """Whether a node sends or receives a tensor by a key that another program's master has made."""
    return (
        _HOST.get(node.op, node.op) in _EXCHANGES
        and not node.attrs["client_terminated"]
        and "_edge" not in node.attrs
    )


def _node(node: Node, op: str, attrs: dict[str, Any]) -> Node:
    """A node of another op in place of a node."""
    made = Node(node.name, opdef_of(op), attrs, node.device)
    made.assigned = node.assigned
    return made


def _join(made: Mapping[Node, Node]) -> None:
    """Links copies as their originals are linked."""
    for node, copied in made.items():
        copied.inputs = [(made[source], index) for source, index in node.inputs]
        copied.controls = [made[control] for control in node.controls]


def _in_order(nodes: Sequence[Node]) -> list[Node]:
    """The nodes in an order in which they can run.

    Raises:
        InvalidArgumentError: some nodes wait for each other.
    """
    left: dict[Node, int] = {}
    users: dict[Node, list[Node]] = {}
    for node in nodes:
        needed = {source for source, _ in node.inputs if not is_back_edge(source, node)} | set(node.controls)
        left[node] = len(needed)
        for source in needed:
            users.setdefault(source, []).append(node)
    result = [node for node in nodes if not left[node]]
    for node in result:  # which grows
        for user in users.get(node, ()):
            left[user] -= 1
            if not left[user]:
                result.append(user)
    if len(result) < len(nodes):
        name = next(node.name for node in nodes if left[node])
        message = f"{name} depends on itself.\n\t [[{{{{node {name}}}}}]]"
        raise InvalidArgumentError(None, None, message)
    return result


def _note_loops(nodes: Sequence[Node]) -> None:
    """Marks, for the executor, received tensors that may be dead, and those in loops."""
    frames = find_frames(nodes).of
    for node in nodes:
        if node.op in _EXCHANGES:
            noted: dict[str, Any] = {"_may_be_dead": True}
            if node in frames:
                noted |= {"_in_loop": True, FRAME_IDS: True}
            node.attrs = {**node.attrs, **noted}


def _signed(incarnation: int) -> int:
    """An incarnation as a signed number, for an attribute."""
    return incarnation - 2**64 if incarnation >= 2**63 else incarnation
