"""Containers for very many items, of which no single call keeps the interpreter for long.

Python's collector goes through every list and deque by one call: 16 ms for each million items, again and
again. Arrays of objects it does not look into. So what a client may fill holds its items, once they are many,
in arrays of `unlocked.LISTED` of them, and few in lists. Nothing of this is copied as a whole when it grows,
and it is let go of by parts. Items must not refer back to the container: what is in an
array of objects is never found to be garbage.

None of these locks anything.
"""

from __future__ import annotations

import heapq
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from tensorfleet_service.threads import unlocked

ONE = 1 << 20
"""Number of keys up to which a `Dictionary` is one dict: more room for as many takes 30 ms."""

DICTS = 64
"""Number of dicts in which a `Dictionary` has its keys if they are more."""

_Block = np.ndarray[Any, Any]

_SECRET = int.from_bytes(os.urandom(8), "big")
"""Nobody can choose keys that all come into one dict."""


def _block(items: Iterable[Any], count: int) -> _Block:
    return np.fromiter(items, object, count)


class Line:
    """A queue of items, of which both ends are open: the part of `collections.deque` that queues need."""

    __slots__ = ("_blocks", "_first", "_last", "_size")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        # In this order: the first items, blocks of one size, the last items.
        self._first: deque[Any] = deque()
        self._blocks: deque[_Block] = deque()
        self._last: deque[Any] = deque()
        self._size = unlocked.LISTED
        for item in items:
            self.append(item)

    def __len__(self) -> int:
        return len(self._first) + len(self._blocks) * self._size + len(self._last)

    def append(self, item: Any) -> None:
        last = self._last
        last.append(item)
        if len(last) >= 2 * self._size:
            self._blocks.append(_block(_taken(last.popleft, self._size), self._size))

    def appendleft(self, item: Any) -> None:
        first = self._first
        first.appendleft(item)
        if len(first) >= 2 * self._size:
            block = _block(_taken(first.pop, self._size), self._size)
            self._blocks.appendleft(block[::-1].copy())

    def popleft(self) -> Any:
        """Raises IndexError where there is none."""
        if not self._first:
            if not self._blocks:
                return self._last.popleft()
            self._first.extend(self._blocks.popleft().tolist())
        return self._first.popleft()

    def pop(self) -> Any:
        """Raises IndexError where there is none."""
        if not self._last:
            if not self._blocks:
                return self._first.pop()
            self._last.extend(self._blocks.pop().tolist())
        return self._last.pop()

    def listed(self) -> list[Any]:
        """Takes all items out, in a list."""
        found = unlocked.Listed()
        while self:
            found.append(self.popleft())
        return found

    def drop(self) -> None:
        unlocked.drop(self._first)
        while self._blocks:
            self._blocks.pop()
        unlocked.drop(self._last)


def _taken(take: Callable[[], Any], count: int) -> Iterator[Any]:
    for _ in range(count):
        yield take()


class Row:
    """Items by their numbers, which come and go at the end: the part of `list` that random orders need."""

    __slots__ = ("_blocks", "_last", "_size")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._blocks: list[_Block] = []
        self._last: list[Any] = []
        self._size = unlocked.LISTED
        self.extend(items)

    def __len__(self) -> int:
        return len(self._blocks) * self._size + len(self._last)

    def __iter__(self) -> Iterator[Any]:
        for block in self._blocks:
            yield from block
        yield from self._last

    def __getitem__(self, index: int) -> Any:
        """Raises IndexError where there is none."""
        last, before = self._place(index)
        return self._last[last] if last >= 0 else self._blocks[before // self._size][before % self._size]

    def __setitem__(self, index: int, item: Any) -> None:
        last, before = self._place(index)
        if last >= 0:
            self._last[last] = item
        else:
            self._blocks[before // self._size][before % self._size] = item

    def _place(self, index: int) -> tuple[int, int]:
        """The number in the list of the last items, negative if it is in a block; and the whole one."""
        there = len(self._blocks) * self._size
        if index < 0:
            index += there + len(self._last)
            if index < 0:
                raise IndexError("there are fewer items")
        return index - there, index

    def append(self, item: Any) -> None:
        last = self._last
        last.append(item)
        if len(last) >= 2 * self._size:
            self._blocks.append(_block(last[: self._size], self._size))
            del last[: self._size]

    def extend(self, items: Iterable[Any]) -> None:
        for item in items:
            self.append(item)

    def pop(self) -> Any:
        """Takes the last item out. Raises IndexError where there is none."""
        if not self._last and self._blocks:
            self._last = self._blocks.pop().tolist()
        return self._last.pop()

    def drop(self) -> None:
        while self._blocks:
            self._blocks.pop()
        unlocked.drop(self._last)


class Heap:
    """Gives the least of its items first. No two are equal, so that they come in one order."""

    __slots__ = ("_items", "_runs", "_size", "_sorted")

    def __init__(self) -> None:
        self._items: list[Any] = []  # as `heapq` has them
        self._runs: list[
            tuple[Any, int, _Block]
        ] = []  # a heap of sorted blocks, with the places of their least
        self._sorted = 0  # the items of the blocks
        self._size = unlocked.LISTED // 4  # which are sorted by one call

    def __len__(self) -> int:
        return len(self._items) + self._sorted

    def push(self, item: Any) -> None:
        items, size = self._items, self._size
        heapq.heappush(items, item)
        if len(items) >= 2 * size:
            items.sort()  # so that the rest goes on as a heap
            block = _block(items[size:], len(items) - size)
            del items[size:]
            self._sorted += len(block)
            heapq.heappush(self._runs, (block[0], 0, block))

    def pop(self) -> Any:
        """Raises IndexError where there is none."""
        runs = self._runs
        if not runs or (self._items and self._items[0] < runs[0][0]):
            return heapq.heappop(self._items)
        item, place, block = runs[0]
        block[place] = None
        place += 1
        if place < len(block):
            heapq.heapreplace(runs, (block[place], place, block))
        else:
            heapq.heappop(runs)
        self._sorted -= 1
        return item

    def drop(self) -> None:
        while self._runs:
            self._runs.pop()
        self._sorted = 0
        unlocked.drop(self._items)


class Dictionary:
    """The part of `dict` that tables need, in no order; for values that the collector does not track."""

    __slots__ = ("_dicts",)

    def __init__(self) -> None:
        self._dicts: list[dict[Any, Any]] = [{}]

    def __len__(self) -> int:
        return sum(map(len, self._dicts))

    def __iter__(self) -> Iterator[Any]:
        for each in self._dicts:
            yield from each

    def _of(self, key: Any) -> dict[Any, Any]:
        dicts = self._dicts
        return dicts[0] if len(dicts) == 1 else dicts[hash((_SECRET, key)) % DICTS]

    def get(self, key: Any, default: Any = None) -> Any:
        return self._of(key).get(key, default)

    def get_all(self, keys: Iterable[Any]) -> Iterator[Any]:
        """What `get` returns for each."""
        return map(self._dicts[0].get if len(self._dicts) == 1 else self.get, keys)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._of(key)[key] = value
        self._divide()

    def setdefault(self, key: Any, value: Any) -> Any:
        found = self._of(key).setdefault(key, value)
        self._divide()
        return found

    def update(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        rest = iter(pairs)
        while part := tuple(islice(rest, unlocked.LISTED)):
            if len(self._dicts) == 1:
                self._dicts[0].update(part)
                self._divide()
            else:
                for key, value in part:
                    self._of(key)[key] = value

    def _divide(self) -> None:
        """Has several dicts in place of one that is large."""
        if len(self._dicts) > 1 or len(self._dicts[0]) <= ONE:
            return
        (whole,) = self._dicts
        self._dicts = [{} for _ in range(DICTS)]
        while whole:
            key, value = whole.popitem()
            self._of(key)[key] = value

    def pop(self, key: Any, default: Any = None) -> Any:
        return self._of(key).pop(key, default)

    def keys(self) -> list[Any]:
        return _parts(self._dicts)

    def values(self) -> list[Any]:
        """In the order of `keys`."""
        return _parts(each.values() for each in self._dicts)

    def same(self, other: Dictionary) -> bool:
        """Whether both have the same keys with equal values."""
        nothing = object()
        return len(self) == len(other) and all(
            found is value or found == value
            for each in self._dicts
            for key, value in each.items()
            for found in (other.get(key, nothing),)
        )

    def drop(self) -> None:
        for each in self._dicts:
            unlocked.drop(each)


def _parts(several: Iterable[Iterable[Any]]) -> list[Any]:
    found = unlocked.Listed()
    for each in several:
        rest = iter(each)
        while part := tuple(islice(rest, unlocked.LISTED)):
            found += part
    return found
