"""The order of a loop's nodes in its code, and the last use of each value."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from tensorfleet_service.executor.loop_shape import (
    MERGES,
    NEXT_ITERATIONS,
    SWITCHES,
    Guard,
    Guards,
    Loop,
    Unstructured,
)
from tensorfleet_service.executor.statements import dereferences

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

Key = tuple[int, int]
"""An output of a node: the node's identity, and the index of the output."""

ALIASES = NEXT_ITERATIONS | {"Identity", "LoopCond"}
_SILENT = frozenset(("Const", "ControlTrigger", "NoOp"))


class Item:
    """A unit of generated code: a node, one input of a Merge, or a loop.

    Attributes:
        guard: the condition under which it runs, apart from the loop's own.
        in_body: whether it is in the body, and so runs only if the loop's own condition holds.
        node: the node, or the first of the loop.
        branch: its index among the inputs of the Merge `node`.
        loop: the loop, if it is one.
        uses: the values that it takes.
        writes: whether it has code.
    """

    __slots__ = ("branch", "guard", "in_body", "loop", "node", "users", "uses", "writes")

    def __init__(self, node: Node, guard: Guard, branch: int | None = None, loop: Loop | None = None):
        self.node = node
        self.in_body = False
        self.guard = guard
        self.branch = branch
        self.loop = loop
        self.uses: list[Key] = []
        self.writes = True
        self.users: list[Item] = []


class Items:
    """The items of a loop in order.

    Attributes:
        condition: the items that run before the loop's condition is known; `body`: those that run if it
            holds.
        constants: the Const nodes of the loop, by their identities.
        ended: by position, the values whose last use is there. Positions count the items of the condition,
            one
            for the test, and the items of the body; `at_end`, where the next iteration begins, and `at_exit`,
            after the loop, follow.
        used: all values that are used.
    """

    def __init__(self, loop: Loop) -> None:
        """Raises Unstructured: see `Guards`."""
        self.guards = guards = Guards(loop)
        self._loop = loop
        self.constants = {id(node): node for node in loop.nodes if node.op == "Const"}
        items = self._make()
        condition = [item for item in items if not item.in_body]
        body = [item for item in items if item.in_body]
        self.condition, self.body = _in_order(condition), _in_order(body)
        last: dict[Key, int] = {}
        for position, item in enumerate(self.condition):
            last.update(dict.fromkeys(item.uses, position))
        test = len(condition)
        last[self.origin(guards.condition, 0)] = test
        for position, item in enumerate(self.body, test + 1):
            last.update(dict.fromkeys(item.uses, position))
        self.at_end = test + 1 + len(body)
        for variable in loop.variables:
            last[self.origin(*variable.inputs[1])] = self.at_end
        self.at_exit = self.at_end + 1
        variables = {(id(variable), 0) for variable in loop.variables}
        for node in loop.exits:
            key = self.origin(*node.inputs[0])
            if key not in variables:
                last[key] = self.at_exit
        self.used = last.keys()
        self.ended: dict[int, list[Key]] = {}
        for key, position in last.items():
            self.ended.setdefault(position, []).append(key)

    def origin(self, source: Node, index: int) -> Key:
        """The edge whose variable an edge shares, as ops that hand on their input have no variable."""
        while (source.op in ALIASES or source.op in SWITCHES) and not dereferences(source, 0):
            source, index = source.inputs[0]
        return id(source), 0 if source.op in SWITCHES else index

    def _make(self) -> list[Item]:
        """The items, in the partition's order where it is known, linked to those that need them."""
        loop, guards = self._loop, self.guards
        made: dict[int, Item] = {}
        sources: list[tuple[Item, list[Node]]] = []
        for node in loop.nodes:
            guard = guards.of(node)
            item = made[id(node)] = Item(node, guard)
            if node.op in MERGES:
                branches = []
                for branch, (source, index) in enumerate(node.inputs):
                    part = Item(node, guards.edge(source, index), branch)
                    part.uses.append(self.origin(source, index))
                    sources.append((part, [source]))
                    branches.append(part)
                item.writes = False
                sources.append((item, list(node.controls)))
                for part in branches:
                    part.users.append(item)
                continue
            sources.append((item, [source for source, _ in node.inputs] + node.controls))
            if node.op in SWITCHES:
                item.writes = dereferences(node, 0)
            elif node.op in _SILENT:
                item.writes = False
            elif node.op in ALIASES:
                item.writes = dereferences(node, 0)
            if item.writes:
                count = 1 if node.op in SWITCHES else len(node.inputs)
                item.uses += [self.origin(source, index) for source, index in node.inputs[:count]]
        for inner in loop.loops:
            item = Item(inner.enters[0], guards.of_loop(inner), loop=inner)
            made.update({id(node): item for node in inner.exits})
            item.uses += [self.origin(*enter.inputs[0]) for enter in inner.enters]
            needed = [enter.inputs[0][0] for enter in inner.enters]
            sources.append((item, needed + [c for enter in inner.enters for c in enter.controls]))
        for item, nodes in sources:
            if guards.in_body(item.guard):
                item.in_body = True
                item.guard = item.guard[1:]
            if item.writes:
                conditions = [edge for edge, _ in item.guard]
                item.uses += [self.origin(*edge) for edge in conditions]
                nodes = nodes + [source for source, _ in conditions]
            for node in nodes:
                source_item = made.get(id(node))
                if source_item is not None:
                    source_item.users.append(item)
        return [item for item, _ in sources]


def _in_order(items: list[Item]) -> list[Item]:
    """The items, each after those that it needs; where there is a choice, one with the same guard is next."""
    place = {id(item): position for position, item in enumerate(items)}
    ready: dict[Guard | None, list[int]] = {}
    ordered: list[Item] = []

    def add(item: Item) -> None:
        heapq.heappush(ready.setdefault(item.guard if item.writes else None, []), place[id(item)])

    # For items of the body, the values of the condition are there already.
    missing = {id(item): 0 for item in items}
    for item in items:
        for user in item.users:
            if id(user) in missing:
                missing[id(user)] += 1
    for item in items:
        if not missing[id(item)]:
            add(item)
    guard: Guard = ()
    while ready:
        key = None if None in ready else guard if guard in ready else min(ready, key=lambda k: ready[k][0])
        heap = ready[key]
        item = items[heapq.heappop(heap)]
        if not heap:
            del ready[key]
        if item.writes:
            guard = item.guard
        ordered.append(item)
        for user in item.users:
            if id(user) in missing:
                missing[id(user)] -= 1
                if not missing[id(user)]:
                    add(user)
    if len(ordered) < len(items):
        raise Unstructured
    return ordered
