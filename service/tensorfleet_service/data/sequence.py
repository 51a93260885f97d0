"""Datasets that repeat, cut, join and cache others, whose items they hand on unchanged."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from tensorfleet.core import errors
from tensorfleet_service.data.dataset import CHECKED, PIECE, Dataset, Element, Run, many
from tensorfleet_service.data.position import Position, State, restore, save

_MANY_TIMES = 1 << 20


class Sequence(Dataset):
    """A dataset whose items are some or all of its input's, in any order."""

    def __init__(self, source: Dataset) -> None:
        super().__init__(source)
        self.rows = source.rows


class Repeat(Sequence):
    """The input several times, without end where `count` is negative (`RepeatDataset`)."""

    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self._count = count
        self.blocks = self.blocks or count > _MANY_TIMES  # the input may be empty each time

    def items(self, run: Run) -> Iterator[Any]:
        return _Repeating(self.source, run, self._count)


class _Repeating(Position):
    __slots__ = ("_current", "_first", "_left", "_run", "_source")
    STATE = ("_left", "_first")

    def __init__(self, source: Dataset, run: Run, count: int) -> None:
        self._source = source
        self._run = run
        self._left = count
        self._current: Iterator[Any] | None = None
        self._first = True

    def save(self) -> State:
        return super().save() | {"current": save(self._current)}

    def restore(self, saved: State) -> None:
        super().restore(saved)
        if (found := saved["current"]) is not None:
            self._current = self._source.items(self._run)
            restore(self._current, found)

    def __next__(self) -> Any:
        while True:
            if self._current is None:
                if not self._left:
                    raise StopIteration
                self._left -= 1
                self._first = True
                self._current = self._source.items(self._run)
            try:
                item = next(self._current)
            except StopIteration:
                self._current = None
                if self._first and self._left < 0:
                    self._left = 0  # an empty input repeated for ever is empty
                if self._first and not self._left % CHECKED:
                    self._run.check()
                continue
            self._first = False
            return item

    def many(self, count: int) -> list[Any]:
        """The next items, at most those of one repetition."""
        found: list[Any] = []
        turns = 0
        while len(found) < count:
            turns += 1
            if not turns % CHECKED:
                self._run.check()
            try:
                found.append(next(self))
            except StopIteration:
                break
            if self._current is not None:
                found += many(self._current, count - len(found), self._run)
        return found


class Take(Sequence):
    """The first items, or all where `count` is negative (`TakeDataset`)."""

    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self._count = count

    def items(self, run: Run) -> Iterator[Any]:
        items = self.source.items(run)
        return items if self._count < 0 else _Taking(items, self._count)


class _Taking(Position):
    """Like `itertools.islice`, but an error of the input does not end it."""

    __slots__ = ("_items", "_left")
    PARTS = ("_items",)
    STATE = ("_left",)

    def __init__(self, items: Iterator[Any], count: int) -> None:
        self._items = items
        self._left = count

    def __next__(self) -> Any:
        if not self._left:
            raise StopIteration
        item = next(self._items)
        self._left -= 1
        return item


class Skip(Sequence):
    """The items after the first; none where `count` is negative (`SkipDataset`)."""

    def __init__(self, source: Dataset, count: int) -> None:
        super().__init__(source)
        self._count = count
        self.blocks = self.blocks or count > PIECE

    def items(self, run: Run) -> Iterator[Any]:
        return iter(()) if self._count < 0 else _Every(run, self.source.items(run), self._count, 1)


class Shard(Sequence):
    """Every n-th item (`ShardDataset`).

    Raises:
        InvalidArgumentError: there is no such shard.
    """

    def __init__(self, source: Dataset, count: int, index: int) -> None:
        super().__init__(source)
        if count < 1:
            text = f"Number of shards must be greater than zero (currently num_shards = {count})."
            raise errors.InvalidArgumentError(None, None, text)
        if not 0 <= index < count:
            text = (
                f"Index must be between 0 and {count - 1} (currently index = {index}, num_shards = {count})."
            )
            raise errors.InvalidArgumentError(None, None, text)
        self._count = count
        self._index = index
        self.blocks = self.blocks or count > PIECE

    def items(self, run: Run) -> Iterator[Any]:
        return _Every(run, self.source.items(run), self._index, self._count)


class _Every(Position):
    """Like `itertools.islice`, but an error of the input does not end it."""

    __slots__ = ("_items", "_run", "_skip", "_step")
    PARTS = ("_items",)
    STATE = ("_skip",)

    def __init__(self, run: Run, items: Iterator[Any], start: int, step: int) -> None:
        self._run = run
        self._items = items
        self._skip = start
        self._step = step - 1

    def __next__(self) -> Any:
        items = self._items
        while self._skip:
            self._skip -= 1
            next(items)
            if not self._skip % CHECKED:
                self._run.check()
        item = next(items)
        self._skip = self._step
        return item


class Concatenate(Dataset):
    """One dataset after the other (`ConcatenateDataset`)."""

    def items(self, run: Run) -> Iterator[Element]:
        return _Joined([dataset.elements(run) for dataset in self.inputs])


class _Joined(Position):
    __slots__ = ("_parts",)
    PARTS = ("_parts",)

    def __init__(self, parts: list[Iterator[Element]]) -> None:
        self._parts = parts[::-1]

    def __next__(self) -> Element:
        while self._parts:
            try:
                return next(self._parts[-1])
            except StopIteration:
                self._parts.pop()
        raise StopIteration


class Zip(Dataset):
    """Tuples of the elements of several datasets, up to the end of the shortest (`ZipDataset`)."""

    def items(self, run: Run) -> Iterator[Element]:
        return _Zipped([dataset.elements(run) for dataset in self.inputs])


class _Zipped(Position):
    __slots__ = ("_ended", "_parts")
    PARTS = ("_parts",)
    STATE = ("_ended",)

    def __init__(self, parts: list[Iterator[Element]]) -> None:
        self._parts = parts
        self._ended = False

    def __next__(self) -> Element:
        if self._ended:
            raise StopIteration
        try:
            return tuple([value for part in self._parts for value in next(part)])
        except StopIteration:
            self._ended = True
            raise


class Cache(Sequence):
    """The input, kept in memory once it has been read to its end (`CacheDataset`)."""

    def __init__(self, source: Dataset) -> None:
        super().__init__(source)
        self.begin()

    STATE = ("_kept",)

    def begin(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Any] | None = None

    def items(self, run: Run) -> Iterator[Any]:
        with self._lock:
            kept = self._kept
        return _Caching(self, self.source.items(run)) if kept is None else iter(kept)

    @property
    def has_all(self) -> bool:
        """Whether the input has been read to its end."""
        return self._kept is not None

    def keep(self, items: list[Any]) -> None:
        with self._lock:
            self._kept = items


class _Caching(Position):
    __slots__ = ("_cache", "_items", "_read")
    PARTS = ("_items",)
    STATE = ("_read",)

    def __init__(self, cache: Cache, items: Iterator[Any]) -> None:
        self._cache = cache
        self._items = items
        self._read: list[Any] = []

    def save(self) -> State:
        # The iterator over what is kept, by now, takes its place.
        return {"left": 0} if self._cache.has_all else super().save()

    def __next__(self) -> Any:
        try:
            item = next(self._items)
        except StopIteration:
            self._cache.keep(self._read)
            raise
        self._read.append(item)
        return item
