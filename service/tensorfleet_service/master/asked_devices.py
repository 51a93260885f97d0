"""The devices that the parts of an If, a Case or a While ask for, and whether one satisfies them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensorfleet.core import dtypes
from tensorfleet.core.attr_value import NameAttrList
from tensorfleet.core.device import ParsedDevice, parse
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.op_def import lookup
from tensorfleet.proto import function_pb2, node_def_pb2
from tensorfleet_service.graph.graph import Node, is_back_edge
from tensorfleet_service.master.lower_functional import functions_of

Functions = Mapping[str, function_pb2.FunctionDef]
_NONE: frozenset[str] = frozenset()


class BodyDevices:
    """The devices that the bodies of functions name, those of the functions that they call included."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._found: dict[str, frozenset[str]] = {}

    def of(self, function: NameAttrList) -> frozenset[str]:
        """The devices of a function's nodes, without those that are with a variable of theirs in any case."""
        pending = [function.name]
        entered: set[str] = set()
        while pending:
            name = pending[-1]
            definition = self._functions.get(name)
            if name in self._found or definition is None:
                pending.pop()
                continue
            called = {each for node in definition.node_def for each in self._called(node)}
            if name not in entered:
                entered.add(name)
                pending += [each for each in called if each not in self._found and each not in entered]
                continue
            pending.pop()
            own = frozenset(
                node.device for node in definition.node_def if node.device and not _takes_state(node)
            )
            self._found[name] = own.union(*(self._found.get(each, _NONE) for each in called))
        return self._found.get(function.name, _NONE)

    def _called(self, node: node_def_pb2.NodeDef) -> Iterator[str]:
        if node.op in self._functions:
            yield node.op
        for attr in node.attr.values():
            if attr.HasField("func"):
                yield attr.func.name
            for func in attr.list.func:
                yield func.name


class AskedDevices:
    """Looks at the nodes of one graph, whose inputs have been made."""

    def __init__(self, bodies: BodyDevices) -> None:
        self._bodies = bodies
        self._holders: dict[Node, frozenset[str]] = {}

    def disagree(self, node: Node) -> bool:
        """Whether a node that calls functions asks for several devices.

        One device has to be what the node itself asks for, and where all variables are that it takes; the
        bodies may ask for nothing beyond that.
        """
        try:
            device = parse(node.assigned or node.device)
            for source in _state_sources(node):
                for text in self._holders_of(source):
                    held = parse(text)
                    if not _agree(device, held):
                        return True
                    device = device.merge(held)
            wanted = [parse(text) for function in functions_of(node) for text in self._bodies.of(function)]
        except ValueError:
            return True  # a name that the placer refuses
        return not all(each.matches(device) for each in wanted)

    def _holders_of(self, node: Node) -> frozenset[str]:
        """The devices asked for by the nodes that hold the state which a node passes on."""
        pending = [node]
        while pending:
            at = pending[-1]
            if at in self._holders:
                pending.pop()
                continue
            sources = list(_state_sources(at))
            unknown = [source for source in sources if source not in self._holders]
            if unknown:
                pending += unknown
                continue
            pending.pop()
            holds = at.assigned or (at.device and not sources)
            own = frozenset((at.assigned or at.device,)) if holds else _NONE
            self._holders[at] = own.union(*(self._holders[source] for source in sources))
        return self._holders[node]


def _agree(first: ParsedDevice, second: ParsedDevice) -> bool:
    return first.merge(second) == second.merge(first)


def _is_state(dtype: DType) -> bool:
    return dtype.is_ref or dtype is dtypes.resource or dtype is dtypes.variant


def _state_sources(node: Node) -> Iterator[Node]:
    for (source, _), dtype in zip(node.inputs, node.input_types, strict=False):
        if _is_state(dtype) and not is_back_edge(source, node):
            yield source


def _takes_state(node: node_def_pb2.NodeDef) -> bool:
    definition = lookup(node.op)
    return definition is not None and any(
        arg.dtype is not None and _is_state(arg.dtype) for arg in definition.inputs
    )
