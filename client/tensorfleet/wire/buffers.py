"""Memory for large tensors, used again once nobody refers to the tensor any more.

Fresh memory of this size costs as much as filling it: the system maps and clears it page by page. A training
step makes and receives tensors of the same sizes again and again, so buffers are reused for that size.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from math import prod
from typing import Any

import numpy as np

from tensorfleet.core.environment import integer
from tensorfleet.wire.limits import POOLED_FROM_BYTES

Array = np.ndarray[Any, Any]


class Buffers:
    """Buffers of at most `limit` bytes together; what is larger than half of that is not kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._total = 0
        self._buffers: deque[Array] = deque()
        self._lock = threading.Lock()
        self._free = self._references_of_free()

    def has(self, size: int) -> bool:
        """Whether there is an array of `size` bytes that nobody uses."""
        with self._lock:
            for buffer in self._buffers:
                if buffer.nbytes == size and sys.getrefcount(buffer) <= self._free:
                    return True
        return False

    def keep(self, buffer: Array) -> None:
        """Lets a new array be used again."""
        if buffer.nbytes <= self._limit // 2:
            with self._lock:
                self._add(buffer)

    def _add(self, buffer: Array) -> None:
        self._buffers.append(buffer)
        self._total += buffer.nbytes
        while self._total > self._limit:
            self._total -= self._buffers.popleft().nbytes

    def take(self, size: int) -> Array:
        """An array of `size` bytes whose contents nobody needs."""
        if size < POOLED_FROM_BYTES or size > self._limit // 2:
            return np.empty(size, np.uint8)
        with self._lock:
            for buffer in self._buffers:
                if buffer.nbytes == size and sys.getrefcount(buffer) <= self._free:
                    return buffer
            buffer = np.empty(size, np.uint8)
            self._add(buffer)
            return buffer

    def give_up(self, buffer: Any) -> None:
        """Forgets a buffer, so that whoever refers to it has it alone; others are none of its business."""
        with self._lock:
            for i, known in enumerate(self._buffers):
                if known is buffer:
                    del self._buffers[i]
                    self._total -= known.nbytes
                    return

    def drop_free(self) -> None:
        """Forgets the buffers that nobody uses."""
        with self._lock:
            kept: deque[Array] = deque()
            while self._buffers:
                buffer = self._buffers.popleft()
                if sys.getrefcount(buffer) <= self._free - 1:  # the pool does not refer to it any more
                    self._total -= buffer.nbytes
                else:
                    kept.append(buffer)
            self._buffers = kept

    def _references_of_free(self) -> int:
        """The result of getrefcount in `take` for a buffer that only the pool holds."""
        self._buffers.append(np.empty(1, np.uint8))
        count = 0
        for buffer in self._buffers:
            count = sys.getrefcount(buffer)
        self._buffers.clear()
        return count


SHARED = Buffers(integer("TENSORFLEET_RECEIVE_BUFFERS_MB", 256) << 20)
"""The buffers of this process."""


def empty(shape: tuple[int, ...], dtype: Any) -> Array:
    """Like `numpy.empty`, in memory that was used before if the array is large."""
    dtype = np.dtype(dtype)
    size = prod(shape) * dtype.itemsize
    if size < POOLED_FROM_BYTES:
        return np.empty(shape, dtype)
    array: Array = SHARED.take(size).view(dtype).reshape(shape)
    return array
