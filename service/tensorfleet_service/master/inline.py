"""Calls of functions, replaced by the nodes of the functions' bodies, so that each is placed by itself.

A function may be made for one device and read variables of several; as one node it would run where it is
called. What is in the place of a call does what the call would: nodes that act wait for all of its inputs,
and what takes a result of it, or waits for it, waits for all of its effects.

An If, Case or While stays one node where one device satisfies all that its parts ask for
(`asked_devices.py`). Else it becomes calls between Switch and Merge (`lower_functional.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.device import parse
from tensorfleet_service.graph.copies import Edge
from tensorfleet_service.graph.graph import Node, opdef_of
from tensorfleet_service.master.asked_devices import AskedDevices, BodyDevices
from tensorfleet_service.master.bodies import Bodies, Functions, has_effect, is_call, passed_on
from tensorfleet_service.master.lower_functional import (
    Lowered,
    functions_of,
    is_functional,
    is_loop,
    lower_branches,
    lower_loop,
    size_of,
)
from tensorfleet_service.master.purity import CONTROL_FLOW

_ENTERS = ("Enter", "RefEnter")
_LOCATION = b"loc:@"
_STATEFUL_CALL = "StatefulPartitionedCall"
_REMOTE = "_remote"
"""The attribute of a call whose whole body is where the call is."""
MAX_NODES = 100_000
"""Limit on the nodes that calls are replaced by in a signature; the other calls stay as they are."""
MAX_NAME_BYTES = 64 << 20
"""Limit on the text of the names of these nodes, as each begins with the name of its call."""
MAX_DEPTH = 40
"""Limit on calls in calls, which come by recursion; deeper ones stay as they are."""

_LABEL_BYTES = 32
"""About what a name has more than that of its If or While."""


class Inliner:
    """Replaces calls in the graphs of one session, whose functions may become more."""

    def __init__(self, functions: Functions, spread: bool = True) -> None:
        """`spread` says whether there are several devices, and so reason to put a While on several."""
        self.bodies = Bodies(functions)
        self._spread = spread
        self._devices = BodyDevices(functions)

    def lower(self, node: Node, name: Callable[[str], str]) -> Lowered:
        """What stands for a node that it can lower; `name` makes a name of a label."""
        if not is_loop(node):
            return lower_branches(node, name)
        condition, body = (self.bodies.of(function, False) for function in functions_of(node))
        assert condition is not None
        assert body is not None
        [tested] = [each.attrs["T"].base for each in condition if each.op == "_Retval"]
        return lower_loop(node, name, tested, passed_on(body))

    def asked_devices(self) -> AskedDevices:
        """What looks at the devices that nodes of a graph ask for."""
        return AskedDevices(self._devices)

    def is_split(self, node: Node, asked: AskedDevices) -> bool:
        """Whether an If, Case or While is to be lowered, as its parts ask for several devices."""
        return self._spread and is_functional(node) and asked.disagree(node)

    def staying(self, nodes: Iterable[Node]) -> list[Node]:
        """The nodes of a graph but those that `inline` will replace, as far as their functions are valid.

        Lists that these take or give are of one step, and their place depends on what the bodies do.
        """
        nodes = list(nodes)
        asked = self.asked_devices()
        gone = {node for node in nodes if self._may_replace(node, asked)}
        if gone:
            _spread_by_variants(nodes, gone)
        return [node for node in nodes if node not in gone]

    def _may_replace(self, node: Node, asked: AskedDevices) -> bool:
        try:
            if is_call(node):
                return self.bodies.can_replace(node)
            return self.is_split(node, asked) and self.bodies.can_lower(node)
        except errors.OpError:
            return False  # an error of the steps that run it

    def inline(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes with bodies in place of calls. Takes over the nodes, which it changes.

        Args:
            nodes: in an order in which they can run.
        """
        if not any(is_call(node) or is_functional(node) for node in nodes):
            return list(nodes)
        taken = {source for node in nodes for source, _ in node.inputs}
        names = {node.name for node in nodes}
        work = _Work(self, names, any(node.op in CONTROL_FLOW for node in nodes))
        for node in nodes:
            work.add(node, ())
            if node not in taken:
                work.keep(node)
        return work.needed()


def _spread_by_variants(nodes: Iterable[Node], found: set[Node]) -> None:
    """Adds the nodes to which edges with variants lead from nodes that were found, in either direction."""
    beside: dict[Node, list[Node]] = {}
    for node in nodes:
        for source, index in node.inputs:
            if source.output_types[index] is dtypes.variant:
                beside.setdefault(source, []).append(node)
                beside.setdefault(node, []).append(source)
    pending = [node for node in beside if node in found]
    while pending:
        for other in beside[pending.pop()]:
            if other not in found:
                found.add(other)
                pending.append(other)


class _Work:
    """The nodes of one signature, in their new order."""

    def __init__(self, inliner: Inliner, names: set[str], has_control_flow: bool) -> None:
        self._inliner = inliner
        self._asked = inliner.asked_devices()
        self._names = names
        self._has_control_flow = has_control_flow
        self._order: list[Node] = []
        self._outputs: dict[Edge, Edge] = {}
        self._ends: dict[Node, Node] = {}
        """What waits for all of a call that is gone."""
        self._droppable: set[Node] = set()
        self._acting = 0
        """How many nodes have been added that have effects."""
        self._added = 0
        self._name_bytes = 0

    def add(self, node: Node, callers: tuple[str, ...]) -> None:
        """Adds a node, or what takes its place; its inputs have been added.

        Args:
            callers: the functions whose bodies it is in, from the outermost.
        """
        if self._outputs or self._ends:
            node.inputs = [self._outputs.get(edge, edge) for edge in node.inputs]
            node.controls = list(dict.fromkeys(self._ends.get(each, each) for each in node.controls))
        if node.op == "RemoteCall":
            _send_to_target(node)
        if is_call(node) and self._may_expand(node, callers):
            self._expand(node, callers)
        elif self._inliner.is_split(node, self._asked) and self._may_lower(node, callers):
            self._lower(node, callers)
        else:
            self._order.append(node)
            self._acting += has_effect(node)

    def keep(self, node: Node) -> None:
        """Keeps what stands for a node that nothing takes: it was asked for."""
        self._droppable.discard(self._ends.get(node, node))

    def _may_expand(self, node: Node, callers: tuple[str, ...]) -> bool:
        name = node.attrs["f"].name
        if node.op == "RemoteCall" or len(callers) >= MAX_DEPTH:
            return False
        if node.op != "SymbolicGradient" and name in callers:
            return False
        if self._added >= MAX_NODES or not self._inliner.bodies.can_replace(node):
            return False
        template = self._inliner.bodies.body_of(node)
        assert template is not None
        size = len(template) + 2
        return self._has_room(size, size * len(node.name) + sum(len(each.name) for each in template))

    def _may_lower(self, node: Node, callers: tuple[str, ...]) -> bool:
        if len(callers) >= MAX_DEPTH or not self._inliner.bodies.can_lower(node):
            return False
        size = size_of(node)
        if self._added + size > MAX_NODES:
            return False
        return self._has_room(size, size * (len(node.name) + _LABEL_BYTES))

    def _has_room(self, nodes: int, name_bytes: int) -> bool:
        """Whether so many more nodes may be added; then they count as such."""
        if self._name_bytes + name_bytes > MAX_NAME_BYTES:
            return False
        self._added += nodes
        self._name_bytes += name_bytes
        return True

    def _lower(self, node: Node, callers: tuple[str, ...]) -> None:
        had, self._has_control_flow = self._has_control_flow, True
        acting = self._acting
        made = self._inliner.lower(node, lambda label: self._name(node, label))
        assert made.end is not None
        for each in made.nodes:
            self._droppable.add(each)
            self.add(each, callers)
        for index, edge in enumerate(made.outputs):
            self._outputs[node, index] = edge
        self._ends[node] = made.end
        if self._acting > acting:
            self._droppable.discard(made.end)
        self._has_control_flow = had

    def _expand(self, call: Node, callers: tuple[str, ...]) -> None:
        template = self._inliner.bodies.body_of(call)
        assert template is not None
        called = (*callers, call.attrs["f"].name)
        had, own = self._has_control_flow, any(node.op in CONTROL_FLOW for node in template)
        self._has_control_flow = had or own
        args = [self._argument(call, index) for index in range(len(call.inputs))]
        start = self._noop(call, "inputs", [source for source, _ in args] + call.controls)
        made: dict[Node, Node] = {}
        given: dict[Node, Edge] = {}
        results: list[Edge] = []
        effects: list[Node] = []
        by_name: dict[str, str] = {}
        elsewhere: set[bytes] = set()
        """The groups of nodes that are with a variable, wherever the call is."""
        for node in template:
            if node.op == "_Arg":
                given[node] = args[node.attrs["index"]]
                continue
            if node.op == "_Retval":
                source, index = node.inputs[0]
                edge = given[source] if source in given else (made[source], index)
                results.append(self._outputs.get(edge, edge))
                continue
            copied = made[node] = node.copy()
            copied.name, copied.assigned = self._name(call, node.name), ""
            copied.inputs = [
                given[source] if source in given else (made.get(source, source), index)
                for source, index in node.inputs
            ]
            copied.controls = [made[control] for control in node.controls if control in made]
            if any(control in given for control in node.controls) or self._waits(copied, own):
                copied.controls.append(start)
            by_name[node.name] = copied.name
            has_place = not elsewhere.isdisjoint(node.attrs.get("_class", ()))
            copied.device = node.device if has_place else _device(node, call)
            self._droppable.add(copied)
            acting = self._acting
            self.add(copied, called)
            if has_place or (_takes_handle(node) and copied not in self._ends):
                elsewhere.add(_LOCATION + node.name.encode())
            if self._acting > acting:
                effects.append(self._ends.get(copied, copied))
        for copied in made.values():
            copied.attrs = _attributes(copied, call, by_name)
        self._close_loops(made)
        self._finish(call, start, results, effects)
        self._has_control_flow = had

    def _name(self, call: Node, name: str) -> str:
        """A name under that of a call, which no other node has."""
        wanted = found = f"{call.name}/{name}"
        number = 0
        while found in self._names:
            number += 1
            found = f"{wanted}_{number}"
        self._names.add(found)
        return found

    def _close_loops(self, made: Mapping[Node, Node]) -> None:
        for copied in made.values():
            copied.inputs = [(made.get(source, source), index) for source, index in copied.inputs]

    def _argument(self, call: Node, index: int) -> Edge:
        """What the body takes for an argument; an Identity where it may be dead, or is a reference."""
        source, output = call.inputs[index]
        dtype = source.output_types[output]
        if not self._has_control_flow and not dtype.is_ref:
            return source, output
        node = Node(self._name(call, f"argument_{index}"), opdef_of("Identity"), {"T": dtype.base})
        node.device = "" if dtype.base in (dtypes.resource, dtypes.variant) else call.device or source.device
        node.inputs = [(source, output)]
        self._droppable.add(node)
        self._order.append(node)
        return node, 0

    def _noop(self, call: Node, label: str, controls: Sequence[Node]) -> Node:
        device = call.device or next((each.device for each in controls if each.device), "")
        node = Node(self._name(call, label), opdef_of("NoOp"), {}, device)
        node.controls = list(dict.fromkeys(controls))
        self._droppable.add(node)
        self._order.append(node)
        return node

    def _waits(self, node: Node, in_control_flow: bool) -> bool:
        """Whether a node of a body has to wait for all arguments: it acts, or would run in any case.

        What acts in a body with control flow does not change anything, and may be in a loop.
        """
        if node.opdef.is_stateful and not in_control_flow:
            return True
        return self._has_control_flow and not node.inputs and not node.controls

    def _finish(self, call: Node, start: Node, results: Sequence[Edge], effects: Sequence[Node]) -> None:
        """Leads those that take the call's results, or wait for it, to what stands for it."""
        ends = list(dict.fromkeys(effects))
        if self._has_control_flow:
            ends.append(start)
        for index, edge in enumerate(results):
            if ends:
                dtype = call.output_types[index].base
                node = Node(self._name(call, f"result_{index}"), opdef_of("Identity"), {"T": dtype})
                node.inputs, node.controls = [edge], ends
                if dtype not in (dtypes.resource, dtypes.variant):
                    node.device = edge[0].device
                self._droppable.add(node)
                self._order.append(node)
                edge = (node, 0)
            self._outputs[call, index] = edge
        self._ends[call] = self._noop(call, "done", [*ends, start, *(source for source, _ in results)])
        self._droppable.difference_update(effects)

    def needed(self) -> list[Node]:
        """The nodes in their order, without those of bodies that nobody needs."""
        needed: set[Node] = set()
        pending = [node for node in self._order if node not in self._droppable]
        while pending:
            node = pending.pop()
            if node in needed:
                continue
            needed.add(node)
            pending += [source for source, _ in node.inputs]
            pending += node.controls
        return [node for node in self._order if node in needed]


def _send_to_target(node: Node) -> None:
    """Makes a call on another device one that asks for that device, if it is a constant."""
    target = node.inputs[0][0]
    while target.op == "Identity":
        target = target.inputs[0][0]
    if target.op != "Const":
        return
    value = np.asarray(target.attrs["value"])
    if value.size != 1:
        text = f"The target of {node.name} has {value.size} elements, and has to be one device"
        raise errors.InvalidArgumentError(None, None, text)
    kept = {key: attr for key, attr in node.attrs.items() if key.startswith("_")}
    kept.update({key: node.attrs[key] for key in ("Tin", "Tout", "f")})
    node.attrs = {"config": b"", "config_proto": b"", "executor_type": b"", _REMOTE: True, **kept}
    node.device = bytes(value.item()).decode(errors="replace")
    node.op, node.opdef = _STATEFUL_CALL, opdef_of(_STATEFUL_CALL)
    node.inputs = node.inputs[1:]
    node.input_types = node.input_types[1:]


def _attributes(node: Node, call: Node, names: Mapping[str, str]) -> dict[str, object]:
    """The attributes of a body's node where it is called: its loops and its groups are those of the call."""
    attrs = node.attrs
    if node.op in _ENTERS:
        attrs = {**attrs, "frame_name": f"{call.name}/".encode() + attrs["frame_name"]}
    if "_class" in attrs:
        groups = [
            _LOCATION + names[name].encode()
            for name in (group.removeprefix(_LOCATION).decode(errors="replace") for group in attrs["_class"])
            if name in names
        ]
        attrs = {key: value for key, value in attrs.items() if key != "_class"}
        if groups:
            attrs["_class"] = groups
    return attrs


def _takes_handle(node: Node) -> bool:
    return dtypes.resource in node.input_types or dtypes.variant in node.input_types


def _device(node: Node, call: Node) -> str:
    """The device that a node of a body asks for: its own, and for the rest that of the call."""
    if call.attrs.get(_REMOTE):
        return call.device
    if _takes_handle(node):
        return node.device  # with its variable
    if not node.device or not call.device:
        return node.device or call.device
    try:
        return str(parse(call.device).merge(parse(node.device)))
    except ValueError:
        return node.device  # which the placer refuses
