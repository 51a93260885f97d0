"""Nodes of the service's graphs. The stages of the master, and the workers, pass lists of them to each other,
in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tensorfleet.core import attr_value
from tensorfleet.core.errors import NotFoundError
from tensorfleet.graph.op_def import OpDef, lookup
from tensorfleet.proto import function_pb2, graph_pb2

_MERGES = frozenset(("Merge", "RefMerge"))
GRADIENT = "_gradient_function"
"""The attribute of a function whose gradient is another one of the library."""
NEXT_ITERATIONS = frozenset(("NextIteration", "RefNextIteration"))


class Node:
    """A node of a graph.

    Attributes:
        name: unique in its graph or partition.
        op: the op type; `opdef` its definition.
        inputs: (producer, index of its output) of each data input.
        controls: the nodes that must run before.
        attrs: all attributes of the op's definition and any others (`tensorfleet.core.attr_value`). Copies
            of a node share this dict: replace it, never change it.
        device: the requested device, possibly partial or empty.
        assigned: the full name of the device it runs on; "" until it is placed.
        why: the reason for the placement, for people.
        input_types, output_types: dtypes; references are `_ref` types.
    """

    __slots__ = (
        "assigned",
        "attrs",
        "controls",
        "device",
        "input_types",
        "inputs",
        "name",
        "op",
        "opdef",
        "output_types",
        "why",
    )

    def __init__(self, name: str, opdef: OpDef, attrs: dict[str, Any], device: str = "") -> None:
        self.name = name
        self.op = opdef.name
        self.opdef = opdef
        self.inputs: list[tuple[Node, int]] = []
        self.controls: list[Node] = []
        self.attrs = attrs
        self.device = device
        self.assigned = ""
        self.why = ""
        if opdef.simple:
            self.input_types = [arg.dtype or attrs[arg.type_attr] for arg in opdef.inputs]
            self.output_types = [arg.dtype or attrs[arg.type_attr] for arg in opdef.outputs]
        else:
            self.input_types = opdef.input_types(attrs)
            self.output_types = opdef.output_types(attrs)

    def copy(self) -> Node:
        """The same node without its inputs and controls."""
        copied = Node.__new__(Node)
        copied.name, copied.op, copied.opdef, copied.attrs = self.name, self.op, self.opdef, self.attrs
        copied.device, copied.assigned, copied.why = self.device, self.assigned, self.why
        copied.input_types, copied.output_types = self.input_types, self.output_types
        copied.inputs = []
        copied.controls = []
        return copied

    def __repr__(self) -> str:
        return f"<Node {_line(self)}>"


def needed_functions(
    nodes: Iterable[Node], library: Mapping[str, function_pb2.FunctionDef]
) -> list[function_pb2.FunctionDef]:
    """The functions that nodes name in their attributes, and those that these call in turn.

    Raises:
        NotFoundError: a function is not in the library.
    """
    found: dict[str, function_pb2.FunctionDef] = {}
    names = [name for node in nodes for value in node.attrs.values() for name in _function_names(value)]
    while names:
        name = names.pop()
        if name in found:
            continue
        function = library.get(name)
        if function is None:
            raise NotFoundError(None, None, f"Function {name} is not defined.")
        found[name] = function
        if GRADIENT in function.attr:
            names.append(function.attr[GRADIENT].s.decode())
        for node_def in function.node_def:
            for attr in node_def.attr.values():
                if attr.HasField("func"):
                    names.append(attr.func.name)
                names += [func.name for func in attr.list.func]
    return list(found.values())


def _function_names(value: Any) -> list[str]:
    if type(value) is attr_value.NameAttrList:
        return [value.name]
    if type(value) is list:
        return [item.name for item in value if type(item) is attr_value.NameAttrList]
    return []


def to_graph_def(
    nodes: Iterable[Node],
    functions: Iterable[function_pb2.FunctionDef] = (),
    into: graph_pb2.GraphDef | None = None,
) -> graph_pb2.GraphDef:
    """The GraphDef of nodes, in their order; placed nodes have the device that they run on.

    Args:
        into: the message to which they are added; by default a new one.
    """
    graph_def = graph_pb2.GraphDef() if into is None else into
    graph_def.library.function.extend(functions)
    for node in nodes:
        node_def = graph_def.node.add(name=node.name, op=node.op, device=node.assigned or node.device)
        inputs = [f"{source.name}:{index}" if index else source.name for source, index in node.inputs]
        inputs += [f"^{control.name}" for control in node.controls]
        if inputs:
            node_def.input.extend(inputs)
        for key, value in node.attrs.items():
            attr_value.to_proto(value, node_def.attr[key])
    return graph_def


def describe(nodes: Iterable[Node]) -> str:
    """One line for each node, `name = Op(inputs; ^controls) @ device`, for tests and for people."""
    return "".join(_line(node) + "\n" for node in nodes)


def opdef_of(op: str) -> OpDef:
    """The definition of an op type that the service itself adds to graphs."""
    opdef = lookup(op)
    assert isinstance(opdef, OpDef), f"Op type {op} is not defined"
    return opdef


def is_back_edge(source: Node, consumer: Node) -> bool:
    """Whether an edge closes a loop. Only such edges may lead backwards in an order of nodes."""
    return source.op in NEXT_ITERATIONS and consumer.op in _MERGES


def _line(node: Node) -> str:
    text = ", ".join(f"{source.name}:{index}" if index else source.name for source, index in node.inputs)
    if node.controls:
        text += ("; " if text else "") + ", ".join(f"^{control.name}" for control in node.controls)
    device = node.assigned or node.device
    return f"{node.name} = {node.op}({text})" + (f" @ {device}" if device else "")
