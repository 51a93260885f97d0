"""Staging areas: tuples that one step leaves for another, in order or by key.

Calls that have to wait stand in line. Every call that changes the area serves the line as far as possible,
and completes the futures of those served after it has released the lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.threads.future import Future

_NOT_YET = object()
Attempt = Callable[[], Any]


class _Waiting:
    """A place in the line: what it attempts, a description of what it wants, and its future."""

    __slots__ = ("attempt", "future", "wants")

    def __init__(self, attempt: Attempt, wants: str) -> None:
        self.attempt = attempt
        self.wants = wants
        self.future: Future | None = None


_Ended = list[tuple[_Waiting, Any, BaseException | None]]


class Area:
    """Base class of the staging areas.

    Args:
        name: for messages.
        capacity: the number of tuples that fit; 0: any number.
        memory_limit: limit on the bytes of all tuples together; 0: none.
    """

    def __init__(self, name: str, capacity: int, memory_limit: int) -> None:
        self.name = name
        self.capacity = capacity
        self.memory_limit = memory_limit
        self._lock = threading.Lock()
        self._line: deque[_Waiting] = deque()
        self._bytes = 0

    def _check_size(self, size: int) -> None:
        """Raises ResourceExhaustedError if tensors of `size` bytes never fit."""
        if self.memory_limit and size > self.memory_limit:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"Attempted to insert tensors with combined size of '{size}' bytes into Staging Area with a "
                f"memory limit of '{self.memory_limit}'.",
            )

    def _has_room(self, count: int, size: int) -> bool:
        """Whether another tuple of `size` bytes fits beside `count` tuples."""
        if self.capacity and count >= self.capacity:
            return False
        return not self.memory_limit or self._bytes + size <= self.memory_limit

    def _do(self, attempt: Attempt, wants: str) -> Any:
        """The result of the attempt, or a Future for it."""
        waiting = _Waiting(attempt, wants)
        ended: _Ended = []
        with self._lock:
            self._line.append(waiting)
            self._go_on(ended)
            mine = next((entry for entry in ended if entry[0] is waiting), None)
            if mine is None:
                waiting.future = Future(lambda future: self._cancel(waiting), self)
            else:
                ended.remove(mine)
        _tell(ended)
        if mine is None:
            return waiting.future
        if mine[2] is not None:
            raise mine[2]
        return mine[1]

    def _go_on(self, ended: _Ended) -> None:
        """Serves the line until nobody in it can act; under the lock."""
        changed = True
        while changed:
            changed = False
            for waiting in list(self._line):
                try:
                    value, error = waiting.attempt(), None
                except errors.OpError as e:
                    value, error = None, e
                if value is _NOT_YET:
                    continue
                self._line.remove(waiting)
                ended.append((waiting, value, error))
                changed = True

    def _cancel(self, waiting: _Waiting) -> None:
        with self._lock:
            if waiting in self._line:
                self._line.remove(waiting)

    def waits_for(self, future: Future) -> str:
        """A description of what a place in the line waits for."""
        with self._lock:
            wants = next((waiting.wants for waiting in self._line if waiting.future is future), "")
        return f"{wants} of staging area '{self.name}'" if wants else f"staging area '{self.name}'"


def _tell(ended: _Ended) -> None:
    for waiting, value, error in ended:
        if waiting.future is not None:
            waiting.future.complete(value, error)


def bytes_of(values: Sequence[Any]) -> int:
    """The bytes of tensors; strings count with the bytes of their texts."""
    return sum(
        sum(map(len, value.reshape(-1).tolist())) if value.dtype == object else value.nbytes
        for value in map(_array, values)
    )


def _array(value: Any) -> Any:
    return value if hasattr(value, "nbytes") else np.asarray(value)


class StagingArea(Area):
    """Tuples in the order in which they came (`Stage`, `Unstage`)."""

    def __init__(self, name: str, capacity: int, memory_limit: int) -> None:
        super().__init__(name, capacity, memory_limit)
        self._tuples: deque[tuple[Any, ...]] = deque()

    def put(self, values: tuple[Any, ...]) -> Future | None:
        """Puts a tuple in; a Future while there is no room.

        Raises:
            ResourceExhaustedError: it is larger than the memory limit.
        """
        size = bytes_of(values)
        self._check_size(size)

        def attempt() -> Any:
            if not self._has_room(len(self._tuples), size):
                return _NOT_YET
            self._tuples.append(values)
            self._bytes += size
            return None

        future: Future | None = self._do(attempt, "room")
        return future

    def get(self) -> Any:
        """Takes the first tuple out; a Future while there is none."""

        def attempt() -> Any:
            if not self._tuples:
                return _NOT_YET
            values = self._tuples.popleft()
            self._bytes -= bytes_of(values)
            return values

        return self._do(attempt, "a tuple")

    def peek(self, index: int) -> Any:
        """The tuple at an index, which stays; a Future while there are fewer tuples.

        Raises:
            InvalidArgumentError: the index is negative.
        """
        if index < 0:
            raise errors.InvalidArgumentError(None, None, f"index must be at least 0, got {index}")
        return self._do(
            lambda: self._tuples[index] if index < len(self._tuples) else _NOT_YET, f"tuple {index}"
        )

    def size(self) -> int:
        """The number of tuples."""
        return len(self._tuples)

    def clear(self) -> None:
        """Drops all tuples."""
        ended: _Ended = []
        with self._lock:
            self._tuples.clear()
            self._bytes = 0
            self._go_on(ended)
        _tell(ended)


class MapStagingArea(Area):
    """Tuples by key, whose parts may come and go one by one (`MapStage`, `MapUnstage`).

    Args:
        ordered: whether a call without a key gets the smallest key, or the first that was complete.
    """

    def __init__(self, name: str, capacity: int, memory_limit: int, ordered: bool) -> None:
        super().__init__(name, capacity, memory_limit)
        self._ordered = ordered
        self._complete: dict[int, dict[int, Any]] = {}
        self._incomplete: dict[int, dict[int, Any]] = {}

    def put(self, key: int, indices: list[int], values: tuple[Any, ...], width: int) -> Future | None:
        """Puts parts of a tuple of `width` in, which is there for others once it is complete.

        Raises:
            InvalidArgumentError: the indices are not those of missing parts.
            ResourceExhaustedError: they are larger than the memory limit.
        """
        if len(indices) != len(values) or any(not 0 <= i < width for i in indices):
            raise _wrong(f"the indices {indices} do not fit {len(values)} of {width} tensors")
        size = bytes_of(values)
        self._check_size(size)

        def attempt() -> Any:
            there = self._incomplete.get(key, {})
            taken = sorted(there.keys() & set(indices))
            if key in self._complete or taken:
                raise _wrong(f"The tensors {taken or indices} for key '{key}' were already inserted")
            if not self._has_room(len(self._complete), size):
                return _NOT_YET
            parts = self._incomplete.setdefault(key, {})
            parts.update(zip(indices, values, strict=True))
            self._bytes += size
            if len(parts) == width:
                self._complete[key] = self._incomplete.pop(key)
            return None

        future: Future | None = self._do(attempt, "room")
        return future

    def get(self, key: int, indices: list[int]) -> Any:
        """Takes parts of a tuple out; a Future while it is not complete."""
        return self._do(
            lambda: self._taken(key, indices) if key in self._complete else _NOT_YET, f"key {key}"
        )

    def get_any(self, indices: list[int]) -> Any:
        """Takes parts of the next tuple out: (key, *parts); a Future while none is complete."""

        def attempt() -> Any:
            if not self._complete:
                return _NOT_YET
            key = min(self._complete) if self._ordered else next(iter(self._complete))
            return (np.int64(key), *self._taken(key, indices))

        return self._do(attempt, "a tuple")

    def peek(self, key: int, indices: list[int]) -> Any:
        """Parts of a tuple, which stay; a Future while it is not complete."""
        return self._do(
            lambda: self._parts(key, indices) if key in self._complete else _NOT_YET, f"key {key}"
        )

    def _parts(self, key: int, indices: list[int]) -> tuple[Any, ...]:
        there = self._complete[key]
        gone = [i for i in indices if i not in there]
        if gone:
            raise _wrong(f"The tensors {gone} for key '{key}' are not there, or have been taken out")
        return tuple(there[i] for i in indices)

    def _taken(self, key: int, indices: list[int]) -> tuple[Any, ...]:
        values = self._parts(key, indices)
        there = self._complete[key]
        for i in set(indices):
            self._bytes -= bytes_of([there.pop(i)])
        if not there:
            del self._complete[key]
        return values

    def size(self) -> int:
        """The number of complete tuples."""
        return len(self._complete)

    def incomplete_size(self) -> int:
        """The number of tuples with missing parts."""
        return len(self._incomplete)

    def clear(self) -> None:
        """Drops all tuples."""
        ended: _Ended = []
        with self._lock:
            self._complete.clear()
            self._incomplete.clear()
            self._bytes = 0
            self._go_on(ended)
        _tell(ended)


def _wrong(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)
