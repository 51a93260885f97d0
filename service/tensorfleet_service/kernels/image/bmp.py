"""Decoding of BMP files as in TensorFlow: uncompressed pixels; with a palette, the indices of the colours."""

from __future__ import annotations

import struct

import numpy as np

from tensorfleet_service.kernels.image.common import Array
from tensorfleet_service.kernels.values import invalid

_HEADER = struct.Struct("<10xI4xiiHH")
"""Where the pixels begin, width and height (negative: the first row is the top one), planes, bits."""


def decode_bmp(contents: bytes, channels: int = 0) -> Array:
    """The pixels: uint8 [height, width, channels]."""
    if len(contents) < 32:
        raise invalid(
            f"Incomplete bmp content, requires at least 32 bytes to find the header, got {len(contents)}"
        )
    begin, width, height, _, bits = _HEADER.unpack_from(contents)
    own = bits // 8
    if own not in (1, 3, 4):
        raise invalid(f"Number of channels inherent in the image must be 1, 3 or 4, was {own}")
    rows = abs(height)
    if width <= 0 or rows == 0 or rows > (1 << 31) - 1:
        raise invalid(f"Invalid size of a bmp image: {width} x {height}")
    stride = (width * own + 3) // 4 * 4
    if begin + stride * (rows - 1) + width * own > len(contents):
        raise invalid(
            f"Incomplete bmp content: {rows} rows of {stride} bytes after byte {begin}, of {len(contents)}"
        )
    data = np.frombuffer(contents, np.uint8)[begin:]
    if len(data) < stride * rows:  # the last row's padding
        data = np.pad(data, (0, stride * rows - len(data)))
    pixels = data[: stride * rows].reshape(rows, stride)[:, : width * own].reshape(rows, width, own)
    if height > 0:
        pixels = pixels[::-1]
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[own]
    if channels >= 3:
        order = (order * 3)[:3] if own == 1 else order[:channels]
    made = np.ascontiguousarray(pixels[..., order])
    if channels == 4 and own != 4:
        made = np.concatenate([made, np.full_like(made[..., :1], 255)], axis=2)
    return made
