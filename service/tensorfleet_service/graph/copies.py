"""Copies of a graph's nodes that lead to each other, for the stages that make a new graph from an old one."""

from __future__ import annotations

from tensorfleet_service.graph.graph import Node, is_back_edge

Edge = tuple[Node, int]
"""An output of a node."""


class NodeCopies:
    """What stands in a new graph for the nodes of an old one, which stay as they are.

    Nodes come in an order in which they can run, so that what a node needs is there before it; only the edges
    that close loops are left open until `close_loops`.

    Attributes:
        nodes: the new node that stands for an old one.
        outputs: the edge that replaces an output of an old node, if it is not the same output of the new one.
    """

    __slots__ = ("_loops", "nodes", "outputs")

    def __init__(self) -> None:
        self.nodes: dict[Node, Node] = {}
        self.outputs: dict[Edge, Edge] = {}
        self._loops: list[tuple[Node, int, Edge]] = []

    def copy(self, node: Node, has_loops: bool = True) -> Node:
        """A copy of a node with the new inputs and without control inputs, which does not stand for it yet.

        Args:
            has_loops: False saves looking for edges that close loops where there are none.
        """
        copied = node.copy()
        if has_loops:
            for edge in node.inputs:
                if is_back_edge(edge[0], node):
                    self._loops.append((copied, len(copied.inputs), edge))
                    copied.inputs.append(edge)
                else:
                    copied.inputs.append(self.current(edge))
        else:
            outputs, nodes = self.outputs, self.nodes
            copied.inputs = [
                (outputs.get(edge) if outputs else None) or (nodes[edge[0]], edge[1]) for edge in node.inputs
            ]
        return copied

    def current(self, edge: Edge) -> Edge:
        """The new edge that stands for an old one."""
        return self.outputs.get(edge) or (self.nodes[edge[0]], edge[1])

    def close_loops(self) -> None:
        """Leads the edges that close loops to what now stands for their sources."""
        for merge, position, edge in self._loops:
            merge.inputs[position] = self.current(edge)
