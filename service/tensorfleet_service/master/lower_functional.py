"""If, Case and While as Switch, Merge and the nodes of loops, around calls of their functions.

What stands for such a node does what it would: all in it waits for the node's control inputs, a branch acts
only if it is taken, a turn begins after the effects of the one before, and who waits for the node waits for
all effects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.attr_value import NameAttrList
from tensorfleet.core.dtypes import DType
from tensorfleet_service.graph.copies import Edge
from tensorfleet_service.graph.graph import Node, opdef_of

_LOOPS = frozenset(("While", "StatelessWhile"))
_IFS = frozenset(("If", "StatelessIf"))
_CASES = frozenset(("Case", "StatelessCase"))
_FUNCTIONAL = _LOOPS | _IFS | _CASES
_CALL = "StatefulPartitionedCall"


@dataclass(slots=True)
class Lowered:
    """What stands for a node.

    Attributes:
        nodes: in an order in which they can run; among them are calls of the functions.
        outputs: the edges that stand for the node's outputs.
        end: runs after all effects of the node.
    """

    nodes: list[Node] = field(default_factory=list)
    outputs: list[Edge] = field(default_factory=list)
    end: Node | None = None


def is_functional(node: Node) -> bool:
    """Whether a node is a conditional or a loop that calls functions."""
    return node.op in _FUNCTIONAL


def is_loop(node: Node) -> bool:
    """Whether a node is a loop, of the functions `cond` and `body`."""
    return node.op in _LOOPS


def functions_of(node: Node) -> list[NameAttrList]:
    """The functions that a node calls: of a loop the condition and the body, else the branches."""
    if node.op in _LOOPS:
        return [node.attrs["cond"], node.attrs["body"]]
    if node.op in _IFS:
        return [node.attrs["then_branch"], node.attrs["else_branch"]]
    return list(node.attrs["branches"])


def size_of(node: Node) -> int:
    """A bound on the number of nodes that stand for a node, without those of its functions."""
    width = len(node.inputs) + len(node.output_types) + 6
    return width * (6 if node.op in _LOOPS else len(functions_of(node)))


def lower_branches(node: Node, name: Callable[[str], str]) -> Lowered:
    """What stands for an If or a Case that has branches.

    Args:
        node: stays as it is.
        name: makes a name for a node from a label.
    """
    return _Branches(node, name).made


def lower_loop(node: Node, name: Callable[[str], str], tested: DType, fixed: Collection[int]) -> Lowered:
    """What stands for a While that has inputs.

    Args:
        node: stays as it is.
        name: makes a name for a node from a label.
        tested: the dtype of the condition.
        fixed: the numbers of the inputs that the body returns as they are.
    """
    return _loop(_Nodes(node, name), tested, fixed)


class _Nodes:
    """Makes the nodes that stand for another one."""

    def __init__(self, node: Node, name: Callable[[str], str]) -> None:
        self.node = node
        self.made = Lowered()
        self._name = name

    def add(
        self, label: str, op: str, inputs: Sequence[Edge], controls: Sequence[Node] = (), **attrs: Any
    ) -> Node:
        """A node beside its first input; `T` is the dtype of that, where the op has such an attribute."""
        opdef = opdef_of(op)
        if inputs and "T" in opdef.attrs:
            source, index = inputs[0]
            attrs = {"T": source.output_types[index].base, **attrs}
        made = Node(self._name(label), opdef, attrs, self._device(inputs, controls))
        made.inputs, made.controls = list(inputs), list(controls)
        self.made.nodes.append(made)
        return made

    def call(
        self,
        label: str,
        function: NameAttrList,
        inputs: Sequence[Edge],
        results: Sequence[DType],
        after: Node,
    ) -> Node:
        """A call of a function of the node, which begins after `after`."""
        given = [source.output_types[index].base for source, index in inputs]
        attrs = {"config": b"", "config_proto": b"", "executor_type": b""}
        made = self.add(label, _CALL, inputs, [after], Tin=given, Tout=list(results), f=function, **attrs)
        made.device = self.node.device
        return made

    def truth(self, edge: Edge) -> Edge:
        """A condition as a bool."""
        source, index = edge
        if source.output_types[index].base is dtypes.bool:
            return edge
        return self.add("truth", "ToBool", [edge]), 0

    def _device(self, inputs: Sequence[Edge], controls: Sequence[Node]) -> str:
        for source, index in inputs[:1]:
            if source.output_types[index].base in (dtypes.resource, dtypes.variant):
                return ""  # with what it stands for
            if source.op != _CALL and source.device:
                return source.device
        return self.node.device or next((each.device for each in controls if each.device), "")


class _Branches(_Nodes):
    """Each branch gets what the one before it leaves, and the last one what is left then."""

    def __init__(self, node: Node, name: Callable[[str], str]) -> None:
        super().__init__(node, name)
        functions = functions_of(node)
        chosen = self.add("value", "Identity", node.inputs[:1], node.controls)
        by_truth = node.op in _IFS
        value: Edge = self.truth((chosen, 0)) if by_truth else (chosen, 0)
        left = list(node.inputs[1:])
        pivot = chosen
        calls: list[Node] = []
        ran: list[Edge] = []
        for number, function in enumerate(functions):
            taken = left
            if number < len(functions) - 1:
                test = value if by_truth else self._is(value, number)
                split = [self.add(f"switch_{number}", "Switch", [edge, test]) for edge in (value, *left)]
                value, *left = [(switch, 0) for switch in split]
                taken = [(switch, 1) for switch in split[1:]]
                pivot = self.add(f"pivot_{number}", "Identity", [(split[0], 1)])
            elif number:
                pivot = self.add(f"pivot_{number}", "Identity", [value])
            call = self.call(f"branch_{number}", function, taken, node.output_types, pivot)
            calls.append(call)
            ran.append((self.add(f"ran_{number}", "Identity", [(pivot, 0)], [call]), 0))
        count = len(functions)
        for index in range(len(node.output_types)):
            merge = self.add(f"merge_{index}", "Merge", [(call, index) for call in calls], N=count)
            merge.device = merge.device or pivot.device
            self.made.outputs.append((merge, 0))
        self.made.end = self.add("end", "NoOp", [], [self.add("ran", "Merge", ran, N=count)])

    def _is(self, value: Edge, number: int) -> Edge:
        given = np.asarray(number, np.int32)
        constant = self.add(f"number_{number}", "Const", [], [value[0]], dtype=dtypes.int32, value=given)
        return self.add(f"is_{number}", "Equal", [value, (constant, 0)], incompatible_shape_error=True), 0


def _loop(nodes: _Nodes, tested: DType, fixed: Collection[int]) -> Lowered:
    node, made = nodes.node, nodes.made
    condition, body = functions_of(node)
    count = len(node.inputs)
    if len(fixed) == count:
        fixed = range(1, count)  # something has to go round
    frame = {
        "frame_name": f"{node.name}/frame".encode(),
        "parallel_iterations": node.attrs.get("parallel_iterations", 10),
    }
    before: list[Edge] = []
    entered: list[Edge] = []
    merges: dict[int, Node] = {}
    for i, edge in enumerate(node.inputs):
        before.append((nodes.add(f"input_{i}", "Identity", [edge], node.controls), 0))
    for i, edge in enumerate(before):
        entered.append((nodes.add(f"enter_{i}", "Enter", [edge], is_constant=i in fixed, **frame), 0))
    for i, edge in enumerate(entered):
        if i not in fixed:
            merges[i] = nodes.add(f"merge_{i}", "Merge", [edge, edge], N=2)
    current = [(merges[i], 0) if i in merges else edge for i, edge in enumerate(entered)]
    first = next(iter(merges.values()))
    call = nodes.call("cond", condition, current, [tested], first)
    test = nodes.add("loop_cond", "LoopCond", [nodes.truth((call, 0))], [first])
    switches = [nodes.add(f"switch_{i}", "Switch", [edge, (test, 0)]) for i, edge in enumerate(current)]
    pivot = nodes.add("pivot", "Identity", [(nodes.add("switch", "Switch", [(test, 0), (test, 0)]), 1)])
    call = nodes.call("body", body, [(switch, 1) for switch in switches], node.output_types, pivot)
    exits: dict[int, Node] = {}
    for i, merge in merges.items():
        following = nodes.add(f"next_{i}", "NextIteration", [(call, i)])
        following.device = merge.device
        merge.inputs[1] = (following, 0)
    for i in merges:
        exits[i] = nodes.add(f"exit_{i}", "Exit", [(switches[i], 0)])
    end = made.end = nodes.add("end", "NoOp", [], list(exits.values()))
    for i in range(count):
        found = exits.get(i) or nodes.add(f"output_{i}", "Identity", [before[i]], [end])
        made.outputs.append((found, 0))
    return made
