"""Branches of conditionals that are never taken: those whose predicate is a constant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet_service.graph.copies import Edge, NodeCopies
from tensorfleet_service.graph.graph import Node, is_back_edge, opdef_of

_SWITCHES = {"Switch": "Identity", "RefSwitch": "RefIdentity"}
_MERGES = {"Merge": "Identity", "RefMerge": "RefIdentity"}


def without_dead_branches(nodes: Sequence[Node]) -> list[Node] | None:
    """The nodes without those that can never run, as the predicate of a Switch is a constant.

    Such a Switch, and a Merge of which one input is left, become an Identity. What only the dropped nodes
    needed is dropped, too, unless it has effects. None if there is nothing to drop, if a step asks for a
    value of such a branch, which is an error of the step, or if a Merge is left that is more than the end of
    a conditional.

    Args:
        nodes: placed nodes in an order in which they can run; stay as they are.
    """
    decided = {node: taken for node in nodes if node.op in _SWITCHES and (taken := _taken(node)) is not None}
    if not decided:
        return None
    dead: set[Edge] = {(node, 1 - taken) for node, taken in decided.items()}
    gone = _never_run(nodes, dead)
    if any(node.op == "_Retval" for node in gone):
        return None
    ends: dict[Node, int] = {}
    for node in nodes:
        if node.op not in _MERGES or node in gone:
            continue
        live = [i for i, edge in enumerate(node.inputs) if edge[0] not in gone and edge not in dead]
        if len(live) == len(node.inputs):
            continue
        if len(live) > 1 or any(is_back_edge(source, node) for source, _ in node.inputs):
            return None
        ends[node] = live[0]
    work = _Removal()
    remaining = _needed(nodes, gone, decided, ends)
    used = {edge for node in remaining for edge in node.inputs}
    for node in remaining:
        if node in decided:
            work.replace(node, _SWITCHES[node.op], node.inputs[0], decided[node])
        elif node in ends:
            work.replace(node, _MERGES[node.op], node.inputs[ends[node]], 0)
            if (node, 1) in used:
                work.add_index(node, ends[node])
        else:
            work.copy(node)
    work.close_loops()
    return work.nodes


def _taken(node: Node) -> int | None:
    """The output of a Switch that has the value in every step; None if it is not known."""
    predicate = node.inputs[1][0]
    if predicate.op != "Const" or predicate.controls:
        return None
    value = np.asarray(predicate.attrs["value"])
    return int(bool(value)) if value.shape == () and value.dtype == np.bool_ else None


def _never_run(nodes: Sequence[Node], dead: set[Edge]) -> set[Node]:
    """The nodes that take a dead value or, unless they are a Merge, wait for a node that never runs."""
    gone: set[Node] = set()
    for node in nodes:
        if node.op in _MERGES:
            # What comes back in a loop comes only after what enters it.
            first = [edge for edge in node.inputs if not is_back_edge(edge[0], node)]
            is_gone = all(source in gone or (source, index) in dead for source, index in first)
        else:
            is_gone = any(source in gone or (source, index) in dead for source, index in node.inputs)
            is_gone = is_gone or not gone.isdisjoint(node.controls)
        if is_gone:
            gone.add(node)
    return gone


def _needed(
    nodes: Sequence[Node], gone: set[Node], decided: dict[Node, int], ends: dict[Node, int]
) -> list[Node]:
    """The nodes that remain for those without users, and for those with effects, in their order."""
    used = {source for node in nodes for source, _ in node.inputs}
    used.update(control for node in nodes for control in node.controls)
    stack = [node for node in nodes if node not in gone and (node not in used or node.opdef.is_stateful)]
    found: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in found:
            continue
        found.add(node)
        edges = node.inputs
        if node in decided:
            edges = edges[:1]
        elif node in ends:
            edges = [edges[ends[node]]]
        stack += [source for source, _ in edges]
        stack += [control for control in node.controls if control not in gone]
    return [node for node in nodes if node in found]


class _Removal:
    """The remaining nodes, as copies."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._copies = NodeCopies()
        self.close_loops = self._copies.close_loops

    def copy(self, node: Node) -> None:
        """Adds a node as it is."""
        self._add(node, self._copies.copy(node))

    def replace(self, node: Node, op: str, edge: Edge, output: int) -> None:
        """Adds a node that hands on `edge` in place of one output of a node."""
        handed = Node(node.name, opdef_of(op), {"T": node.attrs["T"]}, node.device)
        handed.assigned, handed.why = node.assigned, node.why
        handed.inputs = [self._copies.current(edge)]
        self._copies.outputs[(node, output)] = (handed, 0)
        self._add(node, handed)

    def add_index(self, merge: Node, index: int) -> None:
        """Adds the constant that says which input a replaced Merge had."""
        attrs = {"dtype": dtypes.int32, "value": np.array(index, np.int32)}
        constant = Node(f"_index_{merge.name}", opdef_of("Const"), attrs, merge.device)
        constant.assigned, constant.why = merge.assigned, merge.why
        constant.controls = [self._copies.nodes[merge]]  # dead where the value is, and no constant where not
        self._copies.outputs[(merge, 1)] = (constant, 0)
        self.nodes.append(constant)

    def _add(self, node: Node, copied: Node) -> None:
        copies = self._copies.nodes
        # A Merge may have waited for a node that is gone.
        copied.controls = [copies[control] for control in node.controls if control in copies]
        copies[node] = copied
        self.nodes.append(copied)
