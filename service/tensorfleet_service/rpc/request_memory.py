"""Admission of requests by gRPC: by its size, a request is received at once, waits, or is refused.

gRPC allocates memory for incoming messages, and ends the process if that fails. So a request that may be
large is not read before there is room for it within the memory budget; until then HTTP/2 holds its sender
back.

Clients and tasks of TensorFleet state the size of a request (`tensorfleet.wire.sizes`). The size of one of
TensorFlow's is not known before it is there: it counts as the largest that is allowed, and is received after
a moment if there is no other.

A caller whose request does not come keeps its room only until others have waited for it for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from typing import Any

from tensorfleet.core import errors
from tensorfleet.wire.sizes import SIZE, SMALL
from tensorfleet_service.devices import memory
from tensorfleet_service.net import limits, timeouts

COPIES = 3
"""Number of copies of a request in memory, at most, until its values are arrays."""

COPIES_ALONE = 2
"""Number of copies, gRPC's and Python's, for which a single request needs room: later ones may fail."""


class Ticket:
    """The room for one request, until it is released."""

    __slots__ = ("_bytes", "_memory")

    def __init__(self, taken_of: RequestMemory, size: int) -> None:
        self._memory = taken_of
        self._bytes = size

    def release(self) -> None:
        """Gives the room back, from any thread; has no effect the second time."""
        if self._bytes:
            self._memory._release(self)


class RequestMemory:
    """The memory for requests that are being received.

    Args:
        largest: size in bytes of the largest request that gRPC accepts; -1: that of any message.
        budget: the memory budget of the process.
    """

    def __init__(self, largest: int, budget: memory.Budget = memory.BUDGET) -> None:
        self._budget = budget
        self._largest = limits.MAX_MESSAGE_BYTES if largest < 0 else largest
        self._lock = threading.Lock()
        self._reserved = 0
        self._unchecked_until = 0.0
        self._waiting: deque[asyncio.Event] = deque()
        self._receiving: dict[asyncio.Timeout, float] = {}  # the start of each, by the loop's clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._nothing = Ticket(self, 0)

    async def take(self, context: Any) -> Ticket:
        """Waits for room for a call's request, which the caller has to release.

        Raises:
            ResourceExhaustedError: there is no room in time, or even without other requests.
        """
        if self._budget.limit is None:
            return self._nothing
        for key, value in context.invocation_metadata():
            if key == SIZE:
                if value == SMALL:
                    return self._nothing
                if value.isascii() and value.isdigit():
                    return await self._reserve(min(int(value), self._largest), True)
        return await self._reserve(self._largest, False)

    async def receive(self, context: Any, room: Ticket) -> Any:
        """The request of an admitted call: its bytes, or EOF.

        Raises:
            ResourceExhaustedError: it has not come in time, and others wait for its room.
        """
        if room is self._nothing:
            return await context.read()
        try:
            async with asyncio.timeout(None) as limit:
                self._receiving[limit] = asyncio.get_running_loop().time()
                try:
                    return await context.read()
                finally:
                    del self._receiving[limit]
        except TimeoutError:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"The request did not come within {timeouts.REQUEST_SECONDS:g} s, while others waited for "
                "the memory that was kept for it. Send less at once.",
            ) from None

    def _end_slow(self) -> None:
        """Ends the requests that have had room for long, and have not come."""
        now = asyncio.get_running_loop().time()
        for limit, since in self._receiving.items():
            if since < now - timeouts.REQUEST_SECONDS and not limit.expired():
                limit.reschedule(now)

    async def _reserve(self, size: int, is_known: bool) -> Ticket:
        """Room for a request. Requests get it in the order of their arrival."""
        if not self._waiting and self._try(size, is_known):
            return Ticket(self, COPIES * size)
        self._loop = asyncio.get_running_loop()
        changed = asyncio.Event()
        self._waiting.append(changed)
        end = self._loop.time() + timeouts.REQUEST_ROOM_SECONDS
        try:
            while self._waiting[0] is not changed or not self._try(size, is_known):
                left = end - self._loop.time()
                is_alone = not self._reserved and self._waiting[0] is changed
                waited = timeouts.REQUEST_ROOM_SECONDS - left
                if is_alone and not is_known and waited > timeouts.UNKNOWN_REQUEST_SECONDS:
                    self._unchecked_until = time.monotonic() + timeouts.UNCHECKED_REQUEST_SECONDS
                elif left <= 0 or (is_alone and is_known):
                    what = f"a request of {size} bytes" if is_known else "a request of unknown size"
                    raise memory.exhausted(f"Out of memory to receive {what} by gRPC")
                self._end_slow()
                changed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), min(left, timeouts.REQUEST_RETRY_SECONDS))
        finally:
            self._waiting.remove(changed)
            self._wake()
        return Ticket(self, COPIES * size)

    def _try(self, size: int, is_known: bool) -> bool:
        """Takes the room if it is available."""
        with self._lock:
            if self._reserved:
                fits = self._reserved + COPIES * size <= self._budget.room()
            else:
                self._budget.make_room(COPIES * size)
                fits = COPIES_ALONE * size <= self._budget.room() or (
                    not is_known and time.monotonic() < self._unchecked_until
                )
            if fits:
                self._reserved += COPIES * size
            return fits

    def _release(self, ticket: Ticket) -> None:
        with self._lock:
            size, ticket._bytes = ticket._bytes, 0
            self._reserved -= size
        if self._waiting and self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._waiting:
            self._waiting[0].set()
