"""Records: what a task knows of collectives that have not ended, and the lock that keeps it in order."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from tensorfleet.core import errors
from tensorfleet_service.collectives.member import CollectiveMember, Group, Running
from tensorfleet_service.net import limits
from tensorfleet_service.worker.collectives.early import EarlyChunks


class Records:
    """The members and rounds of a task; `group` and `taker` take the lock, the others are called under it.

    Attributes:
        numbers: those of the joins of members.
        members: the members that wait for a result, by the numbers of their joins.
        running: the rounds that have begun, by their numbers.
        early: chunks of rounds that have not.
    """

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.members: dict[int, CollectiveMember] = {}
        self.running: dict[int, Running] = {}
        self.early = EarlyChunks()
        self._lock = threading.RLock()
        self._groups: WeakValueDictionary[tuple[str, int], Group] = WeakValueDictionary()
        self._ended: OrderedDict[int, errors.OpError | None] = OrderedDict()
        self._afterwards: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self.members) + len(self.running) + len(self.early)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock; then calls what is to be called without it, such as to complete Futures."""
        try:
            with self._lock:
                yield
        finally:
            with self._lock:
                afterwards, self._afterwards = self._afterwards, []
            with ExitStack() as calls:  # which makes them all, whichever raises
                for function in reversed(afterwards):
                    calls.callback(function)

    def call_locked(self, function: Callable[..., None], *arguments: Any) -> None:
        with self.locked():
            function(*arguments)

    def group(self, device: str, group_key: int) -> Group:
        """The record of a group; the caller keeps it alive."""
        with self._lock:
            found = self._groups.get((device, group_key))
            if found is None:
                found = self._groups[device, group_key] = Group()
            return found

    def groups(self) -> list[tuple[str, int, Group]]:
        """The records of groups, each with its device and key."""
        return [(device, key, group) for (device, key), group in self._groups.items()]

    def taker(self, round_id: int, number: int, array: Any) -> Running | None:
        """The round that takes a chunk; None where it is over, or has not begun: then the chunk is kept."""
        running = self.running.get(round_id)
        if running is None:
            with self._lock:
                running = self.running.get(round_id)
                if running is None and round_id not in self._ended:
                    for dropped, error in self.early.keep(round_id, number, array):
                        self._note_end(dropped, error)
        return running

    def afterwards(self, function: Callable[[], None]) -> None:
        """Has a function called once the lock is free."""
        self._afterwards.append(function)

    def complete(self, member: CollectiveMember, value: Any, error: errors.OpError | None) -> None:
        """Has a member's Future completed once the lock is free."""
        self._afterwards.append(partial(member.future.complete, value, error))

    def begin_round(self, round_id: int, running: Running) -> errors.OpError | None:
        """Notes a round that begins; returns an error if early chunks of it had to be dropped."""
        self.running[round_id] = running
        return self._ended.get(round_id)

    def end_round(self, round_id: int) -> None:
        """Ends a round here: it takes no more chunks."""
        running = self.running.get(round_id)
        if running is not None:
            running.data.end()
        if round_id:
            self.forget_round(round_id)

    def forget_round(self, round_id: int) -> None:
        """Takes nothing more of a round that is over, or that will not begin here."""
        self.running.pop(round_id, None)
        self.early.take(round_id)
        self._note_end(round_id, None)

    def _note_end(self, round_id: int, error: errors.OpError | None) -> None:
        self._ended[round_id] = error
        if len(self._ended) > limits.REMEMBERED_ROUNDS:
            self._ended.popitem(last=False)
