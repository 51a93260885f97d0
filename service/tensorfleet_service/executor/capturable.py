"""Which partitions can be captured as a CUDA graph: those whose every step gives the GPU the same work.

A graph has the shapes, the numbers and the addresses of the step that was captured. So whatever the host
decides by values is either the same in each step, or keeps the partition from being captured. What waits for
the GPU within a kernel is found out when it is captured: CUDA refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorfleet.core import dtypes
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.kernels.device_memory import ANY, DENSE_OPTIMIZERS, DEVICE, memory_of

VARIABLES = frozenset(("Variable", "VariableV2", "VarHandleOp"))
_READERS = frozenset(("ReadVariableOp", "VariableShape", "Identity", "_Retval"))
_WRITERS = frozenset(
    (
        *("Assign", "AssignAdd", "AssignSub"),
        *("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"),
        *(f"{form}Apply{rule}" for form in ("", "Resource") for rule in DENSE_OPTIMIZERS),
    )
)
_OF_SHAPES = frozenset(("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"))
"""Ops that look at the shape alone of an input that may be in either memory."""

_NOTHING = VARIABLES | {"_Arg", "_Retval", "_ToDevice", "Const", "Identity", "NoOp", "ReadVariableOp"}
_EDGES = frozenset(("_Recv", "_HostRecv", "_Send", "_HostSend"))
_OBJECTS = frozenset((dtypes.resource, dtypes.variant, dtypes.string))


@dataclass(frozen=True, slots=True)
class Capturable:
    """A partition that can be captured.

    Attributes:
        host_args: for each fed value, in the order of the `_Arg` nodes, whether the host looks at it: then it
            has to be
            the same in each step.
        variables: the positions of the nodes with variables, and whether the partition changes them.
    """

    host_args: tuple[bool, ...]
    variables: dict[int, bool]


def capturable(nodes: Sequence[Node]) -> Capturable | str:
    """What a capture needs to know of a GPU's partition with its copies; or why it cannot be captured."""
    if all(node.op in _NOTHING for node in nodes):
        return "it computes nothing"
    args = [node for node in nodes if node.op == "_Arg"]
    on_host = dict.fromkeys(map(id, args), False)
    changed: set[int] = set()
    for node in nodes:
        refused = _refused(node)
        if refused:
            return f"{node.name} ({node.op}): {refused}"
        places = memory_of(node).inputs
        for (source, index), place in zip(node.inputs, places, strict=True):
            if source.op in VARIABLES and node.op in _WRITERS:
                changed.add(id(source))
            if place == DEVICE or node.op in _OF_SHAPES:
                continue
            if id(source) in on_host:
                # A copy and a fetch take it as it is.
                on_host[id(source)] |= node.op not in ("_ToDevice", "_Retval")
            elif (
                place == ANY
                and node.op not in _WRITERS  # whose kernels read the device's numbers there
                and node.op != "_Retval"
                and memory_of(source).outputs[index] == DEVICE
            ):
                return f"{node.name} ({node.op}): the host reads {source.name}"
    variables = {i: id(node) in changed for i, node in enumerate(nodes) if node.op in VARIABLES}
    return Capturable(tuple(on_host[id(arg)] for arg in args), variables)


def _refused(node: Node) -> str:
    """Why a partition with this node cannot be captured; "" if it may be."""
    if node.op in _EDGES:
        return "it exchanges tensors with another device"
    if node.op == "_ToHost":
        return "the host waits for its value"
    if node.op in VARIABLES or node.op in _WRITERS:
        return ""
    if node.op == "_Arg":
        return "" if node.output_types[0].base not in _OBJECTS else "it is fed objects of the host"
    has_objects = any(t.is_ref or t.base in _OBJECTS for t in (*node.input_types, *node.output_types))
    if has_objects:
        return "" if node.op in _READERS else "it has state that a graph does not"
    # Random ops among others: their counters are the host's.
    return "its state is the host's" if node.opdef.is_stateful and node.op != "_Retval" else ""
