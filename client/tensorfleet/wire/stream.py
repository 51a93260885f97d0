"""The stream transport's framing: small headers and raw tensor bytes over one blocking socket.

Used by the client to its master, and between tasks. A frame is a fixed header, then `meta` (whatever the
kind of frame needs: packed numbers or a protobuf message), a descriptor per tensor, and the tensors' bytes
one after the other. Small frames travel in one write; the bytes of large tensors go from the array to the
socket and from the socket into a fresh array, never through another buffer.

    header     kind u8, flags u8, tensors u16, head u32, number u64, detail u64, payload u64   (little endian)
    head       bytes of meta and descriptors
    descriptor dtype u8, rank u8, bytes u64, then rank times u64

Between processes of one machine a large tensor may lie in shared memory: the highest bit of its dtype says
so, and the payload has its place instead of its bytes.
"""

from __future__ import annotations

import mmap
import socket
import struct
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from math import prod
from typing import Any, Protocol

import numpy as np

from tensorfleet.core import dtypes, errors, tensor_util
from tensorfleet.wire import buffers
from tensorfleet.wire.limits import (
    COUNTED_FROM_BYTES,
    GROWN_FROM_BYTES,
    MAX_HEAD_BYTES,
    MAX_PAYLOAD_BYTES,
    READ_BUFFER_BYTES,
    SHARED_FROM_BYTES,
    SMALL_BYTES,
)
from tensorfleet.wire.shared_memory import PLACE, Arena, Borrowed
from tensorfleet.wire.traffic import Traffic

Array = np.ndarray[Any, Any]
Value = Any  # np.ndarray | np.generic

HEADER = struct.Struct("<BBHIQQQ")
DESCRIPTOR = struct.Struct("<BBQ")
MAGIC = b"tensorfleet-stream-3"
MAX_SEND_BUFFERS = 64

MAX_RANK = 64  # NumPy's own limit
_DIMS = [struct.Struct(f"<{rank}Q") for rank in range(MAX_RANK + 1)]
_EMPTY: Sequence[Value] = ()
_IN_SHARED_MEMORY = 128
_CAN_GROW = sys.platform == "linux"  # by mremap
# The descriptor and the size of a single number, by its NumPy type.
_SCALARS = {
    dtype.np.type: (DESCRIPTOR.pack(dtype.enum, 0, dtype.np.itemsize), dtype.np.itemsize)
    for dtype in map(
        dtypes.from_numpy, map(np.dtype, ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "?"))
    )
    if dtype.np is not None
}


class Kind(IntEnum):
    """The content of a frame.

    `number` is that of the request, which the answer repeats, or of the step; `detail` is what the kind says.
    """

    HELLO = 1  # meta: Hello; the first frame on a connection, from the side that opened it
    CALL = 2  # number: request, detail: Method; meta: the request message
    REPLY = 3  # number: request; meta: the response message
    ERROR = 4  # number: request, or 0 for the connection itself; detail: status code; meta: the text
    RUN = 5  # number: request, detail: callable; meta: session handle; tensors: the feeds
    RESULT = 6  # number: request or step; tensors: the fetches
    RUN_GRAPH = 7  # number: step, detail: graph handle; tensors: the fed values
    PUSH = 8  # number: step, detail: edge; one tensor, or none and flag DEAD
    ABORT = 9  # number: step, detail: status code; meta: the text
    TRACED = 10  # number: request or step; meta: RunMetadata or StepStats, before the RESULT of the same id
    COLLECTIVE = 11  # detail: what is said about a collective; meta: the rest of it
    CHUNK = 12  # number: round of a collective, detail: number of the chunk; one tensor
    PUSH_ALL = 13  # number: step; meta: the edges; a tensor for each
    BEAT = 14  # between tasks: a sign of life
    AUTH = 15  # before HELLO: a part of the proof that both sides know the cluster secret


class Method(IntEnum):
    """The calls carried by CALL, with the messages of the gRPC method of the same name."""

    CREATE_SESSION = 1
    EXTEND_SESSION = 2
    MAKE_CALLABLE = 3
    RUN_STEP = 5
    PARTIAL_RUN_SETUP = 6
    CLOSE_SESSION = 7
    LIST_DEVICES = 8
    RESET = 9
    GET_STATUS = 20
    CREATE_WORKER_SESSION = 21
    DELETE_WORKER_SESSION = 22
    REGISTER_GRAPH = 23
    DEREGISTER_GRAPH = 24
    CLEANUP_ALL = 25
    GET_STEPS = 26


DEAD = 1
TRACE = 2


class Frame:
    """One received frame."""

    __slots__ = ("detail", "flags", "kind", "meta", "number", "tensors")

    def __init__(
        self, kind: int, flags: int, number: int, detail: int, meta: bytes, tensors: Sequence[Value]
    ) -> None:
        self.kind = kind
        self.flags = flags
        self.number = number
        self.detail = detail
        self.meta = meta
        self.tensors = tensors


def encode(
    kind: int,
    number: int,
    detail: int = 0,
    meta: bytes = b"",
    tensors: Sequence[Value] = _EMPTY,
    flags: int = 0,
    arena: Arena | None = None,
) -> list[Any]:
    """The buffers of a frame, in order.

    They alias the tensors: nobody may change those until they are sent.

    Args:
        arena: memory that the receiver shares: large tensors are copied there while it has room.

    Raises:
        InvalidArgumentError: what is to be sent is no tensor, such as the handle of a resource.
        ResourceExhaustedError: there is no memory for the copy that is sent.
    """
    if not tensors:
        return [HEADER.pack(kind, flags, 0, len(meta), number, detail, 0) + meta]
    if len(tensors) == 1:
        found = _SCALARS.get(type(tensors[0]))
        if found is not None:
            descriptor, size = found
            head_size = len(meta) + DESCRIPTOR.size
            return [
                HEADER.pack(kind, flags, 1, head_size, number, detail, size)
                + meta
                + descriptor
                + tensors[0].tobytes()
            ]
    head = bytearray(meta)
    total = 0
    payloads: list[Any] = []
    slots: list[int] = []
    value = None
    try:
        for value in tensors:
            dtype = dtypes.from_numpy(value.dtype)
            shape = value.shape
            if dtype is dtypes.string:
                data: Any = tensor_util.string_bytes(value)
                size = len(data)
            elif not shape:
                data = value.tobytes()
                size = len(data)
            else:
                size = value.nbytes
                if size <= SMALL_BYTES:
                    data = value.tobytes()
                elif (
                    arena is not None
                    and size >= SHARED_FROM_BYTES
                    and (place := arena.put(value)) is not None
                ):
                    head += DESCRIPTOR.pack(dtype.enum | _IN_SHARED_MEMORY, len(shape), size)
                    head += _DIMS[len(shape)].pack(*shape)
                    slots.append(place[0])
                    payloads.append(PLACE.pack(*place))
                    total += PLACE.size
                    continue
                else:
                    data = np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
            head += DESCRIPTOR.pack(dtype.enum, len(shape), size)
            if shape:
                head += _DIMS[len(shape)].pack(*shape)
            payloads.append(data)
            total += size
        header = HEADER.pack(kind, flags, len(payloads), len(head), number, detail, total)
        if total <= SMALL_BYTES:
            return [b"".join((header, head, *payloads))]
        return [header + head, *(p for p in payloads if len(p))]
    except Exception as e:
        if arena is not None:
            arena.take_back(slots)  # nobody will be sent where these are
        raise unsendable(value, e) from None


def unsendable(value: Any, error: Exception) -> errors.OpError:
    """The error for a value that cannot be sent: the one rule for all that is answered with values."""
    if isinstance(error, errors.OpError):
        return error
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(error, MemoryError):
        what = f"a {dtype} tensor of shape {list(shape or ())}"
        return errors.ResourceExhaustedError(None, None, f"Out of memory while {what} is sent: {error}")
    if shape is None or dtype is None:
        what = f"{type(value).__name__} is no tensor: a resource or a variant stays on the task that made it"
        return errors.InvalidArgumentError(None, None, f"A {what}, and cannot be fetched or sent.")
    what = f"A {dtype} tensor of shape {list(shape)} cannot be sent"
    return errors.InvalidArgumentError(None, None, f"{what}: {type(error).__name__}: {error}")


class FrameTooLarge(ValueError):
    """A frame over the reader's limits, or for which there is no memory.

    Attributes:
        kind, number: of the frame's header.
        head, payload: its sizes in bytes.
        left: how many of its bytes have not been read.
        reason: what there is no memory for, where it is not over the limits.
    """

    def __init__(
        self, kind: int, number: int, head: int, payload: int, left: int | None = None, reason: str = ""
    ) -> None:
        super().__init__(reason or f"a frame of {head + payload} bytes is over the limit")
        self.kind = kind
        self.number = number
        self.head = head
        self.payload = payload
        self.left = head + payload if left is None else left
        self.reason = reason


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
            return Frame(kind, flags, number, detail, b"", _EMPTY)
        try:
            try:
                head = self._bytes(head_size)
            except _NoMemory as e:
                reason = str(e) or f"Out of memory for a received message of {head_size} bytes"
                raise FrameTooLarge(kind, number, head_size, payload, e.unread + payload, reason) from None
            if not count:
                return Frame(kind, flags, number, detail, head, _EMPTY)
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
        if flags & _HAS_META:
            (meta_size,) = _META_SIZE.unpack_from(head, 0)
            meta = head[_META_SIZE.size : _META_SIZE.size + meta_size]
            offset = _META_SIZE.size + meta_size
        else:
            meta = b""
        tensors: list[Value] = []
        left = payload
        for _ in range(count):
            enum, rank, size = DESCRIPTOR.unpack_from(head, offset)
            offset += DESCRIPTOR.size
            dims: tuple[int, ...] = ()
            if rank:
                dims = _DIMS[rank].unpack_from(head, offset)
                offset += 8 * rank
            left -= PLACE.size if enum & _IN_SHARED_MEMORY else size
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
        if enum & _IN_SHARED_MEMORY:
            return self._borrow(dtypes.from_enum(enum & ~_IN_SHARED_MEMORY), dims, size)
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


_HAS_META = 128
_META_SIZE = struct.Struct("<I")


def encode_with_meta(
    kind: int,
    number: int,
    detail: int,
    meta: bytes,
    tensors: Sequence[Value],
    flags: int = 0,
    arena: Arena | None = None,
) -> list[Any]:
    """`encode` for frames that carry both a meta and tensors."""
    if not tensors:
        return encode(kind, number, detail, meta, flags=flags)
    return encode(kind, number, detail, _META_SIZE.pack(len(meta)) + meta, tensors, flags | _HAS_META, arena)


def encode_pushes(
    step_id: int, edges: Sequence[int], tensors: Sequence[Value], arena: Arena | None = None
) -> list[Any]:
    """The buffers of a PUSH, or of one PUSH_ALL for several tensors of a step."""
    if len(edges) == 1:
        return encode(Kind.PUSH, step_id, edges[0], b"", tensors, arena=arena)
    return encode_with_meta(Kind.PUSH_ALL, step_id, 0, struct.pack(f"<{len(edges)}Q", *edges), tensors)


def pushed_edges(frame: Frame) -> tuple[int, ...]:
    """The edges of a PUSH_ALL.

    Raises:
        ValueError: they are not as many as the tensors.
    """
    count = len(frame.tensors)
    if len(frame.meta) != 8 * count:
        raise ValueError(f"{len(frame.meta)} bytes do not name the edges of {count} tensors")
    return struct.unpack(f"<{count}Q", frame.meta)


def pack_error(error: errors.OpError) -> tuple[int, bytes]:
    """The code and text of an error, for an ERROR or ABORT frame."""
    return error.error_code, error.message.encode("utf-8", "backslashreplace")


def unpack_error(frame: Frame) -> errors.OpError:
    """The error that an ERROR or ABORT frame carries."""
    return errors.from_code(frame.detail, frame.meta.decode("utf-8", "replace"))
