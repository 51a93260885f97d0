"""The values of features in several Examples: by the compiled scanner, where it is there, or by NumPy.

The compiled one leaves an Example that is not as serializers write it to protobuf, as the other does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet_service.devices import native
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.records.spans import (
    BYTES,
    FLOATS,
    INTS,
    MANY_BYTES,
    MISSING,
    Scanner,
    Spans,
    floats,
    integers,
    strings,
)

Array = np.ndarray[Any, Any]

_TYPES: dict[int, np.dtype[Any]] = {
    FLOATS: np.dtype(np.float32),
    INTS: np.dtype(np.int64),
    BYTES: np.dtype(object),
}


class Column:
    """The values of one feature in several Examples.

    Attributes:
        counts: how many each Example has.
        total: their sum.
        longest: the greatest of them.
        dtype: of the values.
    """

    def __init__(self, values: Array, counts: Array, total: int, longest: int) -> None:
        self.counts = counts
        self.total = total
        self.longest = longest
        self.dtype = values.dtype
        self._values = values

    def values(self) -> Array:
        """All of them, one after the other."""
        return self._values

    def values_and_indices(self) -> tuple[Array, Array]:
        """The values, and for each the Example and the place in it: int64 [total, 2]."""
        indices = np.empty((self.total, 2), np.int64)
        fill_places(indices, self.counts)
        return self.values(), indices

    def rows(self, width: int, default: Any) -> Array:
        """[Examples, width], filled up with `default`, which is one value or [width]."""
        count = len(self.counts)
        if self.total == count * width:
            return self.values().reshape(count, width)
        result = np.empty((count, width), self.dtype)
        result[...] = default
        self._fill(result)
        return result

    def _fill(self, result: Array) -> None:
        result[np.arange(result.shape[1]) < self.counts[:, None]] = self._values


def fill_places(indices: Array, counts: Sequence[int] | Array) -> None:
    """Writes (row, place in the row) of elements of which each row has so many."""
    rows = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    ends = np.cumsum(counts, dtype=np.int64)
    indices[:, -2] = rows
    indices[:, -1] = np.arange(len(rows), dtype=np.int64) - (ends - counts)[rows]


def object_array(items: Sequence[bytes]) -> Array:
    """A vector of strings."""
    result = np.empty(len(items), object)
    result[:] = items
    return result


class Found(ABC):
    """What a scan has found; features are named by their numbers among the scanner's keys."""

    @abstractmethod
    def kinds(self, place: int) -> set[int]:
        """The kinds that the Examples have a feature of: MISSING, BYTES, FLOATS or INTS."""

    @abstractmethod
    def kind(self, number: int, place: int) -> int:
        """That of one Example."""

    @abstractmethod
    def column(self, place: int, kind: int) -> Column:
        """The values of a feature that all Examples have of this kind, or lack.

        Raises:
            ValueError: a varint in it is longer than ten bytes.
        """


def find(scanner: Scanner, items: list[bytes]) -> Found:
    """The features of Examples.

    Raises:
        ValueError: one is no Example; its number in `items` is the error's argument.
    """
    if native.native is None:
        return _ByNumpy(*scanner.scan(items))
    found = _Compiled(tuple(items), scanner.keys)
    if found.irregular:
        written = list(items)
        for number in found.irregular:
            written[number] = scanner.rewritten(items[number], number)
        found = _Compiled(tuple(written), scanner.keys)
        if found.irregular:
            raise ValueError(found.irregular[0])
    return found


class _ByNumpy(Found):
    def __init__(self, items: list[bytes], spans: list[Spans]) -> None:
        self._items = items
        self._spans = spans

    def kinds(self, place: int) -> set[int]:
        at = 3 * place
        found = {span[at] for span in self._spans}
        if MANY_BYTES in found:
            found = (found - {MANY_BYTES}) | {BYTES}
        return found

    def kind(self, number: int, place: int) -> int:
        kind = self._spans[number][3 * place]
        return BYTES if kind == MANY_BYTES else kind

    def column(self, place: int, kind: int) -> Column:
        at = 3 * place
        start, end = at + 1, at + 2
        spans = self._spans
        pieces = [item[span[start] : span[end]] for item, span in zip(self._items, spans, strict=True)]
        if kind == BYTES:
            values, lengths = _strings(pieces, [span[at] for span in spans])
        else:
            values, lengths = floats(pieces) if kind == FLOATS else integers(pieces)
        counts = np.array(lengths, np.int64)
        return Column(values, counts, len(values), max(lengths, default=0))


def _strings(pieces: list[bytes], kinds: list[int]) -> tuple[Array, list[int]]:
    if kinds.count(BYTES) == len(kinds):
        return object_array(pieces), [1] * len(pieces)
    values: list[bytes] = []
    counts = []
    for piece, kind in zip(pieces, kinds, strict=True):
        found = [piece] if kind == BYTES else strings(piece) if kind == MANY_BYTES else []
        values += found
        counts.append(len(found))
    return object_array(values), counts


# The compiled scanner has kinds of its own: numbers with tags of their own, and integers too long.
_OVERLONG = 7
_PLAIN = (MISSING, BYTES, FLOATS, INTS, BYTES, FLOATS, INTS, INTS)
_SETS: list[set[int]] = [{_PLAIN[k] for k in range(8) if bits >> k & 1} for bits in range(256)]


class _Compiled(Found):
    """
    Attributes:
        irregular: the Examples that it cannot read.
    """

    def __init__(self, items: tuple[bytes, ...], keys: tuple[bytes, ...]) -> None:
        shape = len(keys), len(items)
        self._items = items
        self._kinds = np.empty(shape, np.uint8)
        self._spans = np.empty((*shape, 2), np.int64)
        self._counts = np.empty(shape, np.int64)
        self.irregular: list[int]
        self._sets: list[int]
        self.irregular, self._sets, self._totals, self._longest = native.native.scan_examples(
            items, keys, self._kinds, self._spans, self._counts, thread_count()
        )

    def kinds(self, place: int) -> set[int]:
        return _SETS[self._sets[place]]

    def kind(self, number: int, place: int) -> int:
        return _PLAIN[self._kinds[place, number]]

    def column(self, place: int, kind: int) -> Column:
        if self._sets[place] >> _OVERLONG & 1:
            raise ValueError("a varint is longer than ten bytes")
        where = self._items, self._kinds[place], self._spans[place], self._counts[place]
        return _Encoded(where, _TYPES[kind], self._totals[place], self._longest[place])


class _Encoded(Column):
    """Values that are decoded once it is known where to."""

    def __init__(self, where: tuple[Any, ...], dtype: np.dtype[Any], total: int, longest: int) -> None:
        self.counts = where[3]
        self.total = total
        self.longest = longest
        self.dtype = dtype
        self._where = where

    def values(self) -> Array:
        values = np.empty(self.total, self.dtype)
        native.native.example_values(*self._where, values, -1, None, thread_count())
        return values

    def values_and_indices(self) -> tuple[Array, Array]:
        values, indices = np.empty(self.total, self.dtype), np.empty((self.total, 2), np.int64)
        native.native.example_values(*self._where, values, -1, indices, thread_count())
        return values, indices

    def _fill(self, result: Array) -> None:
        native.native.example_values(*self._where, result, result.shape[1], None, thread_count())
