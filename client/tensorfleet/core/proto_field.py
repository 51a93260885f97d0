"""Fields of protobuf messages in their wire format: strings, bytes and messages, each with its length."""

from __future__ import annotations

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
