"""The devices that the parts of an If, a Case or a While ask for, and whether one satisfies them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tensorfleet.core import dtypes
from tensorfleet.core.attr_value import NameAttrList
from tensorfleet.core.device import ParsedDevice, parse
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.op_def import lookup
from tensorfleet.proto import function_pb2, node_def_pb2
from tensorfleet_service.graph.graph import Node, is_back_edge
from tensorfleet_service.master.lower_functional import functions_of

Functions = Mapping[str, function_pb2.FunctionDef]
Asked = ParsedDevice | None
"""What some nodes ask for together; None if that is not one device."""

_ANYWHERE = ParsedDevice()
_UNDECIDED = "undecided"
"""What a list holds that is made without a device: it is where its users are."""


class BodyDevices:
    """The devices that the bodies of functions name, those of the functions that they call included."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._found: dict[str, Asked] = {}

    def of(self, function: NameAttrList) -> Asked:
        """What a function's nodes ask for, without those that are with a variable of theirs in any case."""
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
            own = [_parsed(node.device) for node in definition.node_def if not _takes_state(node)]
            self._found[name] = _merged([*own, *(self._found.get(each, _ANYWHERE) for each in called)])
        return self._found.get(function.name, _ANYWHERE)

    def _called(self, node: node_def_pb2.NodeDef) -> Iterator[str]:
        if node.op in self._functions:
            yield node.op
        for attr in node.attr.values():
            if attr.HasField("func"):
                yield attr.func.name
            for func in attr.list.func:
                yield func.name


class AskedDevices:
    """Looks at the nodes of one graph."""

    def __init__(self, bodies: BodyDevices) -> None:
        self._bodies = bodies
        self._held: dict[Node, Asked | str] = {}

    def disagree(self, node: Node) -> bool:
        """Whether a node that calls functions asks for several devices.

        The variables that it takes have to ask for the same device, the node and its functions for nothing
        beyond that; without variables, the functions for nothing beyond what the node asks for.
        """
        own = _parsed(node.assigned or node.device)
        device = _same(self._held_by(source) for source in _state_sources(node))
        if device == _UNDECIDED:
            device = own
        if not isinstance(device, ParsedDevice):
            return True
        wanted = [own, *(self._bodies.of(function) for function in functions_of(node))]
        return not all(each is not None and each.matches(device) for each in wanted)

    def _held_by(self, node: Node) -> Asked | str:
        """What the nodes ask for that hold the state which a node passes on."""
        pending = [node]
        entered: set[Node] = set()
        while pending:
            at = pending[-1]
            if at in self._held:
                pending.pop()
                continue
            sources = list(_state_sources(at))
            if at not in entered:
                entered.add(at)
                pending += [each for each in sources if each not in self._held and each not in entered]
                continue
            pending.pop()
            if at.assigned or not sources:
                is_list = not (at.assigned or at.device) and dtypes.variant in at.output_types
                own = _UNDECIDED if is_list else _parsed(at.assigned or at.device)
                self._held[at] = own
            else:
                self._held[at] = _same(self._held.get(each, _UNDECIDED) for each in sources)
        return self._held[node]


def _same(asked: Iterable[Asked | str]) -> Asked | str:
    found: Asked | str = _UNDECIDED
    for each in asked:
        if found == _UNDECIDED:
            found = each
        elif each not in (_UNDECIDED, found):
            return None
    return found


def _merged(asked: Iterable[Asked]) -> Asked:
    found = _ANYWHERE
    for each in asked:
        if each is None or found.merge(each) != each.merge(found):
            return None
        found = found.merge(each)
    return found


def _parsed(text: str) -> Asked:
    try:
        return parse(text)
    except ValueError:
        return None  # which the placer refuses


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
