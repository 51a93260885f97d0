"""Graphs made of messages: that of a session, which grows, and partitions from other programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet.graph import op_def
from tensorfleet.graph.graph_part import GraphPart
from tensorfleet.ops.internal import INTERNAL_OPS
from tensorfleet.proto import function_pb2, graph_pb2
from tensorfleet_service.graph import large
from tensorfleet_service.graph.attributes import MAX_TEXT, at
from tensorfleet_service.graph.calls import as_call, is_call, rewrite_calls
from tensorfleet_service.graph.edges import check_cycles, input_error, link, link_plain
from tensorfleet_service.graph.graph import GRADIENT, Node, is_back_edge
from tensorfleet_service.graph.message_pieces import copied
from tensorfleet_service.graph.node_maker import NodeMaker, as_message, of_message, of_part

_EXCHANGED = {"_edge": int, "send_device": bytes, "recv_device": bytes, "tensor_name": bytes}
_INTERNAL_ATTRS: dict[str, dict[str, type]] = {
    "_Send": _EXCHANGED,
    "_Recv": _EXCHANGED,
    "_Arg": {"index": int},
    "_Retval": {"index": int},
}
_MAX_NUMBER = 1 << 32  # limit on the numbers of edges, fed values and fetches

_NODE_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/>]*")


class SessionGraph:
    """The graph of a session, which grows by `extend`.

    `version` counts the extensions; `functions` is the function library, by name.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.version = 0
        self.functions: dict[str, function_pb2.FunctionDef] = {}
        # Functions as they came, where they are kept in another form.
        self._given: dict[str, function_pb2.FunctionDef] = {}

    def extend(self, graph_def: graph_pb2.GraphDef | GraphPart) -> None:
        """Adds the nodes and functions of `graph_def`; adds nothing if any of them is invalid.

        Nodes come in any order and may use nodes of earlier extensions.

        Raises:
            NotFoundError: an op type is not registered, or an attribute is missing.
            InvalidArgumentError: a node or a function is invalid in another way.
        """
        functions, given = self._new_functions(graph_def.library)
        made: dict[str, Node] = {}
        try:
            self._make(graph_def, {**self.functions, **functions}, made)
        except BaseException:
            large.take_apart(made)
            raise
        self.nodes.update(made)
        large.keep(self, len(self.nodes))
        self.functions.update(functions)
        self._given.update(given)
        self.version += 1

    def _make(
        self,
        graph_def: graph_pb2.GraphDef | GraphPart,
        callable_functions: dict[str, function_pb2.FunctionDef],
        made: dict[str, Node],
    ) -> None:
        """Makes and links the nodes of a message."""
        old = self.nodes
        inputs: list[tuple[Node, Sequence[str]]] = []
        make = NodeMaker()
        is_name = _NODE_NAME.fullmatch
        parts = of_part(graph_def) if isinstance(graph_def, GraphPart) else of_message(graph_def)
        for name, op, texts, device, data, source in parts:
            if len(name) + len(op) + len(device) > MAX_TEXT:
                message = f"A node's name, op type and device have more than {MAX_TEXT} characters together"
                raise InvalidArgumentError(None, None, f"{message}: {name[:100]}")
            if not is_name(name):
                raise InvalidArgumentError(None, None, f"Illegal op name '{name}'{at(name)}")
            if name in made or name in old:
                raise InvalidArgumentError(None, None, f"Node '{name}' is not unique{at(name)}")
            if op in INTERNAL_OPS:
                message = f"Op type '{op}' is for the runtime alone and may not be in a client's graph"
                raise InvalidArgumentError(None, None, message + at(name))
            if callable_functions and op in callable_functions:
                node_def = as_message(source)
                if is_call(node_def, callable_functions):
                    source, data = as_call(node_def, callable_functions), None
            node = make(name, op, device, data, source)
            if not link_plain(node, texts, made, old):
                inputs.append((node, texts))
            made[name] = node
        if inputs and link(inputs, made, self.nodes):
            check_cycles(made)

    def _new_functions(
        self, library: function_pb2.FunctionDefLibrary
    ) -> tuple[dict[str, function_pb2.FunctionDef], dict[str, function_pb2.FunctionDef]]:
        """The functions that are not there yet, and, where they were changed, as they came."""
        added: dict[str, function_pb2.FunctionDef] = {}
        gradients = {item.function_name: item.gradient_func for item in library.gradient}
        for function in library.function:
            name = function.signature.name
            if op_def.lookup(name) is not None:
                message = f"Cannot add function '{name}' because an op with the same name already exists."
                raise InvalidArgumentError(None, None, message)
            _check_function(function)
            known = self._given.get(name) or self.functions.get(name) or added.get(name)
            if known is None:
                # A copy, as a part of a message keeps the whole message in memory.
                added[name] = copied(function)
            elif known != function:
                message = (
                    f"Cannot add function '{name}' because a different function with the same name "
                    "already exists."
                )
                raise InvalidArgumentError(None, None, message)
        callable_functions = {**self.functions, **added}
        given: dict[str, function_pb2.FunctionDef] = {}
        for name, function in added.items():
            has_calls = any(is_call(node_def, callable_functions) for node_def in function.node_def)
            if has_calls or name in gradients:
                given[name] = copied(function)
            if has_calls:
                rewrite_calls(function, callable_functions)
            if name in gradients:
                function.attr[GRADIENT].s = gradients[name].encode()
        return added, given


def _check_function(function: function_pb2.FunctionDef) -> None:
    """Raises InvalidArgumentError for a function with what only the runtime may put into one."""
    _check_length("a function", function.signature.name)
    for node_def in function.node_def:
        if len(node_def.name) > MAX_TEXT:
            _check_length("an op", node_def.name)
        if node_def.op in INTERNAL_OPS:
            message = (
                f"Op type '{node_def.op}' is for the runtime alone and may not be in function "
                f"{function.signature.name}{at(node_def.name)}"
            )
            raise InvalidArgumentError(None, None, message)
    if GRADIENT in function.attr:
        try:
            function.attr[GRADIENT].s.decode()
        except UnicodeDecodeError:
            text = f"The gradient of function {function.signature.name} is not valid text"
            raise InvalidArgumentError(None, None, text) from None


def from_graph_def(graph_def: graph_pb2.GraphDef) -> list[Node]:
    """The nodes of a partition, in the order of the message, with the devices that it names.

    Raises as `SessionGraph.extend` does, but accepts internal ops and names.
    """
    made: dict[str, Node] = {}
    inputs: list[tuple[Node, Sequence[str]]] = []
    make = NodeMaker()
    for name, op, texts, device, data, node_def in of_message(graph_def):
        node = make(name, op, device, data, node_def)
        node.assigned = node.device
        if made.setdefault(node.name, node) is not node:
            raise InvalidArgumentError(None, None, f"Node '{node.name}' is not unique{at(node.name)}")
        inputs.append((node, texts))
    link(inputs, made, {})
    return list(made.values())


def check_partition(nodes: Sequence[Node]) -> None:
    """Raises InvalidArgumentError for a partition of another program that no master makes."""
    seen: set[Node] = set()
    for node in nodes:
        for source, _ in node.inputs:
            if source not in seen and not is_back_edge(source, node):
                raise input_error(node, f"Node '{node.name}' comes before its input '{source.name}'")
        seen.add(node)
        for name, kind in _INTERNAL_ATTRS.get(node.op, {}).items():
            value: Any = node.attrs.get(name)
            kinds: Any = kind  # a comparison of types would narrow the value to object
            if type(value) is not kinds or (kind is int and not 0 <= value < _MAX_NUMBER):
                message = f"Attribute '{name}' of {node.op} is {value!r}, which is not valid{at(node.name)}"
                raise InvalidArgumentError(None, None, message)
            if kind is bytes:
                try:
                    value.decode()
                except UnicodeDecodeError:
                    message = f"Attribute '{name}' is not valid text: {value!r}{at(node.name)}"
                    raise InvalidArgumentError(None, None, message) from None


def _check_length(what: str, name: str) -> None:
    """Raises InvalidArgumentError for a name that is too long."""
    if len(name) > MAX_TEXT:
        message = f"The name of {what} has more than {MAX_TEXT} characters: {name[:100]}"
        raise InvalidArgumentError(None, None, message)
