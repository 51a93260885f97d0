"""Shuffling in a buffer, for the same seeds in TensorFlow's order."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from typing import Any

from tensorfleet.core import errors
from tensorfleet_service.data.dataset import CHECKED, PIECE, Dataset, Run, many
from tensorfleet_service.data.position import Position, State
from tensorfleet_service.data.sequence import Sequence
from tensorfleet_service.state import philox
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.piles import Row

_COUNTERS = 1024  # counter values of a random stream that are computed at a time


def numbers(seed: int, seed2: int, start: int = 0) -> Iterator[int]:
    """The random numbers of 32 bits that follow from two seeds, without the first `start`."""
    stream = philox.seeded_stream(seed, seed2).skip(start // 4)
    yield from stream.reserve(1).numbers(1).ravel().tolist()[start % 4 :]
    while True:
        yield from stream.reserve(_COUNTERS).numbers(_COUNTERS).ravel().tolist()


class Shuffle(Sequence):
    """The input's items in random order, each drawn from a buffer of the next ones (`ShuffleDataset`).

    If both seeds are 0, the order differs each time that the dataset is made. With `reshuffle` it differs in
    each pass over the dataset.

    Raises:
        InvalidArgumentError: the size of the buffer is not positive.
    """

    def __init__(self, source: Dataset, size: int, seed: int, seed2: int, reshuffle: bool) -> None:
        super().__init__(source)
        if size < 1:
            raise errors.InvalidArgumentError(None, None, "buffer_size must be greater than zero.")
        if not seed and not seed2:
            seed, seed2 = secrets.randbits(63), secrets.randbits(63)
        self._size = size
        self.blocks = self.blocks or size > PIECE  # items for the first one
        self._seeds = seed, seed2
        self._reshuffle = reshuffle
        self.begin()

    STATE = ("_seeds", "_passes")

    def begin(self) -> None:
        self._draws = numbers(*self._seeds) if self._reshuffle else None
        self._passes = 0
        self._lock = threading.Lock()

    def restore(self, saved: State) -> None:
        super().restore(saved)
        if self._draws is not None:
            self._draws = numbers(*self._seeds, start=2 * self._passes)

    def items(self, run: Run) -> Iterator[Any]:
        seeds = self._seeds
        if self._draws is not None:
            with self._lock:
                seeds = next(self._draws), next(self._draws)
                self._passes += 1
        return _Shuffling(run, self.source.items(run), self._size, seeds)


class _Shuffling(Position):
    """A ring of items. The oldest one moves to the position of the item drawn, and its own becomes free."""

    __slots__ = (
        "_buffer",
        "_draw",
        "_drawn",
        "_draws",
        "_ended",
        "_items",
        "_left",
        "_run",
        "_seeds",
        "_size",
        "_start",
    )
    PARTS = ("_items",)
    STATE = ("_buffer", "_start", "_left", "_ended", "_seeds", "_drawn")

    def __init__(self, run: Run, items: Iterator[Any], size: int, seeds: tuple[int, int]) -> None:
        self._run = run
        self._items = items
        self._size = size
        self._seeds = seeds
        self._draws = numbers(*seeds)
        self._draw = self._draws.__next__
        self._drawn = 0
        self._buffer: list[Any] | Row = [] if size <= unlocked.LISTED else Row()
        self._start = 0
        self._left = 0
        self._ended = False

    def restore(self, saved: State) -> None:
        super().restore(saved)
        self._draws = numbers(*self._seeds, start=self._drawn)
        self._draw = self._draws.__next__

    def __next__(self) -> Any:
        buffer, size = self._buffer, self._size
        if not self._ended:
            try:
                while len(buffer) < size:
                    buffer.append(next(self._items))
                    self._left += 1
                    if not self._left % CHECKED:
                        self._run.check()
                if self._left < size:
                    buffer[(self._start + self._left) % size] = next(self._items)
                    self._left += 1
            except StopIteration:
                self._ended = True
        left = self._left
        if not left:
            raise StopIteration
        start, room = self._start, len(buffer)
        index = (start + self._draw() % left) % room
        self._drawn += 1
        item = buffer[index]
        buffer[index] = buffer[start]
        buffer[start] = None
        self._start = (start + 1) % room
        self._left = left - 1
        return item

    def many(self, count: int) -> list[Any]:
        """The next items, by the same draws. Called for indices of rows only, which cost little each."""
        found: list[Any] = []
        while len(found) < count:
            if not self._ended and self._left == self._size - 1 and len(self._buffer) == self._size:
                found += self._exchange(many(self._items, count - len(found), self._run))
                if len(found) == count:
                    break
            try:
                found.append(next(self))
            except StopIteration:
                break
        return found

    def _exchange(self, fresh: list[Any]) -> list[Any]:
        """Draws an item for each fresh one, while the buffer is full."""
        buffer, size, start = self._buffer, self._size, self._start
        found: list[Any] = []
        for item, number in zip(fresh, self._draws, strict=False):
            buffer[start - 1] = item
            index = (start + number % size) % size
            found.append(buffer[index])
            buffer[index] = buffer[start]
            start = (start + 1) % size
        buffer[start - 1] = None
        self._drawn += len(found)
        self._start = start
        return found
