"""Turns: the order in which clients compute, if there are more of them than cores.

Each client's steps have their own thread, and without an order the interpreter's lock goes to the thread that
wakes first. Here the next turn is that of the client that has computed least since it came. So each client
gets its share, and short steps do not wait for all the long ones of others. While nobody has to wait, nothing
is measured.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections import deque
from weakref import WeakValueDictionary

PATIENCE_SECONDS = 1.0
"""Time after which a waiting client goes on beside the others, as one of them may wait for a file."""


class Share:
    """The computing time of one client.

    Attributes:
        used: seconds of its steps, raised to the others' level after a time without steps.
    """

    __slots__ = ("__weakref__", "used")

    def __init__(self) -> None:
        self.used = 0.0


class Turns:
    """Turns of at most `most` clients at the same time. Safe to use from several threads."""

    def __init__(self, most: int) -> None:
        # A turn is taken without the lock if nobody waits, as changes of a deque's ends are atomic.
        self._free: deque[None] = deque([None] * most)
        self._lock = threading.Lock()
        self._now = 0.0  # the computing time of the client with the last turn
        self._waiting: list[tuple[float, int, _Waiter]] = []
        self._order = itertools.count()
        self._shares: WeakValueDictionary[str, Share] = WeakValueDictionary()

    def share(self, client: str) -> Share:
        """The share of a client, common to all of its connections."""
        with self._lock:
            found = self._shares.get(client)
            if found is None:
                found = self._shares[client] = Share()
            return found

    def take(self, share: Share) -> float:
        """Waits for a turn; returns the value to pass to `give`, 0 if nobody waits."""
        if not self._waiting:
            try:
                self._free.pop()
            except IndexError:
                pass
            else:
                return 0.0
        with self._lock:
            used = share.used = max(share.used, self._now)
            waiter = _Waiter()
            heapq.heappush(self._waiting, (used, next(self._order), waiter))
            self._call()  # a turn may have ended before this one was seen to wait
        has_turn = waiter.turn.acquire(timeout=PATIENCE_SECONDS)
        if not has_turn:
            with self._lock:
                has_turn, waiter.called = waiter.called, True  # it is skipped when its turn would come
        return time.thread_time() if has_turn else -time.thread_time()

    def give(self, share: Share, began: float) -> None:
        """Ends a turn."""
        if began:
            seconds = time.thread_time() - abs(began)
            with self._lock:
                share.used += seconds
        if began >= 0:
            self._free.append(None)
        if self._waiting:
            with self._lock:
                self._call()

    def _call(self) -> None:
        """Gives free turns to those who wait; under the lock."""
        while self._waiting:
            try:
                self._free.pop()
            except IndexError:
                return
            used, _, waiter = heapq.heappop(self._waiting)
            if waiter.called:
                self._free.append(None)
                continue
            waiter.called = True
            self._now = max(self._now, used)
            waiter.turn.release()


class _Waiter:
    __slots__ = ("called", "turn")

    def __init__(self) -> None:
        self.called = False
        self.turn = threading.Lock()
        self.turn.acquire()
