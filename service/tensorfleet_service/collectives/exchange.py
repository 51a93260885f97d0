"""Exchange: the data of one collective whose tasks each send their tensor to all others.

It is the shortest way for two tasks, unless tensors are large, and for small tensors of a few tasks. Tensors
are cut into chunks, as those of a ring: while one is added, the next is on its way. All tasks merge in
the order of the ranks, so they get the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.wire.buffers import empty
from tensorfleet_service.collectives.call import Call
from tensorfleet_service.collectives.chunked import ChunkedRound, Send
from tensorfleet_service.collectives.ring import CHUNK_BYTES, MERGES, final

WINDOW = 8
"""Chunks that are sent before the first one of another task is here: few enough to stay in the caches."""

MOST_BYTES = 4 << 20
"""Size of a tensor up to which two tasks exchange theirs: for larger ones each adds less in a ring."""

MAX_TASKS = 8
"""Tasks up to which small tensors are exchanged, each of them by a message to every other."""

_INDEX_BITS = 32
_INDEX_MASK = (1 << _INDEX_BITS) - 1


def suits(call: Call, tasks: int) -> bool:
    """Whether so many tasks with a member each exchange their tensors; all of them decide the same."""
    if call.kind == "broadcast":
        return False
    return call.nbytes <= MOST_BYTES if tasks == 2 else call.is_small and tasks <= MAX_TASKS


class Exchange(ChunkedRound):
    """One collective on this task, whose member is the only one here; reductions and gatherings alone.

    Args:
        round_id: the number of the collective.
        call: the member's call.
        position, tasks: this task's rank, and the number of tasks.
        value: the member's tensor.
        send: sends a chunk to all other tasks: (round, chunk's number, array).
        finished: called once, when all chunks are there, by the thread that brings the last one.
    """

    def __init__(
        self,
        round_id: int,
        call: Call,
        position: int,
        tasks: int,
        value: Any,
        send: Send,
        finished: Callable[[Exchange], None],
    ) -> None:
        super().__init__(round_id, call, tasks, send, finished)
        self._position = position
        self._tasks = tasks
        self._value = value
        self._dtype = value.dtype
        self._size = int(value.size)
        length = max(CHUNK_BYTES // self._dtype.itemsize, 1)
        starts = range(0, self._size, length) if self._size else (0,)
        self._chunks = [(start, min(start + length, self._size)) for start in starts]
        self._parts: list[dict[int, Any]] = []
        self._missing = [0 if i == position else len(self._chunks) for i in range(tasks)]
        self._left = len(self._chunks) + 1  # one more for `begin`
        self._next = min(WINDOW, len(self._chunks))

    def begin(self) -> None:
        """Sends the first chunks, and takes those that have arrived meanwhile."""
        flat = np.ascontiguousarray(self._value).reshape(-1)
        self._value = None
        position, size = self._position, self._size
        self._parts = [{position: flat[start:stop]} for start, stop in self._chunks]
        reduces = self._call.kind == "reduce"
        self._out = empty((size if reduces else size * self._tasks,), self._dtype)
        if not reduces:
            self._out[size * position : size * (position + 1)] = flat
        for i in range(min(WINDOW, len(self._chunks))):
            self._send_chunk(i)
        self._take_arrived()

    def _send_chunk(self, index: int) -> None:
        part = self._parts[index][self._position]
        self._send(self.round_id, self._position << _INDEX_BITS | index, part)

    def needs(self, position: int) -> bool:
        """Whether something of the task at this position is still to come."""
        return bool(self._missing[position])

    def _take(self, number: int, array: Any) -> None:
        position, index = number >> _INDEX_BITS, number & _INDEX_MASK
        title = self._call.title
        if position >= self._tasks or index >= len(self._chunks):
            raise errors.InternalError(None, None, f"{title} has no chunk {index} of a task {position}")
        start, stop = self._chunks[index]
        if array.shape != (stop - start,) or array.dtype != self._dtype:
            text = f"Chunk {index} of {title} is {array.dtype}{list(array.shape)}"
            raise errors.InternalError(None, None, f"{text}, not {self._dtype}[{stop - start}]")
        with self._lock:
            if self._ended:
                return
            parts = self._parts[index]
            if position in parts:
                raise errors.InternalError(None, None, f"Chunk {index} of {title} has come twice")
            parts[position] = array
            self._missing[position] -= 1
            if len(parts) < self._tasks:
                return
            following = self._next
            self._next = following + 1
        # All parts of this chunk are here, which happens once: nobody else writes this part of the result.
        self._merge(start, stop, parts)
        del array
        if following < len(self._chunks):
            self._send_chunk(following)
        self._count()

    def _merge(self, start: int, stop: int, parts: dict[int, Any]) -> None:
        if self._call.kind == "reduce":
            out = self._out[start:stop]
            merge = MERGES[self._call.merge_op]
            merge(parts[0], parts[1], out=out)
            for position in range(2, self._tasks):
                merge(out, parts[position], out=out)
            final(self._call, out, self._tasks)
        else:
            for position, part in parts.items():
                if position != self._position:
                    begin = self._size * position
                    self._out[begin + start : begin + stop] = part
        if len(self._chunks) > 1:
            for position in range(self._tasks):
                if position != self._position:
                    parts[position] = None  # gives back the memory that it came in
