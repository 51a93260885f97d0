"""Variable-length integers, as protobuf and leveldb write them: seven bits a byte, the lowest first."""

from __future__ import annotations


def encode(value: int) -> bytes:
    """The bytes of a non-negative integer."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data: bytes, position: int) -> tuple[int, int]:
    """The integer at `position`, and the position after it. Raises ValueError where the data ends before."""
    result = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ValueError("a number is cut off")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7
