"""Encoding of PNG files, for summaries and EncodePng."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
"""PNG's numbers for grey, grey with alpha, RGB and RGBA, by the number of channels."""


def encode_png(pixels: np.ndarray[Any, Any], compression: int = -1) -> bytes:
    """A PNG file, without filters.

    Args:
        pixels: uint8 or uint16 of shape [height, width, channels], with 1 to 4 channels.
        compression: -1 for zlib's usual level, or 0 to 9.
    """
    height, width, channels = pixels.shape
    size = pixels.dtype.itemsize
    rows = np.zeros((height, 1 + width * channels * size), np.uint8)  # each row starts with its filter, none
    big_endian = pixels.astype(pixels.dtype.newbyteorder(">"), copy=False).reshape(height, width * channels)
    rows[:, 1:] = np.ascontiguousarray(big_endian).view(np.uint8)
    header = struct.pack(">IIBBBBB", width, height, 8 * size, _COLOR_TYPES[channels], 0, 0, 0)
    data = zlib.compress(rows.data, compression)
    chunks = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
