"""Memory that two processes of one machine share, for the large tensors that one of them sends to the other.

The sender copies a tensor into its `Arena` once and names the place in a frame; the receiver computes on that
memory as it stands, and gives the place back by a byte in the arena's first page, without a message. Only
processes of the same user do so: each could do to the other whatever it likes anyway.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import sys
import threading
import weakref
from bisect import insort
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from tensorfleet.core.environment import integer
from tensorfleet.wire import buffers
from tensorfleet.wire.traffic import Traffic

if sys.platform == "linux":
    import fcntl

Array = np.ndarray[Any, Any]


PLACE = struct.Struct("<QQ")
"""A place as it travels: its slot, and where it begins."""

SIZE = integer("TENSORFLEET_SHARED_MEMORY_MB", 256) << 20
"""Bytes of an arena, of which those that were never used take no memory; 0 for no shared memory."""

SUPPORTED = sys.platform == "linux" and hasattr(os, "memfd_create")

_SLOTS = 1024
_PAGE = 4096  # the first one has the state of every slot
_FREE, _LENT = 0, 1
_NO_MEMORY = bytearray()


def _always(size: int) -> bool:
    return True


may_grow: Callable[[int], bool] = _always
"""Whether an arena may take so many bytes more; a task with a memory budget sets it."""


class Arena:
    """The memory of a sender: places are taken in it, and are free again once the receiver says so.

    Attributes:
        descriptor: of the memory, to be passed to the receiver; open as long as the arena is referred to.
        traffic: where the tensors' bytes are counted.

    Raises:
        OSError: the system gives no such memory.
    """

    def __init__(self, size: int) -> None:
        self.descriptor = os.memfd_create("tensorfleet", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, size)
            # Without this the receiver would not trust the memory: it might become shorter while it is read.
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)
            os.posix_fallocate(self.descriptor, 0, _PAGE)
            self._states: mmap.mmap | bytearray = mmap.mmap(self.descriptor, size)
        except BaseException:
            os.close(self.descriptor)
            raise
        self._memory = np.frombuffer(self._states, np.uint8)
        self.traffic = Traffic()
        self._allocated = _PAGE
        self._lent: list[tuple[int, int, int]] = []  # begin, end, slot; in order
        self._slots = list(range(_SLOTS))
        self._lock = threading.Lock()
        # Not at the end of the process, when threads may still send.
        self._close = weakref.finalize(self, os.close, self.descriptor)
        self._close.atexit = False
        self._closed = False

    def put(self, value: Array) -> tuple[int, int] | None:
        """Copies a tensor; its slot and where it begins, or None while there is no room."""
        with self._lock:
            place = None if self._closed else self._take(value.nbytes)
            memory = self._memory
        if place is not None:
            begin = place[1]
            buffers.copy(memory[begin : begin + value.nbytes].view(value.dtype).reshape(value.shape), value)
            self.traffic.sent_bytes += value.nbytes
        return place

    def take_back(self, slots: Iterable[int]) -> None:
        """Frees places that the receiver does not get to know."""
        with self._lock:
            if not self._closed:
                for slot in slots:
                    self._states[slot] = _FREE

    def close(self) -> None:
        """Gives the memory back to the system, now or when the last copy into it has ended."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._close()
            self._lent.clear()
            self._memory = np.empty(0, np.uint8)
            self._states = _NO_MEMORY

    @property
    def lent(self) -> int:
        """The number of bytes that the receiver has not given back."""
        with self._lock:
            self._reclaim()
            return sum(end - begin for begin, end, _ in self._lent)

    def _take(self, size: int) -> tuple[int, int] | None:
        """The first place that is large enough: memory that was used a moment ago is still in the caches."""
        self._reclaim()
        if not self._slots:
            return None
        size = -(-size // _PAGE) * _PAGE
        begin = _PAGE
        for taken, end, _ in self._lent:
            if taken - begin >= size:
                break
            begin = end
        if begin + size > self._memory.size or not self._allocate(begin + size):
            return None
        slot = self._slots.pop()
        self._states[slot] = _LENT
        insort(self._lent, (begin, begin + size, slot))
        return slot, begin

    def _reclaim(self) -> None:
        states = self._states
        free = [place for place in self._lent if states[place[2]] == _FREE]
        for place in free:
            self._lent.remove(place)
            self._slots.append(place[2])

    def _allocate(self, end: int) -> bool:
        """Whether there is memory up to `end`; without asking before, none would be a signal that kills."""
        if end > self._allocated:
            if not may_grow(end - self._allocated):
                return False
            try:
                os.posix_fallocate(self.descriptor, self._allocated, end - self._allocated)
            except OSError:
                return False
            self._allocated = end
        return True


class Borrowed:
    """The memory of a receiver: another process's arena.

    Args:
        descriptor: of the memory; it is closed.

    Raises:
        ValueError: it is not what an Arena passes.
    """

    def __init__(self, descriptor: int) -> None:
        try:
            if not fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
                raise ValueError("the shared memory may become shorter")
            self._map: mmap.mmap | None = mmap.mmap(descriptor, 0)
        except OSError as e:
            raise ValueError(f"what was passed is not shared memory: {e}") from None
        finally:
            os.close(descriptor)
        self.size = len(self._map)
        self._borrowed: dict[int, weakref.ref[Array]] = {}

    def array(self, slot: int, begin: int, size: int) -> Array:
        """The bytes of a place, as memory that belongs to the caller until nobody refers to it any more.

        Raises:
            ValueError: there is no such place.
            EOFError: it was closed.
        """
        memory = self._map
        if memory is None:
            raise EOFError("connection closed")
        if slot >= _SLOTS or begin < _PAGE or begin + size > self.size:
            raise ValueError(f"{size} bytes at {begin} of slot {slot} are outside of the shared memory")
        array: Array = np.frombuffer(memory, np.uint8, size, begin)
        self._borrowed[slot] = weakref.ref(array, partial(self._give_back, slot))
        return array

    def _give_back(self, slot: int, _: weakref.ref[Array]) -> None:
        # In this order: once it is free, the slot may come again.
        self._borrowed.pop(slot, None)
        memory = self._map
        if memory is not None:
            memory[slot] = _FREE

    def close(self) -> None:
        """Lets go of the memory; arrays in it live on, and their places are given back to nobody."""
        self._map = None
        self._borrowed.clear()


def same_user(sock: socket.socket) -> bool:
    """Whether the other side of a Unix socket is a process of this process's user."""
    _, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.geteuid())
