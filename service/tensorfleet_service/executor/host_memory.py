"""Copies between the host's memory and a GPU's inside of a partition, put where they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorfleet_service.graph.graph import Node, is_back_edge, opdef_of
from tensorfleet_service.kernels.device_memory import (
    ANY,
    DEVICE,
    FOLLOWING,
    HOST,
    ON_HOST,
    Memory,
    memory_of,
)

if TYPE_CHECKING:
    from tensorfleet.core.dtypes import DType


def with_copies(nodes: Sequence[Node]) -> list[Node]:
    """The nodes of a GPU's partition, with `_ToHost` and `_ToDevice` before the first nodes that need them.

    One copy of a tensor serves all that need it; a reference is read for each of its readers. The nodes
    themselves stay as they are.
    """
    memories = {id(node): memory_of(node) for node in nodes}
    return _Rewriter(memories).rewrite(nodes)


ON_DEVICE = "_on_device"
"""The attribute of a Const whose value lies in the device's memory."""


class _Rewriter:
    def __init__(self, memories: dict[int, Memory]) -> None:
        self._memories = memories
        self._made: dict[int, Node] = {}
        """The node in the result that stands for each node, where it is another one."""
        self._copies: dict[tuple[int, int], Node] = {}
        self._result: list[Node] = []

    def rewrite(self, nodes: Sequence[Node]) -> list[Node]:
        for node in nodes:
            self._add(node)
        # What closes a loop comes after what it leads to.
        for node in nodes:
            for i, (source, index) in enumerate(node.inputs):
                if is_back_edge(source, node):
                    self._made[id(node)].inputs[i] = (self._made[id(source)], index)
        return self._result

    def _add(self, node: Node) -> None:
        made = self._made[id(node)] = node.copy()
        if node.op in FOLLOWING and self._is_of_the_host(node):
            made.attrs = {**node.attrs, ON_HOST: True}
            self._memories[id(node)] = memory_of(made)
        wanted = self._memories[id(node)].inputs
        for i, (source, index) in enumerate(node.inputs):
            if is_back_edge(source, node):
                made.inputs.append((source, index))
                continue
            made.inputs.append(self._placed(source, index, wanted[i], node.input_types[i]))
        made.controls = [self._made[id(control)] for control in node.controls]
        self._result.append(made)

    def _is_of_the_host(self, node: Node) -> bool:
        """Whether the host computes all inputs of a node. What comes from elsewhere may be large."""
        sources = [(source, index) for source, index in node.inputs if source.op != "Const"]
        return bool(sources) and all(
            self._memories[id(source)].outputs[index] == HOST
            and source.op not in ("_Arg", "_Recv", "_HostRecv")
            and not source.output_types[index].is_ref
            for source, index in sources
        )

    def _placed(self, source: Node, index: int, place: str, dtype: DType) -> tuple[Node, int]:
        given = source.output_types[index]
        if place == ANY or dtype.is_ref or given.base.np is None or given.base.np.hasobject:
            return self._made[id(source)], index
        # A reference is read when its reader runs, and is where the variable is.
        found = DEVICE if given.is_ref else self._memories[id(source)].outputs[index]
        if found == place:
            return self._made[id(source)], index
        key = id(source), index
        copied = None if given.is_ref else self._copies.get(key)
        if copied is None:
            copied = self._constant(source) if source.op == "Const" else self._copy(source, index, place)
            self._copies[key] = copied
            self._result.append(copied)
        return copied, 0

    def _copy(self, source: Node, index: int, place: str) -> Node:
        op = "_ToHost" if place == HOST else "_ToDevice"
        dtype = source.output_types[index].base
        copied = Node(f"{source.name}/{index}{op}", opdef_of(op), {"T": dtype}, source.device)
        copied.assigned, copied.why = source.assigned, f"copies {source.name}:{index}"
        copied.inputs.append((self._made[id(source)], index))
        return copied

    def _constant(self, source: Node) -> Node:
        """A constant of the device, which is copied once, when the plan is made."""
        copied = source.copy()
        copied.name = f"{source.name}/on_device"
        copied.attrs = {**source.attrs, ON_DEVICE: True}
        copied.controls = [self._made[id(control)] for control in source.controls]
        return copied
