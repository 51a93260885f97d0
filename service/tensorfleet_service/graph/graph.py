"""The service's graph: nodes made from GraphDefs, checked against the op definitions.

A master keeps one `SessionGraph` per session and extends it with what the client sends; what the stages of
the master and the workers hand to each other is a list of `Node`s in the order in which they run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from platform import node as host_name
from typing import Any

from tensorfleet.core import attr_value, dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.errors import InvalidArgumentError, NotFoundError
from tensorfleet.graph import op_def
from tensorfleet.graph.op_def import Attr, OpDef
from tensorfleet.ops.internal import INTERNAL_OPS
from tensorfleet.proto import function_pb2, graph_pb2, node_def_pb2

_NODE_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/>]*")
_MERGES = frozenset(("Merge", "RefMerge"))
_NEXT_ITERATIONS = frozenset(("NextIteration", "RefNextIteration"))
_EXCHANGED = {"_edge": int, "send_device": bytes, "recv_device": bytes, "tensor_name": bytes}
_INTERNAL_ATTRS: dict[str, dict[str, type]] = {
    "_Send": _EXCHANGED,
    "_Recv": _EXCHANGED,
    "_Arg": {"index": int},
    "_Retval": {"index": int},
}
_MAX_NUMBER = 1 << 32  # of edges, fed values and fetches
_UNDECLARED_ATTRS = {"_class": "list(string)"}
MAX_TENSORS = 1 << 20  # that one input or output stands for
_TYPE_NAMES = {dtypes.float32: "float", dtypes.float64: "double", dtypes.float16: "half"}


class Node:
    """A node of a graph.

    Attributes:
        name: unique in its graph or partition.
        op: the op type; `opdef` its definition.
        inputs: (producer, index of its output) of each data input.
        controls: nodes that must have run before.
        attrs: all attributes of the op's definition and any others (`tensorfleet.core.attr_value`). Copies
            of a node share this dict: replace it, never change it.
        device: the device asked for, possibly partial or empty.
        assigned: the full name of the device it runs on; "" until it is placed.
        why: what decided the placement, for people.
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


class SessionGraph:
    """The graph of a session, which grows by `extend`.

    `version` counts the extensions; `functions` is the function library, by name.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.version = 0
        self.functions: dict[str, function_pb2.FunctionDef] = {}

    def extend(self, graph_def: graph_pb2.GraphDef) -> None:
        """Adds the nodes and functions of `graph_def`, or, if any of it is wrong, nothing at all.

        Nodes come in any order and may use nodes of earlier extensions.

        Raises:
            NotFoundError: an op type that is not registered, or an attribute that is missing.
            InvalidArgumentError: anything else that is wrong with a node or a function.
        """
        functions = self._new_functions(graph_def.library.function)
        made: dict[str, Node] = {}
        inputs: list[tuple[Node, Sequence[str]]] = []
        for node_def in graph_def.node:
            name = node_def.name
            if not _NODE_NAME.fullmatch(name):
                raise InvalidArgumentError(None, None, f"Illegal op name '{name}'{_at(name)}")
            if name in made or name in self.nodes:
                raise InvalidArgumentError(None, None, f"Node '{name}' is not unique{_at(name)}")
            if node_def.op in INTERNAL_OPS:
                message = (
                    f"Op type '{node_def.op}' is for the runtime alone and may not be in a client's graph"
                )
                raise InvalidArgumentError(None, None, message + _at(name))
            node = made[name] = _make_node(node_def)
            inputs.append((node, node_def.input))
        if _link(inputs, made, self.nodes):
            _check_cycles(made)
        self.nodes.update(made)
        self.functions.update(functions)
        self.version += 1

    def _new_functions(
        self, functions: Iterable[function_pb2.FunctionDef]
    ) -> dict[str, function_pb2.FunctionDef]:
        added: dict[str, function_pb2.FunctionDef] = {}
        for function in functions:
            name = function.signature.name
            if op_def.lookup(name) is not None:
                message = f"Cannot add function '{name}' because an op with the same name already exists."
                raise InvalidArgumentError(None, None, message)
            known = self.functions.get(name) or added.get(name)
            if known is None:
                # A part of a message keeps all of it in memory.
                added[name] = function_pb2.FunctionDef()
                added[name].CopyFrom(function)
            elif known != function:
                message = (
                    f"Cannot add function '{name}' because a different function with the same name "
                    "already exists."
                )
                raise InvalidArgumentError(None, None, message)
        return added


def from_graph_def(graph_def: graph_pb2.GraphDef) -> list[Node]:
    """The nodes of a partition, in the order of the message, placed on the devices that it names.

    Raises as `SessionGraph.extend` does, but takes internal ops and names.
    """
    made: dict[str, Node] = {}
    inputs: list[tuple[Node, Sequence[str]]] = []
    for node_def in graph_def.node:
        node = _make_node(node_def)
        node.assigned = node.device
        if made.setdefault(node.name, node) is not node:
            raise InvalidArgumentError(None, None, f"Node '{node.name}' is not unique{_at(node.name)}")
        inputs.append((node, node_def.input))
    _link(inputs, made, {})
    return list(made.values())


def check_partition(nodes: Sequence[Node]) -> None:
    """Raises InvalidArgumentError for a partition, from another program, that is not as a master makes it."""
    seen: set[Node] = set()
    for node in nodes:
        for source, _ in node.inputs:
            if source not in seen and not is_back_edge(source, node):
                raise _input_error(node, f"Node '{node.name}' comes before its input '{source.name}'")
        seen.add(node)
        for name, kind in _INTERNAL_ATTRS.get(node.op, {}).items():
            value: Any = node.attrs.get(name)
            kinds: Any = kind  # a comparison of types would narrow the value to object
            if type(value) is not kinds or (kind is int and not 0 <= value < _MAX_NUMBER):
                message = (
                    f"Attribute '{name}' of {node.op} is {value!r}, which no master gives{_at(node.name)}"
                )
                raise InvalidArgumentError(None, None, message)
            if kind is bytes:
                try:
                    value.decode()
                except UnicodeDecodeError:
                    message = f"Attribute '{name}' is no text: {value!r}{_at(node.name)}"
                    raise InvalidArgumentError(None, None, message) from None


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
    nodes: Iterable[Node], functions: Iterable[function_pb2.FunctionDef] = ()
) -> graph_pb2.GraphDef:
    """The message for nodes, in their order; placed nodes with the device that they run on."""
    graph_def = graph_pb2.GraphDef()
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


def is_back_edge(source: Node, consumer: Node) -> bool:
    """Whether an edge closes a loop: the only edges that may lead backwards in an order of nodes."""
    return source.op in _NEXT_ITERATIONS and consumer.op in _MERGES


def type_name(dtype: DType) -> str:
    """The name of a dtype in TensorFlow's messages: "float", "int32_ref"."""
    name = _TYPE_NAMES.get(dtype.base, dtype.base.name)
    return name + "_ref" if dtype.is_ref else name


def _line(node: Node) -> str:
    text = ", ".join(f"{source.name}:{index}" if index else source.name for source, index in node.inputs)
    if node.controls:
        text += ("; " if text else "") + ", ".join(f"^{control.name}" for control in node.controls)
    device = node.assigned or node.device
    return f"{node.name} = {node.op}({text})" + (f" @ {device}" if device else "")


def _at(name: str) -> str:
    """The end of a message by which the client finds the operation."""
    return f"\n\t [[{{{{node {name}}}}}]]"


# ---------------------------------------------------------------------------------------------- attributes


def _make_node(node_def: node_def_pb2.NodeDef) -> Node:
    opdef = op_def.lookup(node_def.op)
    name = node_def.name
    if opdef is None:
        message = (
            f"Op type not registered '{node_def.op}' in binary running on {host_name()}. "
            f"docs/ops.md lists the ops that TensorFleet has.{_at(name)}"
        )
        raise NotFoundError(None, None, message)
    given: dict[str, Any] = {}
    for key, value in node_def.attr.items():
        try:
            given[key] = attr_value.from_proto(value)
        except (TypeError, ValueError, MemoryError) as error:
            message = f"Attribute '{key}' cannot be read: {error}{_at(name)}"
            raise InvalidArgumentError(None, None, message) from None
    attrs: dict[str, Any] = {}
    for attr in opdef.attrs.values():
        if attr.name in given:
            value = attrs[attr.name] = given.pop(attr.name)
            problem = _attr_problem(attr, value)
            if problem:
                message = f"{problem}\n\t; NodeDef: {{{{node {name}}}}}; {_signature(opdef)}{_at(name)}"
                raise InvalidArgumentError(None, None, message)
        elif attr.has_default:
            attrs[attr.name] = attr.default
        else:
            raise NotFoundError(None, None, f"No attr named '{attr.name}' in NodeDef:{_at(name)}")
    for key, kind in _UNDECLARED_ATTRS.items():
        if key in given and not _is_of(given[key], kind):
            message = f"Attribute '{key}' is no {kind}, but {_value_text(given[key])}{_at(name)}"
            raise InvalidArgumentError(None, None, message)
    for arg in (*opdef.inputs, *opdef.outputs):
        if arg.number_attr and attrs[arg.number_attr] > MAX_TENSORS:
            message = (
                f"Attribute '{arg.number_attr}' is {attrs[arg.number_attr]}: at most {MAX_TENSORS} tensors"
            )
            raise InvalidArgumentError(None, None, message + _at(name))
    attrs.update(given)
    return Node(name, opdef, attrs, node_def.device)


def _attr_problem(attr: Attr, value: Any) -> str | None:
    kind = _kind(value)
    if kind != attr.kind:
        if kind != "list" or not attr.kind.startswith("list("):
            return _kind_problem(attr, kind)
        for item in value:
            if _kind(item) != attr.kind[5:-1]:
                return _kind_problem(attr, f"list({_kind(item)})")
    if attr.allowed is not None:
        for item in value if type(value) is list else (value,):
            if item not in attr.allowed:
                return (
                    f"Value for attr '{attr.name}' of {_value_text(item)} is not in the list of "
                    f"allowed values: {', '.join(map(_value_text, attr.allowed))}"
                )
    if attr.minimum is not None:
        if type(value) is list:
            if len(value) < attr.minimum:
                return (
                    f"Length for attr '{attr.name}' of {len(value)} must be at least minimum {attr.minimum}"
                )
        elif value < attr.minimum:
            return f"Value for attr '{attr.name}' of {value} must be at least minimum {attr.minimum}"
    return None


def _is_of(value: Any, kind: str) -> bool:
    """Whether an attribute that no op declares is of a kind, which may be a list."""
    if type(value) is list:
        return all(f"list({_kind(item)})" == kind for item in value)
    return _kind(value) == kind


def _kind_problem(attr: Attr, kind: str) -> str:
    return f"AttrValue had value with type '{kind}' when '{attr.kind}' expected\n\t for attr '{attr.name}'"


_KINDS: dict[type, str] = {
    DType: "type",
    bool: "bool",
    int: "int",
    float: "float",
    bytes: "string",
    tuple: "shape",
    type(None): "shape",
    list: "list",
    attr_value.NameAttrList: "func",
}


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "tensor")


def _value_text(value: Any) -> str:
    if type(value) is DType:
        return type_name(value)
    return f'"{value.decode(errors="replace")}"' if type(value) is bytes else str(value)


def _signature(opdef: OpDef) -> str:
    def args(args: Sequence[op_def.Arg]) -> str:
        return ", ".join(
            f"{arg.name}:" + (arg.type_attr or arg.type_list_attr or type_name(arg.dtype or dtypes.variant))
            for arg in args
        )

    return f"Op<name={opdef.name}; signature={args(opdef.inputs)} -> {args(opdef.outputs)}>"


# --------------------------------------------------------------------------------------------------- edges


def _link(inputs: Iterable[tuple[Node, Sequence[str]]], made: dict[str, Node], old: dict[str, Node]) -> bool:
    """Joins new nodes to their inputs, checking types. Returns whether some node comes before its input."""
    unlinked = set(made.values())
    any_forward = False
    for node, texts in inputs:
        controls: dict[Node, None] = {}
        for text in texts:
            # Nearly all inputs are a plain name.
            source = made.get(text) or old.get(text)
            index = 0
            if source is None and text[:1] == "^":
                source = made.get(text[1:]) or old.get(text[1:])
                if source is not None:
                    controls[source] = None
            else:
                if source is None:
                    name, _, index_text = text.partition(":")
                    if not name or (text != name and not (index_text.isascii() and index_text.isdigit())):
                        raise _input_error(node, f"Illegal op input name '{text}'")
                    source = made.get(name) or old.get(name)
                    index = int(index_text or 0)
                if controls:
                    raise _input_error(node, "All control inputs must follow all data inputs")
                if source is not None:
                    node.inputs.append((source, index))
            if source is None:
                raise _input_error(node, f"Node '{node.name}': Unknown input node '{text}'")
            if source in unlinked and not is_back_edge(source, node):
                any_forward = True
        node.controls += controls
        _check_inputs(node)
        unlinked.discard(node)
    return any_forward


def _check_inputs(node: Node) -> None:
    if len(node.inputs) != len(node.input_types):
        expected = ", ".join(map(type_name, node.input_types))
        raise _input_error(
            node,
            f"NodeDef expected inputs '{expected}' do not match {len(node.inputs)} inputs specified; "
            f"{_signature(node.opdef)}; NodeDef: {{{{node {node.name}}}}}",
        )
    for i, (source, index) in enumerate(node.inputs):
        if index >= len(source.output_types):
            raise _input_error(
                node,
                f"Node '{node.name}': Connecting to invalid output {index} of source node {source.name} "
                f"which has {len(source.output_types)} outputs.",
            )
        expected_type = node.input_types[i]
        passed = source.output_types[index]
        if passed is not expected_type and passed.base is not expected_type:
            raise _input_error(
                node,
                f"Input {i} of node {node.name} was passed {type_name(passed)} from {source.name}:{index} "
                f"incompatible with expected {type_name(expected_type)}.",
            )


def _input_error(node: Node, message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message + _at(node.name))


def _check_cycles(nodes: dict[str, Node]) -> None:
    """Raises InvalidArgumentError if nodes wait for each other. Older nodes cannot use newer ones."""
    waiting: dict[Node, int] = {}
    consumers: dict[Node, list[Node]] = {}
    for node in nodes.values():
        count = 0
        for source in [source for source, _ in node.inputs] + node.controls:
            if source.name in nodes and not is_back_edge(source, node):
                consumers.setdefault(source, []).append(node)
                count += 1
        waiting[node] = count
    ready = [node for node, count in waiting.items() if not count]
    while ready:
        for consumer in consumers.get(ready.pop(), ()):
            waiting[consumer] -= 1
            if not waiting[consumer]:
                ready.append(consumer)
    # Nodes that only follow a cycle wait, too; walking back from any node that waits leads into a cycle.
    stuck = {node for node, count in waiting.items() if count}
    if stuck:
        cycle = _cycle(next(node for node in waiting if node in stuck), stuck)
        names = ", ".join(node.name for node in cycle[:10]) + (", ..." if len(cycle) > 10 else "")
        raise _input_error(cycle[0], f"{len(cycle)} nodes in a cycle: {names}")


def _cycle(node: Node, stuck: set[Node]) -> list[Node]:
    path: dict[Node, None] = {}
    while node not in path:
        path[node] = None
        node = next(
            source
            for source in [source for source, _ in node.inputs] + node.controls
            if source in stuck and not is_back_edge(source, node)
        )
    walked = list(path)
    return walked[walked.index(node) :][::-1]
