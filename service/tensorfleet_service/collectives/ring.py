"""Ring: the data of one collective on one task.

The tasks of the group form a ring, in the order of their names, and each sends only to the next. A tensor is
cut into chunks of at most CHUNK_BYTES that travel independently: while one is added, the next is received and
the one before is sent.

A reduction cuts the tensor into as many segments as there are tasks. The chunks of segment i start at task i,
and every task on their way adds its own part; the task before i is the last, and has the result, which goes
once more around the ring. So each element is added up in one order, and all tasks get the same bits. A
gathered tensor has a segment for each task, and a broadcast one is a single segment of the sender's.

Invariant: a chunk is written by one thread, once. So only the number of remaining chunks needs a lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import errors
from tensorfleet.wire.buffers import empty
from tensorfleet_service.collectives.call import Call
from tensorfleet_service.collectives.chunked import ChunkedRound, Send

CHUNK_BYTES = 1 << 20

_REDUCED, _FINAL = 0, 1  # the kinds of chunks: a partial sum, or a part of the result
_PHASE_BITS = 1

MERGES: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Mul": np.multiply,
    "Min": np.minimum,
    "Max": np.maximum,
}


def combine(call: Call, values: list[Any]) -> Any:
    """The result of a collective whose tensors are all here, in the order of the ranks; see `Ring`."""
    ring = Ring(0, call, 0, [len(values)], 0, values, _never, _never)
    ring.begin()
    return ring.result


def _never(*arguments: Any) -> None:
    """For a ring of one task, which sends nothing."""


def final(call: Call, array: Any, members: int) -> None:
    """Does what is left of a reduction over so many members, in place."""
    if call.final_op != "Div":
        return
    size = array.dtype.type(members)
    if array.dtype.kind != "i":
        np.divide(array, size, out=array)
        return
    quotient = array // size  # towards zero, as integers are divided in TensorFlow's Div
    np.add(quotient, (array < 0) & (quotient * size != array), out=array)


class _Chunk(NamedTuple):
    start: int
    stop: int
    segment: int


class Ring(ChunkedRound):
    """One collective on this task.

    Args:
        round_id: the leader's number of the collective.
        call: the call of one member; all agree on it.
        position, counts: this task's position in the ring, and the number of members of each task.
        source: the position of the task with the sender of a broadcast.
        values: the tensors of this task's members in the order of their ranks; None for those that receive.
        send: sends a chunk to the next task: (round, chunk's number, array).
        finished: called once, when all chunks are there, by the thread that brings the last one.
    """

    def __init__(
        self,
        round_id: int,
        call: Call,
        position: int,
        counts: Sequence[int],
        source: int,
        values: list[Any],
        send: Send,
        finished: Callable[[Ring], None],
    ) -> None:
        super().__init__(round_id, call, sum(counts), send, finished)
        self._position = position
        self._counts = counts
        self._source = source
        self._values = values
        self._own: Any = None
        self._origins: list[int] = []
        self._chunks: list[_Chunk] = []

    def begin(self) -> None:
        """Sends the chunks that start at this task, and processes those that have arrived meanwhile."""
        members, tasks, call = self._members, len(self._counts), self._call
        values = [
            None if value is None else np.ascontiguousarray(value).reshape(-1) for value in self._values
        ]
        self._values = []
        size = int(np.prod(call.shape, dtype=np.int64))
        if call.kind == "reduce":
            self._own = self._sum(values)
            self._out = empty((size,), self._own.dtype)
            bounds = [size * i // tasks for i in range(tasks + 1)]
            # The last task to add to a segment is the first to have the result.
            self._origins = [(i - 1) % tasks for i in range(tasks)]
        elif call.kind == "gather":
            self._out = empty((size * members,), values[0].dtype)  # type: ignore[union-attr]
            ranks = [sum(self._counts[:i]) for i in range(tasks + 1)]
            bounds = [size * rank for rank in ranks]
            self._origins = list(range(tasks))
            for i, value in enumerate(values, ranks[self._position]):
                self._out[size * i : size * (i + 1)] = value
        else:
            sent = next((value for value in values if value is not None), None)
            self._out = empty((size,), call.dtype) if sent is None else sent
            bounds = [0, size]
            self._origins = [self._source]
        self._cut(bounds)
        self._begin_sending(tasks)

    def _sum(self, values: list[Any]) -> Any:
        """This task's part of a reduction, in the order of the ranks."""
        own = values[0]
        merge = MERGES[self._call.merge_op]
        for i, value in enumerate(values[1:]):
            own = merge(own, value, out=own) if i else merge(own, value)
        return own

    def _cut(self, bounds: list[int]) -> None:
        length = max(CHUNK_BYTES // self._out.dtype.itemsize, 1)
        self._chunks = [
            _Chunk(start, min(start + length, bounds[segment + 1]), segment)
            for segment in range(len(self._origins))
            for start in range(bounds[segment], bounds[segment + 1], length)
        ]

    def _begin_sending(self, tasks: int) -> None:
        reduces = self._call.kind == "reduce"
        if tasks == 1:
            if reduces:
                self._out[:] = self._own
                final(self._call, self._out, self._members)
            chunks: list[int] = []
            first: list[int] = []
        else:
            here = [self._origins[chunk.segment] == self._position for chunk in self._chunks]
            chunks = [i for i, mine in enumerate(here) if reduces or not mine]
            if reduces:
                first = [i for i, chunk in enumerate(self._chunks) if chunk.segment == self._position]
            else:
                first = [i for i, mine in enumerate(here) if mine]
        self._left = len(chunks) + 1  # one more for this call itself
        phase, data = (_REDUCED, self._own) if reduces else (_FINAL, self._out)
        for i in first:
            start, stop, _ = self._chunks[i]
            self._send(self.round_id, i << _PHASE_BITS | phase, data[start:stop])
        self._take_arrived()

    def needs(self, position: int) -> bool:
        """Whether something may still come from the task at this position."""
        return position == (self._position - 1) % len(self._counts)

    def _take(self, number: int, array: Any) -> None:
        index, phase = number >> _PHASE_BITS, number & 1
        if index >= len(self._chunks):
            raise errors.InternalError(None, None, f"{self._call.title} has no chunk {index}")
        start, stop, segment = self._chunks[index]
        if array.shape != (stop - start,) or array.dtype != self._out.dtype:
            raise errors.InternalError(
                None, None, f"Chunk {index} of {self._call.title} is {array.dtype}{list(array.shape)}"
            )
        origin = self._origins[segment]
        if phase == _REDUCED:
            # Nobody else has the received array, so the sum is written into it.
            merge = MERGES[self._call.merge_op]
            if origin != self._position:
                self._send(self.round_id, number, merge(array, self._own[start:stop], out=array))
                return
            merge(array, self._own[start:stop], out=self._out[start:stop])
            array = self._out[start:stop]
            final(self._call, array, self._members)
        else:
            self._out[start:stop] = array
        if (self._position + 1) % len(self._counts) != origin:
            self._send(self.round_id, index << _PHASE_BITS | _FINAL, array)
        self._count()
