"""NumPy's functions that keep all other threads waiting, by parts of large arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

PART = 1 << 20
"""Number of elements of a part: some milliseconds."""

Array = np.ndarray[Any, Any]


def repeat(values: Array, counts: Any) -> Array:
    """As `numpy.repeat` of a vector."""
    if np.ndim(counts) == 0:
        return np.broadcast_to(values[:, None], (values.size, int(counts))).reshape(-1)
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if ends.size else 0
    if total <= PART:
        return np.repeat(values, counts)
    result = np.empty(total, values.dtype)
    for begin in range(0, total, PART):
        places = np.arange(begin, min(begin + PART, total))
        result[begin : begin + PART] = values[np.searchsorted(ends, places, "right")]
    return result
