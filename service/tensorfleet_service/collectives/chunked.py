"""ChunkedRound: the data of one collective, in chunks: what a Ring and an Exchange have in common."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

from tensorfleet_service.collectives.call import Call

Send: TypeAlias = Callable[[int, int, Any], None]
"""Sends a chunk to the other tasks that need it: (round, chunk's number, array)."""


class ChunkedRound(ABC):
    """One collective on this task, whose chunks any thread may bring, in any order.

    A subclass sets `_out`, the flat memory of the result, and `_left`, the number of chunks to come and one
    more for `begin`, before it calls `_take_arrived`.

    Args:
        round_id: the number of the collective.
        call: the call of a member; all agree on it.
        members: the number of all members.
        finished: called once, when all chunks are there, by the thread that brings the last one.
    """

    def __init__(
        self,
        round_id: int,
        call: Call,
        members: int,
        send: Send,
        finished: Callable[[Any], None],
    ) -> None:
        self.round_id = round_id
        self._call = call
        self._members = members
        self._send = send
        self._finished = finished
        self._lock = threading.Lock()
        self._begun = False
        self._ended = False
        self._backlog: list[tuple[int, Any]] = []
        self._left = 0
        self._out: Any = None

    @abstractmethod
    def begin(self) -> None:
        """Sends the first chunks, and takes those that have arrived meanwhile.

        Memory for the result is taken here, as a round is made under a lock of the task.
        """

    @abstractmethod
    def needs(self, position: int) -> bool:
        """Whether something may still come from the task at this position."""

    def receive(self, number: int, array: Any) -> None:
        """Takes a chunk of another task, now or when the round begins; none of a round that has ended.

        Raises:
            InternalError: it does not belong to this collective.
        """
        with self._lock:
            if self._ended:
                return
            if not self._begun:
                self._backlog.append((number, array))
                return
        self._take(number, array)

    @abstractmethod
    def _take(self, number: int, array: Any) -> None:
        """Takes a chunk of a round that has begun; see `receive`."""

    def _take_arrived(self) -> None:
        """Takes the chunks that have come before; from now on they are taken as they come."""
        with self._lock:
            self._begun = True
            backlog, self._backlog = self._backlog, []
        for number, array in backlog:
            self._take(number, array)
        self._count()

    def _count(self) -> None:
        """Notes that a chunk is done, or `begin`."""
        with self._lock:
            self._left -= 1
            if self._left or self._ended:
                return
            self._ended = True
        self._finished(self)

    def end(self) -> None:
        """Ends the round: it takes no more chunks, and has no result."""
        with self._lock:
            self._ended = True
            self._backlog.clear()

    @property
    def result(self) -> Any:
        """The result, which all members of the task share; available once `finished` was called."""
        shape = self._call.result_shape(self._members)
        result = self._out.reshape(shape)
        return result if shape else result[()]
