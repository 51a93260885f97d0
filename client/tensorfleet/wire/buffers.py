"""Memory for large tensors, used again once nobody refers to the tensor any more.

Fresh memory of this size costs as much as filling it: the system maps and clears it page by page. A training
step makes and receives tensors of the same sizes again and again, so buffers are reused for that size.

It is asked for in large pages, as the processor remembers the places of few small ones: a step that goes
through some MB of weights in the order of a product looks up most of them anew.
"""

from __future__ import annotations

import itertools
import mmap
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from tensorfleet.core.environment import integer
from tensorfleet.wire.limits import POOLED_FROM_BYTES

Array = np.ndarray[Any, Any]


copy: Callable[[Array, Array], None] = np.copyto
"""Copies an array into one of the same shape and dtype that shares no memory with it.

Tasks have a faster one for large arrays.
"""

LARGE_PAGE = 2 << 20
"""The size of a large page, in bytes, on most processors; elsewhere only the alignment differs."""

PLACES, PLACE_BYTES = 16, 4096 + 5 * 64
"""Arrays begin at different places of their pages: the caches keep few lines that lie alike."""

_places = itertools.count()

_ADVICE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)


def fresh(size: int) -> Array:
    """A new array of `size` bytes, in large pages if it is large enough to fill half of one.

    Raises:
        MemoryError: there is no memory.
    """
    found = _placed(size, (size,), np.uint8)
    return np.empty(size, np.uint8) if found is None else found


def copied(value: Array) -> Array:
    """A copy of an array of numbers, contiguous, in memory of its own.

    Each view of it refers to it, so that its references tell whether anybody uses it.
    """
    if value.nbytes < POOLED_FROM_BYTES or value.dtype.hasobject:
        return value.copy()
    result = _placed(value.nbytes, value.shape, value.dtype)
    if result is None:
        return value.copy()
    copy(result, value)
    return result


def _placed(size: int, shape: tuple[int, ...], dtype: Any) -> Array | None:
    """A new array in large pages; None if it is too small for one, or there are none.

    Its base is no array: NumPy has views refer to the last of the arrays of which each is a view of the next.
    """
    pages = (size + LARGE_PAGE // 2) // LARGE_PAGE  # a last page that is less than half full stays small ones
    if not pages or _ADVICE is None:
        return None
    try:
        memory = mmap.mmap(
            -1, size + PLACES * PLACE_BYTES + 2 * LARGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
    except OSError:
        return None  # whoever asks for small pages then hears of it, if there is no memory
    begin = -np.frombuffer(memory, np.uint8).__array_interface__["data"][0] % LARGE_PAGE
    at = begin + next(_places) % PLACES * PLACE_BYTES
    with suppress(OSError):  # of a system without large pages
        memory.madvise(_ADVICE, begin, pages * LARGE_PAGE)
    return np.ndarray(shape, dtype, memory, at)


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
            buffer = fresh(size)
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
