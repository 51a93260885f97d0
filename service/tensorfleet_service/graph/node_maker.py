"""Nodes made of messages, or of a client's operations.

Nodes of one op type with equal attributes have these read and checked once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorfleet.checkpoint.varint import decode
from tensorfleet.core.proto_field import MAX_ATTRIBUTES, encoded_attributes
from tensorfleet.graph.graph_part import GraphPart
from tensorfleet.graph.node_bytes import encode_attributes
from tensorfleet.graph.operation import Operation
from tensorfleet.proto import graph_pb2, node_def_pb2
from tensorfleet_service.graph.attributes import Known, checked_attrs, definition
from tensorfleet_service.graph.graph import Node

_ATTR = 5 << 3 | 2  # the tag of a NodeDef's field `attr`, and that of the key in an entry of this map
_KEY = 1 << 3 | 2


Source = node_def_pb2.NodeDef | Operation
"""What a node is made of."""

Parts = tuple[str, str, Sequence[str], str, bytes | None, Source]
"""The name, op type, inputs and device of a node, its attributes as bytes, and the whole of it."""


def of_message(graph_def: graph_pb2.GraphDef) -> Iterator[Parts]:
    """The nodes of a message."""
    for node_def in graph_def.node:
        name, op, device, inputs = node_def.name, node_def.op, node_def.device, list(node_def.input)
        data = None
        # To find the bytes of attributes, the node is written: long work for a constant of many values.
        if op != "Const" or not _has_many_values(node_def):
            data = encoded_attributes(node_def, name, op, inputs, device)
        yield name, op, inputs, device, data, node_def


def _has_many_values(node_def: node_def_pb2.NodeDef) -> bool:
    """Whether a constant is given value by value, by more than attributes may have that nodes share."""
    if "value" not in node_def.attr:
        return False
    tensor = node_def.attr["value"].tensor
    if not tensor.tensor_shape.dim:
        return False  # as most constants
    return (
        max(len(tensor.string_val), len(tensor.int_val), len(tensor.float_val)) > MAX_ATTRIBUTES
        or max(len(tensor.double_val), len(tensor.int64_val), len(tensor.bool_val)) > MAX_ATTRIBUTES
        or max(len(tensor.half_val), len(tensor.uint32_val), len(tensor.uint64_val)) > MAX_ATTRIBUTES
        or max(len(tensor.scomplex_val), len(tensor.dcomplex_val)) > MAX_ATTRIBUTES
    )


def of_part(part: GraphPart) -> Iterator[Parts]:
    """The nodes that operations of the same process stand for."""
    for op in part.operations:
        data = encode_attributes(op.attrs)
        if data is not None and len(data) > MAX_ATTRIBUTES:
            data = None
        yield op.name, op.type, op.input_texts(), op.device, data, op


def as_message(source: Source) -> node_def_pb2.NodeDef:
    """A node as a message."""
    return source.node_def if isinstance(source, Operation) else source


class NodeMaker:
    """Makes the nodes of one graph; those with equal attributes share the dict of them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Node] = {}
        self._values: Known = {}

    def __call__(self, name: str, op: str, device: str, data: bytes | None, source: Source) -> Node:
        """The node of these parts, without its edges.

        Raises:
            NotFoundError: the op type is not registered, or an attribute is missing.
            InvalidArgumentError: an attribute is not valid.
        """
        if data is None:
            return self._make(as_message(source), {})
        key = op, data
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(as_message(source), _attributes(data))
            return found
        node = found.copy()
        node.name, node.device = name, device
        return node

    def _make(self, node_def: node_def_pb2.NodeDef, encoded: dict[str, bytes]) -> Node:
        opdef = definition(node_def)
        attrs = checked_attrs(node_def, opdef, encoded, self._values)
        return Node(node_def.name, opdef, attrs, node_def.device)


def _attributes(data: bytes) -> dict[str, bytes]:
    """The encoded attributes by name; {} if there is anything else, or something in another form."""
    found: dict[str, bytes] = {}
    end = 0
    while end < len(data):
        position = end + 1
        size, position = (data[position], position + 1) if data[position] < 128 else decode(data, position)
        entry = data[position : position + size]
        if data[end] != _ATTR or len(entry) < 2 or entry[0] != _KEY or entry[1] >= 128:
            return {}
        found[entry[2 : 2 + entry[1]].decode()] = entry
        end = position + size
    return found
