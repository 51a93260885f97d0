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
_MAX_TEXT = 1 << 14
_NAME, _OP, _INPUT, _DEVICE = (bytes([number << 3 | 2]) for number in (1, 2, 3, 4))


def encoded_attributes(node: NodeDef, name: str, op: str, inputs: Sequence[str], device: str) -> bytes | None:
    """The attributes of a node as bytes, by which to tell nodes with equal ones; None above 1 KB.

    It costs a fraction of reading them one by one. They are what follows on the other fields in the node's
    bytes. Should a protobuf write fields in another order, the result is None.

    Args:
        name, op, inputs, device: those of the node.
    """
    data = node.SerializeToString()
    end = 0
    fields = [(_NAME, name), (_OP, op)]
    for source in inputs:
        fields.append((_INPUT, source))
    if device:
        fields.append((_DEVICE, device))
    for tag, value in fields:
        # Each field is known to be there with this length, so the next one begins where it ends.
        size = len(value) if value.isascii() else len(value.encode())
        if data[end : end + 1] != tag or size >= _MAX_TEXT:
            return None
        end += size + (2 if size < 0x80 else 3)
    return data[end:] if len(data) - end <= MAX_ATTRIBUTES else None
