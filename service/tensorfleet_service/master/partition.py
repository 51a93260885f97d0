"""Stage 4: division of placed nodes into one list for each device, connected by `_Send` and `_Recv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet_service.executor.rendezvous import FRAME_IDS
from tensorfleet_service.graph.attributes import type_name
from tensorfleet_service.graph.graph import Node, is_back_edge, opdef_of
from tensorfleet_service.graph.loops import ENTERS, EXITS, find_frames, in_order, is_spread, spread

_CONTROL = -1  # the output index of control edges
_SWITCHES = frozenset(("Switch", "RefSwitch"))
_NOT_SENT = frozenset((dtypes.resource, dtypes.variant))


@dataclass(slots=True)
class Partition:
    """The part of a graph that one device runs, in the order in which it runs."""

    device: str
    nodes: list[Node]


def partition(
    nodes: Sequence[Node], incarnations: Mapping[str, int], frame_ids: bool = False
) -> list[Partition]:
    """Divides placed nodes by device, with the partitions in the order in which their devices first appear.

    Each partition keeps the order of `nodes`; where one device has them all, it has these nodes, not copies.
    There is one `_Send` for each pair of a tensor and a device that needs it, directly after the node that
    makes the tensor, and its `_Recv` directly before its first use. Both have TensorFlow's attributes, and
    `_edge`, a number from 0 on; `_Recv` has `_may_be_dead` if the tensor comes from a branch of a
    conditional, and `_in_loop` if one comes in each iteration of a loop (`loops` describes what makes it run
    then). A control edge between devices sends an empty float32 tensor. `_Arg` nodes are copied to the
    devices that use them. References are read before they are sent.

    Args:
        nodes: in an order in which they can run; stay as they are.
        incarnations: of all sending devices, by device, or by task ("/job:worker/replica:0/task:1") if its
            devices have the same.
        frame_ids: whether tensors sent in loops are named by TensorFlow's numbers of frames, as is necessary
            if
            a task is reached by gRPC.

    Raises:
        InvalidArgumentError: a resource, or a reference to be assigned, is not on the device of its user.
    """
    loops = find_frames(nodes)
    if not loops.of and (whole := _on_one_device(nodes)) is not None:
        return [whole]
    triggers: dict[tuple[str, str], Node] = {}
    if is_spread(nodes, loops):
        made = spread(nodes, loops)
        nodes, loops, triggers = made.nodes, made.frames, made.triggers
    elif loops.of:
        nodes = in_order(nodes, loops, triggers)
    frames = loops.of
    consumers: dict[Node, dict[tuple[int, str], None]] = {}
    for node in nodes:
        device = node.assigned
        for i, (source, index) in enumerate(node.inputs):
            if source.assigned != device and source.op != "_Arg":
                _check_edge(source, index, node, i)
                consumers.setdefault(source, {})[(index, device)] = None
        for control in node.controls:
            if control.assigned != device and control.op != "_Arg":
                consumers.setdefault(control, {})[(_CONTROL, device)] = None
    cut = _Cut(incarnations, _may_be_dead(nodes, frames), frames, triggers, frame_ids)
    for node in nodes:
        if node.op != "_Arg":
            cut.add(node)
            for index, device in consumers.get(node, ()):
                cut.send(node, index, device)
    for node in nodes:
        for i, (source, index) in enumerate(node.inputs):
            if is_back_edge(source, node):
                cut.copies[node].inputs[i] = (cut.copies[source], index)
    return [Partition(device, part) for device, part in cut.parts.items()]


def _on_one_device(nodes: Sequence[Node]) -> Partition | None:
    """The only partition, without fed values that nothing takes; None if there are several."""
    device = next((node.assigned for node in nodes if node.op != "_Arg"), None)
    if device is None:
        return None
    args: set[Node] = set()
    for node in nodes:
        if node.assigned != device:
            return None
        if node.op == "_Arg":
            args.add(node)
    if args:
        taken = {source for node in nodes for source, _ in node.inputs if source in args}
        args -= taken.union(*(node.controls for node in nodes if node.controls))
    return Partition(device, [node for node in nodes if node not in args] if args else list(nodes))


def task_of(device: str) -> str:
    """The task of a full device name: the name without its device part."""
    return device.partition("/device:")[0]


class _Cut:
    """The partitions as they grow."""

    def __init__(
        self,
        incarnations: Mapping[str, int],
        may_be_dead: set[Node],
        frames: Mapping[Node, str],
        triggers: Mapping[tuple[str, str], Node],
        frame_ids: bool,
    ) -> None:
        self._frame_ids = frame_ids
        self.parts: dict[str, list[Node]] = {}
        self.copies: dict[Node, Node] = {}
        self._args: dict[tuple[Node, str], Node] = {}
        self._clones: dict[Node, int] = {}
        self._recvs: dict[tuple[Node, int, str], Node] = {}
        self._tokens: dict[Node, Node] = {}
        self._patterns: dict[tuple[str, DType], Node] = {}
        self._encoded: dict[str, bytes] = {}
        self._incarnations = incarnations
        self._may_be_dead = may_be_dead
        self._frames = frames
        self._triggers = triggers
        self._signed: dict[str, int] = {}

    def add(self, node: Node) -> None:
        """Adds a copy of the node to its partition, after the nodes that receive its inputs."""
        copied = self.copies[node] = node.copy()
        device = node.assigned
        part = self.parts.setdefault(device, [])
        for source, index in node.inputs:
            if source.assigned == device and source.op != "_Arg":
                # The source of a back edge has no copy yet, which replaces it at the end.
                copied.inputs.append((self.copies.get(source, source), index))
            elif source.op == "_Arg":
                copied.inputs.append((self._arg(source, device, part), 0))
            else:
                copied.inputs.append((self._recv(source, index, device, part), 0))
        for control in node.controls:
            if control.op == "_Arg":
                copied.controls.append(self._arg(control, device, part))
            elif control.assigned == device:
                copied.controls.append(self.copies[control])
            else:
                copied.controls.append(self._recv(control, _CONTROL, device, part))
        part.append(copied)

    def _arg(self, node: Node, device: str, part: list[Node]) -> Node:
        copied = self._args.get((node, device))
        if copied is None:
            copied = self._args[(node, device)] = node.copy()
            copied.assigned = device
            count = self._clones[node] = self._clones.get(node, 0) + 1
            if count > 1:  # the devices of one task share its names
                copied.name = f"{node.name}_copy_{count}"
            part.append(copied)
        return copied

    def send(self, node: Node, index: int, device: str) -> None:
        """Sends an output of a node, or, for _CONTROL, an empty tensor, from its device to another."""
        edge = len(self._recvs)
        source = self.copies[node]
        part = self.parts[node.assigned]
        key = (node, index, device)
        if index == _CONTROL:
            source, index = self._token(node, part), 0
        dtype = source.output_types[index].base
        attrs = {
            "tensor_name": f"edge_{edge}_{node.name}".encode(),
            "send_device": self._bytes(node.assigned),
            "send_device_incarnation": self._incarnation(node.assigned),
            "recv_device": self._bytes(device),
            "client_terminated": False,
            "_edge": edge,
        }
        if self._frame_ids and node in self._frames:
            attrs[FRAME_IDS] = True
        send = self._new("_Send", dtype, f"_send_{edge}_{node.name}", {"T": dtype, **attrs})
        send.inputs.append((source, index))
        send.assigned = node.assigned
        part.append(send)
        attrs["tensor_type"] = dtype
        if node in self._may_be_dead:
            attrs["_may_be_dead"] = True
        if node in self._frames:
            attrs["_in_loop"] = True
        self._recvs[key] = self._new("_Recv", dtype, f"_recv_{edge}_{node.name}", attrs)

    def _token(self, node: Node, part: list[Node]) -> Node:
        """An empty tensor that is available when the node has run."""
        token = self._tokens.get(node)
        if token is None:
            attrs = {"dtype": dtypes.float32, "value": np.empty(0, np.float32)}
            token = self._tokens[node] = self._new("Const", dtypes.float32, f"_done_{node.name}", attrs)
            token.controls.append(self.copies[node])
            token.assigned = node.assigned
            part.append(token)
        return token

    def _recv(self, source: Node, index: int, device: str, part: list[Node]) -> Node:
        recv = self._recvs[(source, index, device)]
        if not recv.assigned:
            recv.assigned = device
            frame = self._frames.get(source)
            if frame is not None:
                recv.controls.append(self.copies[self._triggers[(frame, device)]])
            part.append(recv)
        return recv

    def _new(self, op: str, dtype: DType, name: str, attrs: dict[str, Any]) -> Node:
        """A node of an op with one type: the copy of a pattern, as there may be very many of them."""
        pattern = self._patterns.get((op, dtype))
        if pattern is None:
            pattern = self._patterns[(op, dtype)] = Node(name, opdef_of(op), attrs)
        node = pattern.copy()
        node.name, node.attrs = name, attrs
        return node

    def _bytes(self, device: str) -> bytes:
        return self._encoded.setdefault(device, device.encode())

    def _incarnation(self, device: str) -> int:
        """The incarnation of a device, an unsigned number of 64 bits, as a signed one for an attribute."""
        signed = self._signed.get(device)
        if signed is None:
            known = self._incarnations
            number = known[device if device in known else task_of(device)]
            signed = self._signed[device] = number - 2**64 if number >= 2**63 else number
        return signed


def _check_edge(source: Node, index: int, node: Node, i: int) -> None:
    dtype = source.output_types[index]
    if dtype.base in _NOT_SENT or node.input_types[i].is_ref:
        message = (
            f"A {type_name(dtype)} cannot be sent from one device to another: {source.name}:{index} is on "
            f"{source.assigned}, but {node.name}, which uses it, is on {node.assigned}. "
            f"Put both on one device.\n\t [[{{{{node {node.name}}}}}]]"
        )
        raise InvalidArgumentError(None, None, message)


def _may_be_dead(nodes: Sequence[Node], frames: dict[Node, str]) -> set[Node]:
    """The nodes whose outputs may have no value because they are on a branch of a conditional.

    The Merge that ends a conditional is among them, as it cannot be seen here whether the conditional itself
    is on a branch. An Exit is not, unless a node that enters its loop is.
    """
    found: set[Node] = set()
    if not any(node.op in _SWITCHES for node in nodes):
        return found
    dead_frames: set[str] = set()
    for node in nodes:
        sources = [source for source, _ in node.inputs if not is_back_edge(source, node)]
        is_dead = not found.isdisjoint((*sources, *node.controls))
        if node.op in ENTERS:
            if is_dead:
                dead_frames.add(frames[node])
        elif node.op in EXITS:
            is_dead = frames[sources[0]] in dead_frames
        elif node.op in _SWITCHES:
            is_dead = True
        if is_dead:
            found.add(node)
    return found
