"""Reader: decodes the frames that arrive on a socket; see `frames` for their format."""

from __future__ import annotations

import mmap
import socket
import struct
import sys
import time
from contextlib import suppress
from math import prod
from typing import Any, Protocol

import numpy as np

from tensorfleet.core import dtypes, tensor_util
from tensorfleet.wire import buffers
from tensorfleet.wire.frames import (
    DESCRIPTOR,
    DIMS,
    EMPTY,
    HAS_META,
    HEADER,
    IN_SHARED_MEMORY,
    META_SIZE,
    Frame,
    FrameTooLarge,
    Value,
)
from tensorfleet.wire.limits import (
    COUNTED_FROM_BYTES,
    GROWN_FROM_BYTES,
    MAX_HEAD_BYTES,
    MAX_PAYLOAD_BYTES,
    READ_BUFFER_BYTES,
)
from tensorfleet.wire.shared_memory import PLACE, Borrowed
from tensorfleet.wire.traffic import Traffic

Array = np.ndarray[Any, Any]

_CAN_GROW = sys.platform == "linux"  # by mremap


class _NoMemory(Exception):
    """There is no memory for something received, of whose bytes so many have not been read."""

    def __init__(self, unread: int, reason: str = "") -> None:
        super().__init__(reason)
        self.unread = unread


class Account(Protocol):
    """Where the memory is counted that is taken for what arrives."""

    def take(self, size: int, held: int) -> None:
        """Counts `size` bytes for a frame that holds `held`; may wait for others to give some back.

        Raises:
            MemoryError: there is no room for them; says which limit is in the way.
        """

    def give_back(self, size: int) -> None:
        """A frame is complete, or given up."""


class Reader:
    """Reads frames from a blocking socket.

    Attributes:
        max_head, max_payload: limits on a frame, in bytes.
        traffic: where the frames are counted.
        borrowed: the memory that the sender shares.
        account: where memory is counted that is taken for what arrives.
        deadline: the monotonic time until which frames have to be there, of a socket with a timeout.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.max_head = MAX_HEAD_BYTES
        self.max_payload = MAX_PAYLOAD_BYTES
        self.traffic = Traffic()
        self.borrowed: Borrowed | None = None
        self.account: Account | None = None
        self.deadline: float | None = None
        self._held = 0
        self._sock = sock
        self._buffer = bytearray(READ_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0

    @property
    def buffered(self) -> bool:
        """Whether bytes of another frame have arrived already."""
        return self._end > self._start

    def read(self) -> Frame:
        """The next frame.

        Raises:
            EOFError: the other side closed the connection.
            OSError: the connection broke, or its timeout passed.
            FrameTooLarge: the frame is over the limits, or the memory: `skip` it, and the next one can be
                read.
            ValueError: what arrived is not a frame.
        """
        if self._end - self._start < HEADER.size:
            self._fill(HEADER.size)
        kind, flags, count, head_size, number, detail, payload = HEADER.unpack_from(self._buffer, self._start)
        self._start += HEADER.size
        self.traffic.received += 1
        if head_size > self.max_head or payload > self.max_payload:
            if head_size > MAX_HEAD_BYTES or payload > MAX_PAYLOAD_BYTES:
                raise ValueError(f"A frame's head of {head_size} bytes is over the limit of {MAX_HEAD_BYTES}")
            raise FrameTooLarge(kind, number, head_size, payload)
        if not head_size:
            if count:
                raise ValueError(f"A frame says to have {count} tensors, but describes none")
            return Frame(kind, flags, number, detail, b"", EMPTY)
        try:
            try:
                head = self._bytes(head_size)
            except _NoMemory as e:
                reason = str(e) or f"Out of memory for a received message of {head_size} bytes"
                raise FrameTooLarge(kind, number, head_size, payload, e.unread + payload, reason) from None
            if not count:
                return Frame(kind, flags, number, detail, head, EMPTY)
            return self._tensors(kind, flags, count, head, number, detail, payload)
        except (struct.error, IndexError, TypeError, OverflowError) as e:
            raise ValueError(f"A frame's tensors cannot be read: {e}") from None
        finally:
            if self._held:
                self._give_back()

    def skip(self, frame: FrameTooLarge) -> None:
        """Reads and drops the rest of a frame that is over the limits."""
        size = frame.left
        have = min(self._end - self._start, size)
        self._start += have
        size -= have
        while size:
            received = self._sock.recv_into(self._view[: min(size, READ_BUFFER_BYTES)])
            if not received:
                raise EOFError("connection closed")
            self.traffic.received_bytes += received
            size -= received

    def _tensors(
        self, kind: int, flags: int, count: int, head: bytes, number: int, detail: int, payload: int
    ) -> Frame:
        # The frequent frames have no meta, and their descriptors stand at the start of the head.
        offset = 0
        if flags & HAS_META:
            (meta_size,) = META_SIZE.unpack_from(head, 0)
            meta = head[META_SIZE.size : META_SIZE.size + meta_size]
            offset = META_SIZE.size + meta_size
        else:
            meta = b""
        tensors: list[Value] = []
        left = payload
        for _ in range(count):
            enum, rank, size = DESCRIPTOR.unpack_from(head, offset)
            offset += DESCRIPTOR.size
            dims: tuple[int, ...] = ()
            if rank:
                dims = DIMS[rank].unpack_from(head, offset)
                offset += 8 * rank
            left -= PLACE.size if enum & IN_SHARED_MEMORY else size
            if left < 0:  # the limits were compared with what the header says
                raise ValueError(f"A frame's tensors are larger than it says: one has {size} bytes")
            try:
                tensors.append(self._tensor(enum, dims, size))
            except _NoMemory as e:
                reason = str(e) or f"Out of memory for a received tensor of {size} bytes, shape {list(dims)}"
                left += e.unread
                raise FrameTooLarge(kind, number, len(head), payload, left, reason) from None
        if left:
            raise ValueError(f"A frame says to have {left} bytes of tensors more than it describes")
        return Frame(kind, flags, number, detail, meta, tensors)

    def _tensor(self, enum: int, dims: tuple[int, ...], size: int) -> Value:
        if enum & IN_SHARED_MEMORY:
            return self._borrow(dtypes.from_enum(enum & ~IN_SHARED_MEMORY), dims, size)
        dtype = dtypes.from_enum(enum)
        if dtype is dtypes.string:
            return self._strings(dims, size)
        if dtype.np is None:
            raise ValueError(f"A tensor of type {dtype.name} cannot travel between tasks")
        if size != prod(dims) * dtype.np.itemsize:
            raise ValueError(f"A {dtype.name} tensor of shape {list(dims)} has not {size} bytes")
        array: Array
        if size <= self._end - self._start:
            start = self._start
            self._start += size
            array = np.frombuffer(bytearray(self._view[start : self._start]), dtype.np)
        else:
            array = self._received(size).view(dtype.np)
        return array.reshape(dims) if dims else array[0]

    def _strings(self, dims: tuple[int, ...], size: int) -> Array:
        raw = self._received(size)
        try:
            return tensor_util.strings_from_bytes(raw.data, prod(dims)).reshape(dims)
        except MemoryError:
            raise _NoMemory(unread=0) from None

    def _borrow(self, dtype: dtypes.DType, dims: tuple[int, ...], size: int) -> Array:
        if self.borrowed is None or dtype.np is None or size != prod(dims) * dtype.np.itemsize:
            raise ValueError(f"A {dtype.name} tensor of shape {list(dims)} cannot be {size} shared bytes")
        slot, begin = PLACE.unpack(self._bytes(PLACE.size))
        self.traffic.received_bytes += size
        return self.borrowed.array(slot, begin, size).view(dtype.np).reshape(dims)

    def close(self) -> None:
        """Lets go of the memory that the sender shares; arrays in it stay as they are."""
        if self.borrowed is not None:
            self.borrowed.close()

    def feed(self, data: bytes) -> None:
        """Takes bytes that were received in another way, at the beginning."""
        self._view[: len(data)] = data
        self._start, self._end = 0, len(data)
        self.traffic.received_bytes += len(data)

    def _fill(self, size: int) -> None:
        """Makes at least `size` bytes available in the buffer."""
        have = self._end - self._start
        if self._start:
            self._view[:have] = self._view[self._start : self._end]
            self._start, self._end = 0, have
        while self._end < size:
            if self.deadline is not None:
                self._keep_to(self.deadline)
            try:
                received = self._sock.recv_into(self._view[self._end :])
            except BlockingIOError:  # nothing came for as long as the socket's own limit says
                if self._end:
                    raise TimeoutError("a frame's header does not end") from None
                continue
            if not received:
                raise EOFError("connection closed")
            self.traffic.received_bytes += received
            self._end += received

    def _keep_to(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time is over in which a frame had to be there")
        self._sock.settimeout(left)

    def _bytes(self, size: int) -> bytes:
        if size <= self._end - self._start:
            start = self._start
            self._start += size
            return bytes(self._view[start : self._start])
        return self._received(size).tobytes()

    def _received(self, size: int) -> Array:
        """The next `size` bytes, in memory that grows as they arrive: they may never come."""
        try:
            if size >= COUNTED_FROM_BYTES:
                if size > GROWN_FROM_BYTES and _CAN_GROW and not buffers.SHARED.has(size):
                    return self._grown(size)
                self._count(size, size)
            raw = buffers.SHARED.take(size)
        except MemoryError:
            raise _NoMemory(unread=size) from None
        self._into(raw.data)
        return raw

    def _grown(self, size: int) -> Array:
        self._count(GROWN_FROM_BYTES, size)
        memory = mmap.mmap(-1, GROWN_FROM_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # of a system without large pages; NumPy asks for them as well
            memory.madvise(mmap.MADV_HUGEPAGE)
        done = 0
        while True:
            # Memory that something refers to does not grow.
            with memoryview(memory) as view, view[done:] as part:
                self._into(part)
            done = len(memory)
            if done == size:
                break
            more = min(done, size - done)
            self._count(more, size - done)
            try:
                memory.resize(done + more)
            except OSError:
                raise _NoMemory(unread=size - done) from None
        array: Array = np.frombuffer(memory, np.uint8)
        buffers.SHARED.keep(array)
        return array

    def _count(self, size: int, unread: int) -> None:
        """Counts memory for the frame that arrives."""
        if self.account is not None:
            try:
                self.account.take(size, self._held)
            except MemoryError as e:
                raise _NoMemory(unread, str(e)) from None
            self._held += size

    def _give_back(self) -> None:
        if self.account is not None:
            self.account.give_back(self._held)
        self._held = 0

    def _into(self, view: memoryview) -> None:
        """Fills `view`: from the buffer first, then straight from the socket."""
        have = min(self._end - self._start, len(view))
        view[:have] = self._view[self._start : self._start + have]
        self._start += have
        view = view[have:]
        while view:
            if self.deadline is not None:
                self._keep_to(self.deadline)
            # The sender may be slower: to be woken for each part of it would take longer than the copies.
            received = self._sock.recv_into(view, 0, socket.MSG_WAITALL)
            if not received:
                raise EOFError("connection closed")
            self.traffic.received_bytes += received
            view = view[received:]
