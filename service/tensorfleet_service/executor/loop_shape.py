"""The loops of a partition that can be compiled, and their parts.

A loop is *structured* if it has the form that tf.while_loop, tf.cond and their gradients give it: its
variables go from Enter and NextIteration to a Merge, all Switches of its variables take one LoopCond, every
other Switch has a Merge where its two branches meet, and nothing in it waits for anything outside. All other
loops are left to the dataflow executor.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

Edge = tuple["Node", int]
Guard = tuple[tuple[Edge, int], ...]
"""The branches that have to be taken for an op to run, from the outermost on: (condition, 0 or 1) each."""

ENTERS = frozenset(("Enter", "RefEnter"))
EXITS = frozenset(("Exit", "RefExit"))
MERGES = frozenset(("Merge", "RefMerge"))
SWITCHES = frozenset(("Switch", "RefSwitch"))
NEXT_ITERATIONS = frozenset(("NextIteration", "RefNextIteration"))
_OUTSIDE = frozenset(("_Arg", "_Retval", "_Send", "_Recv"))

MAX_DEPTH = 12  # of nested loops and branches; Python limits both


class Unstructured(Exception):
    """A loop does not have the form that tf.while_loop gives it."""


class Loop:
    """A loop.

    Attributes:
        enters: its Enters; `exits`: its Exits.
        variables: the Merges of its variables.
        nodes: its other nodes, without those of `loops`, in the partition's order.
        loops: the loops inside of it.
        is_whole: whether all its nodes can be compiled and belong to no other loop.
    """

    def __init__(self, parent: Loop | None) -> None:
        self.parent = parent
        self.enters: list[Node] = []
        self.exits: list[Node] = []
        self.variables: list[Node] = []
        self.nodes: list[Node] = []
        self.loops: list[Loop] = []
        self.is_whole = True

    def spoil(self) -> None:
        """Notes that neither this loop nor those around it can be compiled."""
        loop: Loop | None = self
        while loop is not None:
            loop.is_whole = False
            loop = loop.parent

    def all_nodes(self) -> list[Node]:
        """All nodes of the loop and of the loops inside of it."""
        own = [*self.enters, *self.variables, *self.nodes, *self.exits]
        return own + [node for loop in self.loops for node in loop.all_nodes()]


def find_loops(nodes: Sequence[Node], can_compile: Callable[[Node], bool]) -> list[Loop]:
    """The outermost loops of a partition."""
    place: dict[int, Loop | None] = {}  # the loop in which the outputs of a node are
    known: dict[tuple[int, object], Loop] = {}
    tops: list[Loop] = []
    for node in nodes:
        sources = [source for source, _ in node.inputs] + node.controls
        found = {id(place[id(s)]): place[id(s)] for s in sources if id(s) in place}
        loop = max(found.values(), key=_depth, default=None)
        if len(found) > 1:
            _spoil(found.values())
        if node.op in ENTERS:
            key = id(loop), node.attrs["frame_name"]
            inner = known.get(key)
            if inner is None:
                inner = known[key] = Loop(loop)
                (tops if loop is None else loop.loops).append(inner)
            inner.enters.append(node)
            loop = inner
        elif loop is None:
            pass
        elif node.op in EXITS:
            loop.exits.append(node)
            loop = loop.parent
        else:
            if node.op in MERGES and any(source.op in NEXT_ITERATIONS for source, _ in node.inputs):
                loop.variables.append(node)
            else:
                loop.nodes.append(node)
            if node.op in _OUTSIDE or not can_compile(node):
                loop.spoil()
        place[id(node)] = loop
    for node in nodes:  # a NextIteration comes after the Merge that it leads to
        for source, _ in node.inputs:
            if source.op in NEXT_ITERATIONS and place[id(source)] is not place[id(node)]:
                _spoil((place[id(source)], place[id(node)]))
    return tops


def may_not_end(loops: Iterable[Loop]) -> bool:
    """Whether one of the loops may run for ever without waiting for another device."""
    return any(all(node.op != "_Recv" for node in loop.nodes) or may_not_end(loop.loops) for loop in loops)


def _spoil(loops: Iterable[Loop | None]) -> None:
    for loop in loops:
        if loop is not None:
            loop.spoil()


def _depth(loop: Loop | None) -> int:
    depth = 0
    while loop is not None:
        depth += 1
        loop = loop.parent
    return depth


class Guards:
    """The guards of a loop's ops: the conditions under which each op runs."""

    def __init__(self, loop: Loop) -> None:
        """Raises Unstructured if the loop does not have the form that tf.while_loop and tf.cond give it."""
        self.loop = loop
        conditions = [node for node in loop.nodes if node.op == "LoopCond"]
        if len(conditions) != 1 or not loop.variables:
            raise Unstructured
        self.condition = conditions[0]
        self._end: tuple[Edge, int] = ((self.condition, 0), 0)
        self._body: tuple[Edge, int] = ((self.condition, 0), 1)
        for node in loop.nodes:
            # No node reads a variable for a condition.
            if node.op in SWITCHES and _is_reference(node.inputs[1]):
                raise Unstructured
        self._of: dict[int, Guard] = {}
        self._of_loops: dict[int, Guard] = {}
        # All other Enters give their values to the first iteration only, where their Merges take them.
        constants = [node for node in loop.enters if node.attrs["is_constant"]]
        for node in [*constants, *loop.variables]:
            self._of[id(node)] = ()
        self._inner = {id(node): inner for inner in loop.loops for node in inner.exits}
        for node in loop.nodes:
            self._of[id(node)] = self._guard(node)
        for variable in loop.variables:
            self._check_variable(variable)
        for node in loop.exits:
            source, index = node.inputs[0]
            if node.controls or self.edge(source, index) != (self._end,):
                raise Unstructured
        for inner in loop.loops:
            self.of_loop(inner)
        guards = [*self._of.values()]
        if any(self._end in guard or len(guard) > MAX_DEPTH for guard in guards):
            raise Unstructured

    def of(self, node: Node) -> Guard:
        return self._of[id(node)]

    def of_loop(self, inner: Loop) -> Guard:
        """The guard under which a loop inside of this one begins: that of all its inputs."""
        found = self._of_loops.get(id(inner))
        if found is None:
            found = ()
            for enter in inner.enters:
                found = self._joined(found, enter)
            if not self.in_body(found):
                raise Unstructured  # a loop in a condition is possible, but too rare to be compiled
            self._of_loops[id(inner)] = found
        return found

    def edge(self, source: Node, index: int) -> Guard:
        """The guard under which there is a value on an edge."""
        inner = self._inner.get(id(source))
        if inner is not None:
            return self.of_loop(inner)
        if id(source) not in self._of:
            raise Unstructured
        guard = self._of[id(source)]
        if source.op in SWITCHES:
            return (*guard, ((source.inputs[1][0], source.inputs[1][1]), index))
        return guard

    def in_body(self, guard: Guard) -> bool:
        return bool(guard) and guard[0] == self._body

    def _run_guard(self, node: Node) -> Guard:
        """The guard under which a node has run, for those that wait for that."""
        found = self._of.get(id(node)) if node.op in SWITCHES else self.edge(node, 0)
        if found is None:
            raise Unstructured
        return found

    def _guard(self, node: Node) -> Guard:
        if node.op == "ControlTrigger":
            # It waits for nodes on either branch, whichever is taken. Nobody takes its output after the last
            # iteration.
            guards = [self._run_guard(control) for control in node.controls]
            return tuple(parts[0] for parts in itertools.takewhile(_are_equal, zip(*guards, strict=False)))
        if node.op not in MERGES:
            return self._joined((), node)
        if len(node.inputs) != 2:
            raise Unstructured
        first, second = (self.edge(source, index) for source, index in node.inputs)
        if (
            not first
            or first[:-1] != second[:-1]
            or not second
            or first[-1][0] != second[-1][0]
            or first[-1][1] == second[-1][1]
            or first[-1][0] == self._body[0]
        ):
            raise Unstructured
        guard = first[:-1]
        for control in node.controls:
            own = self._run_guard(control)
            if guard[: len(own)] != own:
                raise Unstructured
        return guard

    def _joined(self, guard: Guard, node: Node) -> Guard:
        parts = [self.edge(source, index) for source, index in node.inputs]
        parts += map(self._run_guard, node.controls)
        for part in parts:
            short, long = sorted((guard, part), key=len)
            if long[: len(short)] != short:
                raise Unstructured
            guard = long
        return guard

    def _check_variable(self, variable: Node) -> None:
        if len(variable.inputs) != 2 or variable.controls:
            raise Unstructured
        (first, _), (second, _) = variable.inputs
        if first.op not in ENTERS or second.op not in NEXT_ITERATIONS or self.of(second) != (self._body,):
            raise Unstructured


def _are_equal(parts: tuple[object, ...]) -> bool:
    return all(part == parts[0] for part in parts)


def _is_reference(edge: Edge) -> bool:
    source, index = edge
    return source.output_types[index].is_ref
