"""Groups of nodes that become one function over blocks (see `kernels.math.fusion`), and their code.

A group is computed at the position of its last node in the partition's order, which postpones its earlier
nodes. So no node in between may need one of those, wait for another task or step, or change a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet_service.kernels.math.cuda_fusion import CudaGroup
from tensorfleet_service.kernels.math.fusion import FusedGroup, FusedOp, steps_of

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

Edge = tuple["Node", int]

MAX_MEMBERS = 512
"""Limit on the nodes of a group, whose lines stay together, and are compiled by one call."""

_READS = frozenset(("Identity", "ReadVariableOp"))


class Fused(Protocol):
    """The function of a group.

    Attributes:
        least: the number of elements from which it pays.
    """

    least: int

    def __call__(self, *values: Any) -> tuple[Any, ...] | None:
        """The outputs; None if the nodes have to be computed one by one."""


class Group:
    """A group of nodes.

    Attributes:
        positions: the positions of its nodes in the partition, ascending; it is computed at the last one.
        inputs: its inputs from other nodes.
        outputs: those of its nodes that others need.
        function: computes it.
    """

    __slots__ = ("function", "inputs", "outputs", "positions")

    def __init__(
        self, positions: list[int], inputs: list[Edge], outputs: list[Node], function: Fused
    ) -> None:
        self.positions = positions
        self.inputs = inputs
        self.outputs = outputs
        self.function = function


def inputs_of(members: Sequence[Node]) -> list[Edge]:
    """The inputs of nodes from others, each once."""
    own = set(map(id, members))
    found = {
        (id(source), index): (source, index)
        for node in members
        for source, index in node.inputs
        if id(source) not in own
    }
    return list(found.values())


def _elementwise(nodes: Sequence[Node], positions: list[int], wanted: set[Node], xp: ModuleType) -> Group:
    members = [nodes[position] for position in positions]
    used = {id(source) for node in members for source, _ in node.inputs}
    inputs = inputs_of(members)
    # An op that nobody needs may be a target of the step, and may fail, so it is computed, too.
    places = [i for i, node in enumerate(members) if id(node) not in used or node in wanted]
    fused, dtype = partial(_fused_ops, members, inputs), members[0].output_types[0].np
    function: Fused = (
        FusedGroup([node.op for node in members], fused, places, dtype)
        if xp is np
        else CudaGroup(xp, fused(), places, dtype)
    )
    return Group(positions, inputs, [members[i] for i in places], function)


def _fused_ops(members: Sequence[Node], edges: Sequence[Edge]) -> list[FusedOp]:
    place = {id(node): i for i, node in enumerate(members)}
    inputs = {(id(source), index): i for i, (source, index) in enumerate(edges)}
    ops = []
    for node in members:
        own = steps_of(node)
        assert own is not None
        sources = [
            (False, place[id(source)]) if id(source) in place else (True, inputs[id(source), index])
            for source, index in node.inputs
        ]
        ops.append(FusedOp(node.op, own, sources))
    return ops


class _Growing:
    """A group that further nodes may join, as long as no other node needs it or has to come before them."""

    __slots__ = ("age", "needed", "positions")

    def __init__(self, age: int) -> None:
        self.positions: list[int] = []
        self.age = age
        self.needed = False


def find_groups(
    nodes: Sequence[Node],
    waits: Callable[[int], bool],
    dereferences: Callable[[Node, int], bool],
    xp: ModuleType = np,
) -> list[Group]:
    """The groups of a partition.

    Args:
        waits: whether the node at a position may suspend the step.
        xp: the array module of the device.
        dereferences: whether an input of a node is read from a variable when the node runs.
    """
    group_of: dict[int, _Growing] = {}
    wanted: set[Node] = set()
    age = 0
    # By op type and dict of attributes, which nodes share, and which say the types of inputs and outputs.
    joins: dict[tuple[str, int], bool] = {}
    for position, node in enumerate(nodes):
        own: _Growing | None = None
        key = node.op, id(node.attrs)
        may_join = joins.get(key)
        if may_join is None:
            may_join = joins[key] = steps_of(node) is not None
        if may_join and not reads_variable(node, dereferences):
            for source, _ in node.inputs:
                other = group_of.get(id(source))
                if (
                    other is None
                    or other is own
                    or other.needed
                    or other.age != age
                    or len(other.positions) + (0 if own is None else len(own.positions)) >= MAX_MEMBERS
                    or source.output_types[0] is not node.output_types[0]
                ):
                    continue
                if own is None:
                    own = other
                    continue
                small, own = sorted((own, other), key=lambda group: len(group.positions))
                for member in small.positions:
                    group_of[id(nodes[member])] = own
                own.positions += small.positions
            own = own or _Growing(age)
            own.positions.append(position)
            group_of[id(node)] = own
        elif waits(position) or changes_variable(node):
            age += 1
        for source, _ in node.inputs:
            other = group_of.get(id(source))
            if other is not None and other is not own:
                other.needed = True
                wanted.add(source)
        for control in node.controls:
            other = group_of.get(id(control))
            if other is not None:
                other.needed = True
    return [
        _elementwise(nodes, sorted(group.positions), wanted, xp)
        for group in dict.fromkeys(group_of.values())
        if xp is np or _step_count(nodes, group.positions) > 1  # one step is one launch as it is
    ]


def _step_count(nodes: Sequence[Node], positions: Sequence[int]) -> int:
    return sum(len(steps_of(nodes[position]) or ()) for position in positions)


def reads_variable(node: Node, dereferences: Callable[[Node, int], bool]) -> bool:
    """Whether an input is read from a variable when the node runs."""
    for i, (source, index) in enumerate(node.inputs):
        if source.output_types[index].is_ref and dereferences(node, i):
            return True
    return False


def changes_variable(node: Node) -> bool:
    """Whether a node may change a variable or another resource."""
    return node.op not in _READS and any(
        dtype.is_ref or dtype.base is dtypes.resource for dtype in node.input_types
    )


def last_uses(nodes: Sequence[Node], groups: dict[int, Group | None]) -> dict[tuple[int, int], int]:
    """The position of the last use of each output; a group uses its inputs at its last node."""
    turn = _turns(groups)
    last_use: dict[tuple[int, int], int] = {}
    if not turn:
        for position, node in enumerate(nodes):
            for source, index in node.inputs:
                last_use[id(source), index] = position
        return last_use
    for position, node in enumerate(nodes):
        now = turn.get(position, position)
        for source, index in node.inputs:
            key = id(source), index
            if last_use.get(key, 0) <= now:
                last_use[key] = now
    return last_use


def _turns(groups: dict[int, Group | None]) -> dict[int, int]:
    """The positions at which nodes of groups are computed."""
    return {
        position: last for last, group in groups.items() if group is not None for position in group.positions
    }


def first_uses(nodes: Sequence[Node], groups: dict[int, Group | None]) -> dict[int, int]:
    """Where the value of each node with one output is needed first; by a group at its last node."""
    turn = _turns(groups)
    place = {id(node): position for position, node in enumerate(nodes)}
    first_use: dict[int, int] = {}
    for position, node in enumerate(nodes):
        for source, _ in node.inputs:
            at = turn.get(position, position)
            made = place.get(id(source))
            if made is not None and len(source.output_types) == 1:
                first_use[made] = min(at, first_use.get(made, at))
    return first_use


def write_group(
    group: Group,
    nodes: Sequence[Node],
    slots: dict[tuple[int, int], str],
    slot: Callable[[], str],
    add: Callable[..., None],
    call: Callable[[int, list[str]], tuple[str, Any]],
) -> list[str]:
    """Writes the call for large arrays, and below it the nodes one by one.

    Args:
        slots: the variables of computed outputs; the group's are added.
        slot: returns a free variable.
        add: writes a line of code that belongs to a node.
        call: the text of a node's kernel on variables, and its expression.

    Returns the variables that were used in between, and are free.
    """
    last = group.positions[-1]
    root = nodes[last]
    inputs = [slots[id(source), index] for source, index in group.inputs]
    least = group.function.least
    small = [
        f"{slots[id(source), index]}.size < {least}"
        for source, index in group.inputs
        if source.op != "Const" or source.attrs["value"].size >= least
    ]
    indent = " "
    if small:
        indent = "  "
        add(f" if {' and '.join(small)} or (q := f{last}({', '.join(inputs)})) is None:", root, inputs)
    for node in group.outputs:
        slots[id(node), 0] = slot()
    inner = {id(nodes[position]) for position in group.positions} - {id(node) for node in group.outputs}
    last_use = {id(source): position for position in group.positions for source, _ in nodes[position].inputs}
    free: list[str] = []
    for position in group.positions:
        node = nodes[position]
        own: list[str] = []
        released: list[str] = []
        for source, index in node.inputs:
            key = id(source)
            name = slots[key, index]
            own.append(name)
            if key in inner and last_use[key] == position and name not in released:
                released.append(name)
        text, expression = call(position, own)
        target = (id(node), 0)
        if target[0] in inner:
            name = slots[target] = released.pop() if released else free.pop() if free else slot()
        else:
            name = slots[target]
        if released:
            free += released
            text += f"; del {', '.join(released)}"
        add(f"{indent}{name} = {text}", node, own, expression)
    if small:
        add(" else:", root, inputs)
        add(f"  {', '.join(slots[id(node), 0] for node in group.outputs)}, = q; del q", root, inputs)
    return free
