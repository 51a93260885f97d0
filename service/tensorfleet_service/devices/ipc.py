"""Tensors between GPUs of two processes of one machine, by CUDA's handles of memory (IPC).

The sender has a few chunks of GPU memory for each task that it sends to. It tells the other process the
handle of a chunk, once; that one opens it, or refuses (other containers, GPUs that cannot reach each other),
and then tensors go through the host's memory. A tensor is copied into a place of a chunk, and the frame says
where it is. The receiver queues a copy into memory of its own, and gives the place back once that is done.

So what is shared is neither freed nor reused while the other process may read it. Chunks live as long as the
task: where a connection is lost, its chunks serve the next one to the same task, as the other process may be
stopped with the memory still open.

    of a tensor: chunk u64, begin u64, dtype u8, rank u8, then rank times u64   (little endian)
"""

from __future__ import annotations

import logging
import struct
import threading
import weakref
from bisect import insort
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from math import prod
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.environment import integer
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.devices.scope import Outgoing, Scope, Shared

log = logging.getLogger(__name__)

LIMIT = integer("TENSORFLEET_CUDA_IPC_MB", 256) << 20
"""Bytes of a GPU's memory for tensors on their way to one other task; 0: all go through the host's memory."""

HANDLE_BYTES = 64
_CHUNK_BYTES = 32 << 20
_ALIGNED = 512
_MAX_CHUNKS = 64
"""The largest number of chunks that are opened of one task."""
_PLACE = struct.Struct("<QQBB")
_OFFER = struct.Struct("<QQ")


class Verb(IntEnum):
    """What a frame of kind GPU says; its number is that of the chunk, which the sender of tensors chooses."""

    OFFER = 1  # meta: the receiver's GPU u64, the size u64, the handle
    OPENED = 2
    REFUSED = 3  # meta: why
    FREE = 4  # meta: the places, each by its first byte, u64


Send = Callable[[Verb, int, bytes], None]
"""Sends a frame of kind GPU."""


class Chunk:
    """Memory of a GPU that another process opens.

    Attributes:
        array: its bytes.
        number: by which the receiver knows it.
        opened: whether the receiver says so.
        writers: how many tensors are being copied into it.
    """

    __slots__ = ("_lent", "array", "gpu", "handle", "number", "opened", "target", "writers")

    def __init__(self, xp: Any, gpu: int, target: int, size: int) -> None:
        # Memory of its own, not of the pool: the pool frees what it has when memory runs out.
        memory = xp.cuda.Memory(size)
        self.array = xp.ndarray(size, "u1", xp.cuda.MemoryPointer(memory, 0))
        self.handle = bytes(xp.cuda.runtime.ipcGetMemHandle(memory.ptr))
        self.gpu = gpu
        self.target = target
        self.number = 0
        self.opened = False
        self.writers = 0
        self._lent: list[tuple[int, int]] = []

    def take(self, size: int) -> int | None:
        """The begin of a free place; None where there is none."""
        size = -(-size // _ALIGNED) * _ALIGNED
        begin = 0
        for taken, end in self._lent:
            if taken - begin >= size:
                break
            begin = end
        if begin + size > self.array.size:
            return None
        insort(self._lent, (begin, begin + size))
        return begin

    def free(self, begin: int) -> None:
        """Takes a place back. Raises ValueError if it is not lent."""
        found = next((place for place in self._lent if place[0] == begin), None)
        if found is None:
            raise ValueError(f"the place at {begin} of a GPU's chunk is not lent")
        self._lent.remove(found)

    def reset(self, number: int) -> None:
        """Makes it a chunk of another connection."""
        self.number = number
        self.opened = False
        self._lent.clear()

    @property
    def lent(self) -> int:
        """The number of bytes that the receiver has."""
        return sum(end - begin for begin, end in self._lent)


class Exports:
    """What one connection's sender has of GPU memory for the other side.

    Args:
        send: sends a frame about chunks.
        stock: the chunks of earlier connections to the same task.
        traffic: where the tensors are counted.
    """

    def __init__(self, send: Send, stock: list[Chunk], traffic: Traffic) -> None:
        self._send = send
        self._traffic = traffic
        self._stock = stock
        self._lock = threading.Lock()
        self._chunks: dict[int, Chunk] = {}
        self._numbers = 0
        self._refused = not LIMIT
        self._offering = False
        self._closed = False

    def put(self, value: Outgoing) -> bytes | None:
        """Copies a tensor into a chunk, and waits until it is there.

        Returns:
            Where it is, for the receiver; None where it has to go through the host's memory.
        """
        array = value.array
        with self._lock:
            if self._refused:
                return None
            place = self._place(value, array.nbytes)
            if place is not None:
                place[0].writers += 1
            wants = place is None and self._held(value) + array.nbytes <= LIMIT
        if place is None:
            if wants:
                self._offer(value, array.nbytes)
            return None
        chunk, begin = place
        is_there = False
        try:
            own = chunk.array[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
            own[...] = array
            value.wait()
            is_there = True
        finally:
            self._written(chunk, None if is_there else begin)
        self._traffic.sent += 1
        self._traffic.sent_bytes += array.nbytes
        dtype = dtypes.from_numpy(array.dtype)
        head = _PLACE.pack(chunk.number, begin, dtype.enum, array.ndim)
        return head + struct.pack(f"<{array.ndim}Q", *array.shape)

    def _written(self, chunk: Chunk, unused: int | None) -> None:
        """Ends the writing of a tensor; nobody else gives back a place that is unused after an error."""
        with self._lock:
            chunk.writers -= 1
            if unused is not None:
                chunk.free(unused)
            if self._closed and not chunk.writers:
                self._stock.append(chunk)

    def _place(self, value: Outgoing, size: int) -> tuple[Chunk, int] | None:
        for chunk in self._chunks.values():
            if chunk.opened and (chunk.gpu, chunk.target) == (value.gpu, value.target):
                begin = chunk.take(size)
                if begin is not None:
                    return chunk, begin
        return None

    def _held(self, value: Outgoing) -> int:
        return sum(chunk.array.size for chunk in self._chunks.values() if chunk.gpu == value.gpu)

    def _offer(self, value: Outgoing, size: int) -> None:
        """Tells the receiver of another chunk; tensors go through it once that one has opened it."""
        with self._lock:
            if self._refused or self._offering or any(not chunk.opened for chunk in self._chunks.values()):
                return  # one after the other: the first one tells whether there can be any
            chunk = self._from_stock(value, size)
            # The first tensor of its size decides; later ones of a step find room for a second one.
            most = LIMIT - self._held(value)
            if chunk is None and (len(self._chunks) >= _MAX_CHUNKS or size > most):
                return
            self._offering = True
        try:
            if chunk is None:
                chunk = self._new(value, min(max(_CHUNK_BYTES, 2 * size), most))
        finally:
            number = self._offered(chunk)
        if chunk is not None and number:
            self._send(Verb.OFFER, number, _OFFER.pack(value.target, chunk.array.size) + chunk.handle)

    def _new(self, value: Outgoing, size: int) -> Chunk | None:
        """A new chunk, made without the lock, as the driver takes its time; None if the GPU has no memory."""
        xp = value.xp
        try:
            return Chunk(xp, value.gpu, value.target, size)
        except (xp.cuda.memory.OutOfMemoryError, xp.cuda.runtime.CUDARuntimeError) as e:
            log.info("tensors of GPU %d go through the host's memory: %s", value.gpu, e)
            return None

    def _offered(self, chunk: Chunk | None) -> int:
        """Notes a chunk that is offered now, and returns its number; 0 if none can be."""
        with self._lock:
            self._offering = False
            if chunk is None:
                self._refused = True
            elif self._closed:
                self._stock.append(chunk)
            else:
                self._numbers += 1
                chunk.reset(self._numbers)
                self._chunks[chunk.number] = chunk
                return chunk.number
            return 0

    def _from_stock(self, value: Outgoing, size: int) -> Chunk | None:
        for chunk in list(self._stock):
            if (chunk.gpu, chunk.target) == (value.gpu, value.target) and chunk.array.size >= size:
                try:
                    self._stock.remove(chunk)
                except ValueError:
                    continue  # another connection to the same task has taken it
                return chunk
        return None

    def answered(self, verb: int, number: int, meta: bytes) -> None:
        """Handles what the receiver says. Raises ValueError if it speaks of what it was not given."""
        with self._lock:
            chunk = self._chunks.get(number)
            if chunk is None:
                raise ValueError(f"a message about chunk {number} of a GPU, which was not offered")
            if verb == Verb.OPENED:
                chunk.opened = True
            elif verb == Verb.REFUSED:
                self._refused = True
                why = meta.decode("utf-8", "replace")[:500]
                log.info("tensors of GPU %d go through the host's memory: %s", chunk.gpu, why)
            else:
                if verb != Verb.FREE or len(meta) % 8:
                    raise ValueError(f"a message about a GPU's memory of kind {verb}, {len(meta)} bytes")
                for begin in struct.unpack(f"<{len(meta) // 8}Q", meta):
                    chunk.free(begin)

    @property
    def lent(self) -> int:
        """The number of bytes that the receiver has."""
        with self._lock:
            return sum(chunk.lent for chunk in self._chunks.values())

    def close(self) -> None:
        """Keeps the chunks for the next connection: this one's receiver may still read them.

        Those that are still written to follow when that is done.
        """
        with self._lock:
            self._refused = self._closed = True
            self._stock += [chunk for chunk in self._chunks.values() if not chunk.writers]
            self._chunks.clear()


class _Opened:
    """Another process's chunk, as long as something refers to it."""

    __slots__ = ("__weakref__", "gpu", "pointer", "size")

    def __init__(self, xp: Any, gpu: int, handle: bytes, size: int) -> None:
        self.pointer = xp.cuda.runtime.ipcOpenMemHandle(handle)
        self.size = size
        self.gpu = gpu
        weakref.finalize(self, _close, xp, gpu, self.pointer).atexit = False


def _close(xp: Any, gpu: int, pointer: int) -> None:
    with xp.cuda.Device(gpu):
        xp.cuda.runtime.ipcCloseMemHandle(pointer)


class Imports:
    """What one connection's receiver has opened of the other side's GPU memory."""

    def __init__(self, send: Send, traffic: Traffic) -> None:
        self._send = send
        self._traffic = traffic
        self._chunks: dict[int, tuple[_Opened, Scope]] = {}
        self._pending: deque[tuple[Any, Arrived]] = deque()
        """The copies that are queued, with the events that follow them."""
        self._read: deque[tuple[int, int]] = deque()
        """The places, by chunk and begin, that nothing here reads any more."""
        self._closed = False

    def open(self, number: int, meta: bytes, scopes: Callable[[int], Scope | None]) -> None:
        """Opens a chunk that was offered, or refuses it."""
        try:
            target, size = _OFFER.unpack_from(meta)
            handle = meta[_OFFER.size :]
            scope = scopes(target)
            if len(handle) != HANDLE_BYTES or scope is None or len(self._chunks) >= _MAX_CHUNKS:
                self._send(Verb.REFUSED, number, b"the receiver cannot have such a chunk")
                return
            with scope:
                opened = _Opened(scope.xp, scope.number, handle, size)
        except Exception as e:  # the driver's errors are many: in all of them the host's memory serves
            self._send(Verb.REFUSED, number, f"the receiver cannot open it: {e}".encode())
            return
        self._chunks[number] = opened, scope
        self._send(Verb.OPENED, number, b"")

    def arrived(self, meta: bytes) -> Arrived:
        """The tensor that a frame tells of. Raises ValueError where it lies in no chunk that was opened."""
        try:
            number, begin, enum, rank = _PLACE.unpack_from(meta)
            shape = struct.unpack(f"<{rank}Q", meta[_PLACE.size :])
            dtype = dtypes.from_enum(enum).np
        except (struct.error, TypeError) as e:
            raise ValueError(f"a frame does not say where its tensor is: {e}") from None
        found = self._chunks.get(number)
        if found is None or dtype is None or dtype.hasobject:
            raise ValueError(f"a tensor of type {enum} cannot lie in chunk {number} of a GPU")
        opened, scope = found
        size = prod(shape) * dtype.itemsize
        if begin + size > opened.size or begin % _ALIGNED:
            raise ValueError(f"{size} bytes at {begin} are outside of chunk {number} of a GPU")
        self._traffic.received += 1
        self._traffic.received_bytes += size
        return Arrived(self, opened, scope, number, begin, dtype, shape)

    def copied(self, event: Any, value: Arrived) -> None:
        """Notes that a copy is queued, and gives back the places of those that are done."""
        self._pending.append((event, value))
        self.give_back()

    def give_back(self) -> None:
        """Tells the sender of the places that are not read any more."""
        while self._pending:
            try:
                first = self._pending.popleft()
            except IndexError:
                break  # another thread has taken it
            if not first[0].done:
                self._pending.appendleft(first)
                break
            del first  # notes its place
        places: dict[int, list[int]] = {}
        while self._read:
            try:
                number, begin = self._read.popleft()
            except IndexError:
                break
            places.setdefault(number, []).append(begin)
        if not self._closed:
            for number, begins in places.items():
                self._send(Verb.FREE, number, struct.pack(f"<{len(begins)}Q", *begins))

    def read(self, number: int, begin: int) -> None:
        """Notes a place that is not read any more; may be called anywhere, with any lock held."""
        self._read.append((number, begin))

    def close(self) -> None:
        """Closes the chunks, each when the copies out of it are done; waits for those."""
        self._closed = True
        self._chunks.clear()
        while self._pending:
            event, value = self._pending.popleft()
            event.synchronize()
            del value


class Arrived(Shared):
    """A tensor that lies in another process's chunk."""

    __slots__ = ("_begin", "_dtype", "_imports", "_number", "_opened", "_scope", "_shape")

    def __init__(
        self,
        imports: Imports,
        opened: _Opened,
        scope: Scope,
        number: int,
        begin: int,
        dtype: Any,
        shape: tuple[int, ...],
    ) -> None:
        self._imports = imports
        self._opened = opened
        self._scope = scope
        self._number = number
        self._begin = begin
        self._dtype = dtype
        self._shape = shape

    def take(self) -> Any:
        """The tensor in memory of this process, copied on the stream that is current."""
        opened, xp = self._opened, self._scope.xp
        memory = xp.cuda.UnownedMemory(opened.pointer, opened.size, opened, opened.gpu)
        place = xp.cuda.MemoryPointer(memory, self._begin)
        found = xp.ndarray(self._shape, self._dtype, place).copy()
        self._imports.copied(xp.cuda.get_current_stream().record(), self)
        return found

    def __del__(self) -> None:
        self._imports.read(self._number, self._begin)
