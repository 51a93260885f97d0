"""Loops over several devices, each of which has to run its part as often as the others.

A tensor that crosses devices inside of a loop is sent in every iteration. So its `_Recv` has to run in every
iteration, too: it waits for a Merge of the loop on its device. If there is none, the device gets a loop of
its own, without values, that runs as often as the real loop's condition says:

    token      made where the loop is entered, dead if the loop is on a branch that is not taken
    Enter(token) → Merge → Switch(·, LoopCond of the real loop) → NextIteration → Merge

Ops that move a value between iterations are placed where the value is needed: Enter and NextIteration with
their Merge. Each device has its own Enter of a value that all iterations share.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet_service.graph.graph import Node, is_back_edge, opdef_of

ENTERS = frozenset(("Enter", "RefEnter"))
EXITS = frozenset(("Exit", "RefExit"))
_MERGES = frozenset(("Merge", "RefMerge"))
_NEXT_ITERATIONS = frozenset(("NextIteration", "RefNextIteration"))


@dataclass(slots=True)
class Frames:
    """The loops of a graph: each is named by its path, those around it first.

    Attributes:
        of: the innermost loop of each node's outputs; nodes outside of all loops are absent.
        parents: the enclosing loop of each loop, "" for the outermost ones.
    """

    of: dict[Node, str]
    parents: dict[str, str]


def find_frames(nodes: Sequence[Node]) -> Frames:
    """The loops of a graph, which is in an order in which it can run."""
    frames: dict[Node, str] = {}
    parents: dict[str, str] = {}
    if not any(node.op in ENTERS for node in nodes):
        return Frames(frames, parents)
    for node in nodes:
        sources = [source for source, _ in node.inputs if not is_back_edge(source, node)]
        sources += node.controls
        frame = max((frames.get(source, "") for source in sources), key=len, default="")
        if frame:
            _check_same(node, sources, frames, frame)
        if node.op in ENTERS:
            # Loops with the same name in different outer loops are different frames.
            outer, frame = frame, f"{frame}/{node.attrs['frame_name'].decode(errors='replace')}"
            parents[frame] = outer
        elif node.op in EXITS:
            frame = parents.get(frame, "")
        if frame:
            frames[node] = frame
    return Frames(frames, parents)


def _check_same(node: Node, sources: Sequence[Node], frames: dict[Node, str], frame: str) -> None:
    """Raises InvalidArgumentError if inputs of a node are in loops of which none is inside of the other."""
    innermost = next(source for source in sources if frames.get(source) == frame)
    for source in sources:
        other = frames.get(source, "")
        if other and other != frame and not frame.startswith(f"{other}/"):
            told, one, two = (f"{{{{node {n.name}}}}}" for n in (node, innermost, source))
            text = f"{told} has inputs from different frames. The input {one} is in frame "
            text += f"'{frame.rpartition('/')[2]}'. The input {two} is in frame '{other.rpartition('/')[2]}'."
            raise InvalidArgumentError(None, None, text)


def is_spread(nodes: Sequence[Node], frames: Frames) -> bool:
    """Whether a loop is on several devices."""
    of = frames.of
    for node in nodes if of else ():
        for source in (*(source for source, _ in node.inputs), *node.controls):
            if source in of and source.assigned != node.assigned:
                return True
    return False


@dataclass(slots=True)
class Spread:
    """A graph whose loops can be cut by device.

    Attributes:
        nodes: in an order in which they can run.
        frames: its loops.
        triggers: by loop and device, a node that runs there once in each iteration.
    """

    nodes: list[Node]
    frames: Frames
    triggers: dict[tuple[str, str], Node]


def spread(nodes: Sequence[Node], frames: Frames) -> Spread:
    """Prepares a graph in which loops are on several devices; `nodes` stay as they are.

    Raises:
        InvalidArgumentError: a loop that cannot be cut: it has no condition, or a node that begins an
            iteration
            is used on another device.
    """
    work = _Spreading(nodes, frames)
    work.move_ends()
    work.add_triggers()
    made = Frames(work.of, work.parents)
    return Spread(in_order(work.new + work.nodes, made, work.triggers), made, work.triggers)


class _Spreading:
    def __init__(self, nodes: Sequence[Node], frames: Frames) -> None:
        copies = {node: node.copy() for node in nodes}
        for node, copied in copies.items():
            copied.inputs = [(copies[source], index) for source, index in node.inputs]
            copied.controls = [copies[control] for control in node.controls]
        self.nodes = list(copies.values())
        self.of = {copies[node]: frame for node, frame in frames.of.items()}
        self.parents = frames.parents
        self.triggers: dict[tuple[str, str], Node] = {}
        self.new: list[Node] = []
        self._names = {node.name for node in nodes}
        self._conditions = {
            self.of[node]: node for node in self.nodes if node.op == "LoopCond" and node in self.of
        }
        self._entries: dict[str, Node] = {}
        for node in self.nodes:
            if node.op in ENTERS and not node.attrs["is_constant"]:
                self._entries.setdefault(self.of[node], node)

    def move_ends(self) -> None:
        """Places nodes that begin an iteration on the device where they are used."""
        for node in self.nodes:
            if node.op == "Merge":
                for source, _ in node.inputs:
                    if source.op == "NextIteration" or (
                        source.op == "Enter" and not source.attrs["is_constant"]
                    ):
                        source.assigned = node.assigned
        users: dict[Node, dict[str, list[Node]]] = {}
        for node in self.nodes:
            for source in (*(source for source, _ in node.inputs), *node.controls):
                if source.op == "Enter" and source.attrs["is_constant"]:
                    users.setdefault(source, {}).setdefault(node.assigned, []).append(node)
        for enter, by_device in users.items():
            if enter.assigned not in by_device:
                enter.assigned = next(iter(by_device))
            for device, consumers in by_device.items():
                if device != enter.assigned:
                    self._clone(enter, device, consumers)

    def _clone(self, enter: Node, device: str, consumers: list[Node]) -> None:
        copied = enter.copy()
        copied.name = self._name(enter.name + "_copy")
        copied.assigned = device
        copied.inputs, copied.controls = list(enter.inputs), list(enter.controls)
        self._add(copied, self.of[enter])
        for node in consumers:
            node.inputs = [(copied if s is enter else s, index) for s, index in node.inputs]
            node.controls = [copied if c is enter else c for c in node.controls]

    def add_triggers(self) -> None:
        """Finds or makes a node that runs once per iteration, on each device that an exchange needs."""
        for node in self.nodes:
            frame = self.of.get(node)
            if (
                frame is not None
                and node.op in _MERGES
                and any(is_back_edge(s, node) for s, _ in node.inputs)
            ):
                self.triggers.setdefault((frame, node.assigned), node)
        wanted = [
            place
            for node in (*self.new, *self.nodes)
            for source in (*(source for source, _ in node.inputs), *node.controls)
            for place in self._exchange(source, node)
        ]
        while wanted:
            frame, device = wanted.pop()
            if (frame, device) not in self.triggers:
                wanted += self._add_loop(frame, device)

    def _exchange(self, source: Node, node: Node) -> list[tuple[str, str]]:
        """The loops and devices that an edge needs triggers for, if it crosses devices in a loop."""
        frame = self.of.get(source)
        if frame is None or source.assigned == node.assigned:
            return []
        if source.op in _NEXT_ITERATIONS or (source.op in ENTERS and not source.attrs["is_constant"]):
            message = (
                f"{source.name} begins an iteration of the while loop '{frame}' on {source.assigned}, but "
                f"{node.name} uses it on {node.assigned}. Put both on one device."
            )
            raise InvalidArgumentError(None, None, f"{message}\n\t [[{{{{node {node.name}}}}}]]")
        return [(frame, source.assigned), (frame, node.assigned)]

    def _add_loop(self, frame: str, device: str) -> list[tuple[str, str]]:
        """Adds a loop without values on a device; returns the loops and devices that its edges need."""
        entry, condition = self._entries.get(frame), self._conditions.get(frame)
        if entry is None or condition is None:
            raise InvalidArgumentError(
                None,
                None,
                f"The while loop '{frame}' is on several devices, but has no variable or no LoopCond.",
            )
        around = self.parents[frame]
        source = entry.inputs[0][0]
        attrs: dict[str, Any] = {"dtype": dtypes.float32, "value": np.empty(0, np.float32)}
        token = self._make("Const", f"_token_{entry.name}", attrs, source.assigned, around)
        token.controls = list(dict.fromkeys((source, *entry.controls)))
        attrs = {
            "T": dtypes.float32,
            "frame_name": entry.attrs["frame_name"],
            "is_constant": False,
            "parallel_iterations": entry.attrs["parallel_iterations"],
        }
        of_type: dict[str, Any] = {"T": dtypes.float32}
        enter = self._make("Enter", f"_enter_{entry.name}", attrs, device, frame)
        enter.inputs = [(token, 0)]
        merge = self._make("Merge", f"_merge_{entry.name}", {**of_type, "N": 2}, device, frame)
        switch = self._make("Switch", f"_switch_{entry.name}", of_type, device, frame)
        switch.inputs = [(merge, 0), (condition, 0)]
        following = self._make("NextIteration", f"_next_{entry.name}", of_type, device, frame)
        following.inputs = [(switch, 1)]
        merge.inputs = [(enter, 0), (following, 0)]
        self.triggers[(frame, device)] = merge
        places = [*self._exchange(token, enter), *self._exchange(condition, switch)]
        return places + [place for control in token.controls for place in self._exchange(control, token)]

    def _make(self, op: str, name: str, attrs: dict[str, Any], device: str, frame: str) -> Node:
        node = Node(self._name(name), opdef_of(op), attrs)
        node.assigned = device
        self._add(node, frame)
        return node

    def _add(self, node: Node, frame: str) -> None:
        self.new.append(node)
        if frame:
            self.of[node] = frame

    def _name(self, name: str) -> str:
        unique, count = name, 0
        while unique in self._names:
            count += 1
            unique = f"{name}_{count}"
        self._names.add(unique)
        return unique


def in_order(nodes: Sequence[Node], frames: Frames, triggers: Mapping[tuple[str, str], Node]) -> list[Node]:
    """The nodes in an order in which they can run, as close to the given one as possible.

    Nodes that leave a loop come after all that enter it, even without a path between them: a device without a
    part in the loop must not wait for its end before it has sent the values that the iterations use.

    Args:
        triggers: the nodes for which tensors from other devices wait in loops.

    Raises:
        InvalidArgumentError: a node that enters a loop depends on one that leaves it.
    """
    position = {node: i for i, node in enumerate(nodes)}
    enters: dict[str, list[Node]] = {}
    for node in nodes:
        if node.op in ENTERS:
            enters.setdefault(frames.of[node], []).append(node)
    left: dict[Node, int] = {}
    users: dict[Node, list[Node]] = {}
    for node in nodes:
        needed = {source for source, _ in node.inputs if not is_back_edge(source, node)} | set(node.controls)
        for source in list(needed):
            if source in frames.of and source.assigned != node.assigned:
                needed.add(triggers[(frames.of[source], node.assigned)])
        if node.op in EXITS:
            needed.update(enters[frames.of[node.inputs[0][0]]])
        left[node] = len(needed)
        for source in needed:
            users.setdefault(source, []).append(node)
    ready = [position[node] for node in nodes if not left[node]]
    result = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        result.append(node)
        for user in users.get(node, ()):
            left[user] -= 1
            if not left[user]:
                heapq.heappush(ready, position[user])
    if len(result) < len(nodes):
        node = next(node for node in nodes if left[node])
        message = f"{node.name} depends on itself by way of a loop's end.\n\t [[{{{{node {node.name}}}}}]]"
        raise InvalidArgumentError(None, None, message)
    return result
