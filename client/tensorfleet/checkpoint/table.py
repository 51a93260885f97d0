"""Tables of leveldb: a file of sorted keys and values, as far as checkpoints use it (uncompressed).

A file is data blocks, an empty "metaindex" block, an index block with the last key and the place of every
data block, and a footer with the places of these two. A block is entries (each key without the part that it
shares with the key before), the offsets of the entries that are written whole, and their number; after it
come a byte for the compression and a checksum.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from tensorfleet.checkpoint import checksum, varint

_MAGIC = 0xDB4775248B80FB57
_FOOTER_SIZE = 48
_TRAILER_SIZE = 5
_BLOCK_SIZE = 256 * 1024
_RESTART_INTERVAL = 16
_NO_COMPRESSION = 0


class CorruptTable(Exception):
    """The bytes are no table, or no longer the ones that were written."""


def write(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The file of `items`, whose keys are sorted and different."""
    out = bytearray()
    index: list[tuple[bytes, bytes]] = []
    block: list[tuple[bytes, bytes]] = []
    size = 0
    for key, value in items:
        block.append((key, value))
        size += len(key) + len(value)
        if size >= _BLOCK_SIZE:
            index.append((key, _append(out, _block(block, _RESTART_INTERVAL))))
            block, size = [], 0
    if block:
        index.append((block[-1][0], _append(out, _block(block, _RESTART_INTERVAL))))
    footer = _append(out, _block([], _RESTART_INTERVAL)) + _append(out, _block(index, 1))
    return bytes(out) + footer.ljust(_FOOTER_SIZE - 8, b"\0") + struct.pack("<Q", _MAGIC)


def _block(items: list[tuple[bytes, bytes]], interval: int) -> bytes:
    out = bytearray()
    restarts: list[int] = []
    before = b""
    for number, (key, value) in enumerate(items):
        shared = 0
        if number % interval == 0:
            restarts.append(len(out))
        else:
            while shared < min(len(before), len(key)) and before[shared] == key[shared]:
                shared += 1
        out += varint.encode(shared) + varint.encode(len(key) - shared) + varint.encode(len(value))
        out += key[shared:] + value
        before = key
    restarts = restarts or [0]
    return bytes(out) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def _append(out: bytearray, block: bytes) -> bytes:
    """Adds a block; returns its handle."""
    handle = varint.encode(len(out)) + varint.encode(len(block))
    data = block + bytes([_NO_COMPRESSION])
    out += data + struct.pack("<I", checksum.masked(data))
    return handle


def read(data: bytes) -> dict[bytes, bytes]:
    """The keys and values of a file, in the file's order.

    Raises:
        CorruptTable: it is none, or damaged, or compressed.
    """
    if len(data) < _FOOTER_SIZE or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise CorruptTable("not an sstable (bad magic number)")
    footer = data[-_FOOTER_SIZE:]
    try:
        position = 0
        for _ in range(2):  # the handle of the metaindex block is not needed
            _, position = varint.decode(footer, position)
        result: dict[bytes, bytes] = {}
        for _, handle in _entries(_checked_block(data, footer[position:])):
            result.update(_entries(_checked_block(data, handle)))
    except (ValueError, struct.error) as e:
        raise CorruptTable(f"bad block contents: {e}") from e
    return result


def _checked_block(data: bytes, handle: bytes) -> bytes:
    offset, position = varint.decode(handle, 0)
    size, _ = varint.decode(handle, position)
    end = offset + size + _TRAILER_SIZE
    if end > len(data) - _FOOTER_SIZE:
        raise CorruptTable("truncated block read")
    block = data[offset : end - 4]
    if struct.unpack("<I", data[end - 4 : end])[0] != checksum.masked(block):
        raise CorruptTable("block checksum mismatch")
    if block[-1] != _NO_COMPRESSION:
        raise CorruptTable(f"compressed blocks (type {block[-1]}) are not supported")
    return block[:-1]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    restarts = struct.unpack("<I", block[-4:])[0]
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise ValueError("more restarts than bytes")
    position, key = 0, b""
    while position < end:
        shared, position = varint.decode(block, position)
        rest, position = varint.decode(block, position)
        size, position = varint.decode(block, position)
        if shared > len(key) or position + rest + size > end:
            raise ValueError("an entry is cut off")
        key = key[:shared] + block[position : position + rest]
        position += rest
        yield key, block[position : position + size]
        position += size
