"""CRC-32C, and the masked form of it that checkpoints and event files store."""

from __future__ import annotations

from typing import Any

import numpy as np

_MASK_DELTA = 0xA282EAD8
_CHUNK = 1 << 20  # bytes at a time: the library keeps the interpreter lock, so other threads get their turn


def extend(crc: int, data: Any) -> int:
    """The CRC-32C of what `crc` is of, followed by `data`: bytes or a contiguous array."""
    import google_crc32c  # here: few programs need it, and all would pay for its import

    if isinstance(data, np.ndarray):
        data = data.reshape(-1).view(np.uint8)
    if len(data) <= _CHUNK:
        return int(google_crc32c.extend(crc, data)) if len(data) else crc
    for start in range(0, len(data), _CHUNK):
        crc = google_crc32c.extend(crc, data[start : start + _CHUNK])
    return crc


def mask(crc: int) -> int:
    """The form in which a CRC is stored: a CRC of data that holds CRCs would be weak."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def masked(data: Any) -> int:
    """The masked CRC-32C of `data`."""
    return mask(extend(0, data))


def mask_all(crcs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`mask` of each of an array of uint64."""
    return ((((crcs >> 15) | (crcs << 17)) & 0xFFFFFFFF) + _MASK_DELTA) & 0xFFFFFFFF
