"""Fields of protobuf messages in their wire format: strings, bytes and messages, each with its length."""

from __future__ import annotations

from collections.abc import Sequence

from tensorfleet.proto.node_def_pb2 import NodeDef

_SHORT = [[bytes([number << 3 | 2, size]) for size in range(128)] for number in range(16)]


def field(number: int, data: bytes) -> bytes:
    """The field of a number below 16 with these bytes."""
    size = len(data)
    if size < 128:
        return _SHORT[number][size] + data
    head = bytearray((number << 3 | 2,))
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    return bytes(head) + data


def text(number: int, value: str) -> bytes:
    """The field of a number below 16 with a text."""
    return field(number, value.encode())


MAX_ATTRIBUTES = 1024


def encoded_attributes(node: NodeDef, inputs: Sequence[str]) -> bytes | None:
    """The attributes of a node as bytes, by which to tell nodes with equal ones; None above 1 KB.

    It costs a fraction of reading them one by one. Should a protobuf write fields in another order, or with
    others in between, the result is None, or differs where the attributes are equal, never the reverse.

    Args:
        inputs: the node's `input`.
    """
    data = node.SerializeToString()
    prefix = text(1, node.name) + text(2, node.op)
    for source in inputs:
        prefix += text(3, source)
    device = node.device
    if device:
        prefix += text(4, device)
    if len(data) - len(prefix) > MAX_ATTRIBUTES or not data.startswith(prefix):
        return None
    return data[len(prefix) :]
