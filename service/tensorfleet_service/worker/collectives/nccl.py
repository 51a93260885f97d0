"""Collectives among GPUs by NCCL, in place of the ring through the hosts' memory.

The leader begins a round as any other, and adds the communicator's id if every member is on a GPU of its own
and has NCCL.

A round is complete when its work on the GPU is: NCCL's kernels wait for the other members, and if one is lost
they would wait for good. The end of a round (`end`) aborts its communicators, which ends those kernels; the
leader then gives the group another id.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet_service.collectives.device_value import DeviceValue, library

if TYPE_CHECKING:
    from tensorfleet_service.collectives.call import Call

log = logging.getLogger(__name__)

_OPS = {"Add": "NCCL_SUM", "Mul": "NCCL_PROD", "Max": "NCCL_MAX", "Min": "NCCL_MIN"}
_TYPES = {
    **dict(float16="NCCL_HALF", float32="NCCL_FLOAT", float64="NCCL_DOUBLE"),
    **dict(int8="NCCL_INT8", uint8="NCCL_UINT8", int32="NCCL_INT32", uint32="NCCL_UINT32"),
    **dict(int64="NCCL_INT64", uint64="NCCL_UINT64"),
}
_FIRST_WAIT, _LONGEST_WAIT = 20e-6, 1e-3
"""Seconds between two looks at a round's event."""


def serves(calls: Sequence[Call]) -> bool:
    """Whether NCCL can run a collective: each member on another GPU, with NCCL, and of its dtypes."""
    gpus = [call.gpu for call in calls]
    first = calls[0]
    return (
        all(gpus)
        and len(set(gpus)) == len(gpus)
        and first.dtype in _TYPES
        and (first.kind != "reduce" or first.merge_op in _OPS)
    )


def new_id() -> str | None:
    """The id of a new communicator; None where this process has no NCCL."""
    nccl = library()
    return None if nccl is None else bytes(nccl.get_unique_id()).hex()


class Communicator:
    """One member's part of a group's communicator, kept by its `Group` from round to round."""

    __slots__ = ("_lock", "comm", "id", "rank", "stream")

    def __init__(self, xp: Any, id: str, size: int, rank: int) -> None:
        self._lock = threading.Lock()  # of the library's communicator, which `abort` frees
        self.id = id
        self.rank = rank
        self.comm = library().NcclCommunicator(size, bytes.fromhex(id), rank)
        self.stream = xp.cuda.Stream(non_blocking=True)

    def check(self) -> None:
        """Raises what has gone wrong on the GPU, unless the communicator is aborted."""
        if self._lock.acquire(blocking=False):
            try:
                if self.comm is not None:
                    self.comm.check_async_error()
            finally:
                self._lock.release()

    def abort(self) -> None:
        """Ends what the communicator does on the GPU, so that nothing there waits for lost members."""
        with self._lock:
            comm, self.comm = self.comm, None
            if comm is not None:
                comm.abort()


def _give_up(comm: Communicator) -> None:
    try:
        comm.abort()
    except Exception as e:
        log.warning("a communicator could not be aborted: %s", e)


class NcclRound:
    """A round among GPUs, with the methods of a `Ring` that its task calls.

    Args:
        members: of each own member: its call, its value, its rank, and the record of its group.
        id: of the communicator.
        size: the number of all members.
        source: the rank of a broadcast's sender.
        finished: called with this when the results are there.
    """

    def __init__(
        self,
        round_id: int,
        members: Sequence[tuple[Call, DeviceValue, int, Any]],
        id: str,
        size: int,
        source: int,
        finished: Callable[[NcclRound], None],
    ) -> None:
        self.round_id = round_id
        self._members = members
        self._id = id
        self._size = size
        self._source = source
        self._finished = finished
        self._ended = threading.Event()
        self._aborts_itself = False
        self._lock = threading.Lock()
        self._comms: list[Communicator] = []
        self._outputs: list[Any] = []  # which NCCL may write to until it is aborted
        self.results: list[Any] = []
        """The result of each of the task's members, on its GPU."""
        self.connecting = False
        self.when_ended: Callable[[NcclRound], None] | None = None
        """Called by `end`."""

    def run(self) -> None:
        """Runs the round, on the thread of `GpuRounds`. Raises what NCCL and CUDA raise."""
        with self._lock:
            if self._ended.is_set():
                return
            self.connecting = True
        try:
            comms = self._connect()
        finally:
            self.connecting = False
        replaced = []
        with self._lock:
            self._comms = comms
            ended = self._ended.is_set()
            if not ended:
                for (*_, group), comm in zip(self._members, comms, strict=True):
                    replaced.append(group.communicator)
                    group.communicator = comm
        for earlier in replaced:
            if earlier is not None and earlier not in comms:
                _give_up(earlier)  # its other members may be gone, for which its destructor would wait
        if ended:
            self._abort()
            return
        nccl = library()
        nccl.groupStart()
        try:
            for member, comm in zip(self._members, comms, strict=True):
                self._queue(*member, comm)
        finally:
            nccl.groupEnd()
        events = []
        for (_, value, *_), comm in zip(self._members, comms, strict=True):
            with value.device:
                events.append(comm.stream.record())
        if self._wait(events, comms):
            self.results = [
                self._final(call, value, out)
                for (call, value, *_), out in zip(self._members, self._outputs, strict=True)
            ]
            self._finished(self)
        elif self._aborts_itself:
            self._abort()

    def _connect(self) -> list[Communicator]:
        """The members' communicators: those of the last round, if that had the same id."""
        found = [group.communicator for *_, group in self._members]
        if all(comm is not None and comm.id == self._id and comm.comm is not None for comm in found):
            return found
        nccl = library()
        made = []
        nccl.groupStart()
        try:
            for _, value, rank, _ in self._members:
                with value.device:
                    made.append(Communicator(value.xp, self._id, self._size, rank))
        finally:
            nccl.groupEnd()
        return made

    def _queue(self, call: Call, value: DeviceValue, rank: int, group: Any, comm: Communicator) -> None:
        """Queues a member's part, and notes its output."""
        xp, nccl = value.xp, library()
        with value.device, value.stream:
            shape = call.result_shape(self._size)
            # In memory of the stream that will use it, which may still have work for that memory.
            sent: Any = value.array
            out = sent if call.kind == "broadcast" and call.sends else xp.empty(shape, call.dtype)
            self._outputs.append(out)
            comm.stream.wait_event(value.stream.record())
            dtype, count = getattr(nccl, _TYPES[call.dtype]), out.size
            pointer = out.data.ptr
            stream = comm.stream.ptr
            if call.kind == "reduce":
                op = getattr(nccl, _OPS[call.merge_op])
                comm.comm.allReduce(sent.data.ptr, pointer, count, dtype, op, stream)
            elif call.kind == "gather":
                comm.comm.allGather(sent.data.ptr, pointer, sent.size, dtype, stream)
            else:
                comm.comm.broadcast(pointer, pointer, count, dtype, self._source, stream)

    def _wait(self, events: Sequence[Any], comms: Sequence[Communicator]) -> bool:
        """Waits until the GPU has done the round's work; False if the round ends before."""
        pause = _FIRST_WAIT
        left = deque(zip(events, comms, strict=True))
        while left:
            event, comm = left[0]
            if event.done:
                left.popleft()
                continue
            if self._ended.wait(pause):
                return False
            pause = min(2 * pause, _LONGEST_WAIT)
            comm.check()
        return not self._ended.is_set()

    def _final(self, call: Call, value: DeviceValue, out: Any) -> Any:
        if call.final_op != "Div":
            return out
        with value.device, value.stream:
            if out.dtype.kind == "f":
                out /= self._size
                return out
            if out.dtype.kind == "u":
                return out // self._size
            # Towards zero, as on the ring.
            return value.xp.sign(out) * (value.xp.abs(out) // self._size)

    def needs(self, position: int) -> bool:
        """Whether something may still come from the task at this position: NCCL does not say from whom."""
        return True

    def receive(self, number: int, array: Any) -> None:
        raise ValueError("a chunk came for a collective of GPUs")

    def end(self) -> None:
        """Ends the round: nobody will have its results."""
        with self._lock:
            if self._comms and not self.results:
                # Beside the caller, who holds a lock: it waits for the GPU.
                try:
                    threading.Thread(target=self._abort, name="nccl abort", daemon=True).start()
                except (RuntimeError, MemoryError) as e:
                    log.warning("no thread to abort a communicator; later collectives wait for it: %s", e)
                    self._aborts_itself = True
            self._ended.set()
        if self.when_ended is not None:
            self.when_ended(self)

    def _abort(self) -> None:
        with self._lock:  # of memory alone: whoever ends a round holds the lock of all
            comms = list(self._comms)
        for comm in comms:
            _give_up(comm)
        self._outputs.clear()
