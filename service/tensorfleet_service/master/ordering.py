"""Control edges that can be dropped, as their order is given already or makes no difference.

The order of two nodes matters only if both do more than compute: change or read a variable, draw random
numbers, wait for a queue. Gradient functions make all gradients of an op wait for each other, so without this
step, gradients that nobody uses, such as that of the input data, would be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorfleet_service.graph.graph import Node

_SILENT = frozenset(("Const", "Placeholder", "_Arg", "Variable", "VariableV2", "VarHandleOp", "NoOp"))
"""Op types without effects for which the order matters."""

_CHECKS = frozenset(("CheckNumerics", "CheckNumericsV2", "EnsureShape"))
"""Op types whose only effect is to fail a step."""

_MAX_BITS = 1 << 30
"""Limit on the bits that are kept for all nodes together."""


def needless_controls(nodes: Sequence[Node], is_pure: Callable[[Node], bool]) -> set[tuple[Node, Node]]:
    """The control edges (from, to) that can be dropped, in a graph without conditionals and loops.

    Args:
        nodes: in an order in which they can run.
        is_pure: whether a node's outputs depend only on its inputs, and it has no other effect.
    """
    if not any(node.controls for node in nodes):
        return set()
    acts = [_acts(node, is_pure) for node in nodes]
    if sum(acts) * len(nodes) > _MAX_BITS:
        return set()
    # The nodes with effects that precede a node, and those that it waits for without the needless edges.
    before: dict[Node, int] = {}
    by_data: dict[Node, int] = {}
    needless = set()
    count = 0
    for node, does in zip(nodes, acts, strict=True):
        own = data = 0
        for source, _ in node.inputs:
            own |= before[source]
            data |= by_data[source]
        for control in node.controls:
            own |= before[control]
            if node.op != "NoOp":
                if before[control] & ~data:
                    data |= before[control]
                else:
                    needless.add((control, node))
        if node.op == "NoOp":
            data = own
        if does:
            own |= 1 << count
            data |= 1 << count
            count += 1
        before[node] = own
        by_data[node] = data
    return needless


def _acts(node: Node, is_pure: Callable[[Node], bool]) -> bool:
    if node.op in _SILENT:
        return False
    return (
        not is_pure(node)
        or node.op in _CHECKS
        or any(source.output_types[index].is_ref for source, index in node.inputs)
    )
