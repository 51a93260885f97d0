"""Nodes made of messages: nodes of one op type with equal attributes have these read and checked once."""

from __future__ import annotations

from collections.abc import Sequence

from tensorfleet.checkpoint.varint import decode
from tensorfleet.core.proto_field import encoded_attributes
from tensorfleet.proto import node_def_pb2
from tensorfleet_service.graph.attributes import Known, checked_attrs, definition
from tensorfleet_service.graph.graph import Node

_ATTR = 5 << 3 | 2  # the tag of a NodeDef's field `attr`, and that of the key in an entry of this map
_KEY = 1 << 3 | 2


class NodeMaker:
    """Makes the nodes of one message; those with equal attributes share the dict of them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Node] = {}
        self._values: Known = {}

    def __call__(self, node_def: node_def_pb2.NodeDef, inputs: Sequence[str]) -> Node:
        """The node of a message, whose `input` is `inputs`, without its edges.

        Raises:
            NotFoundError: the op type is not registered, or an attribute is missing.
            InvalidArgumentError: an attribute is not valid.
        """
        name, op, device = node_def.name, node_def.op, node_def.device
        data = encoded_attributes(node_def, name, op, inputs, device)
        if data is None:
            return self._make(node_def, {})
        key = op, data
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(node_def, _attributes(data))
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
