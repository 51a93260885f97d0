"""The values of features in several Examples, found by the compiled scanner if it is installed, or by NumPy.

Both leave an Example that is not in the form that serializers write to protobuf.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet.core import string_arrays
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
from tensorfleet_service.threads import unlocked

Array = np.ndarray[Any, Any]

_TYPES: dict[int, np.dtype[Any]] = {
    FLOATS: np.dtype(np.float32),
    INTS: np.dtype(np.int64),
    BYTES: np.dtype(object),
}


class Column:
    """The values of one feature in several Examples.

    The arrays that it gives have their values once `Found.fill` has been called.

    Attributes:
        counts: the number of values of each Example.
        total: their sum.
        longest: the greatest of them.
        dtype: of the values.
    """

    def __init__(self, values: Array, counts: Array, total: int, longest: int) -> None:
        self.total = total
        self.longest = longest
        self.dtype = values.dtype
        self._counts = counts
        self._values = values

    @property
    def counts(self) -> Array:
        return self._counts

    def values(self) -> Array:
        """All values, one after the other."""
        return self._values

    def values_and_indices(self) -> tuple[Array, Array]:
        """The values, and the index of the Example and the position in it of each: int64 [total, 2]."""
        indices = np.empty((self.total, 2), np.int64)
        fill_places(indices, self.counts)
        return self.values(), indices

    def rows(self, width: int, default: Any) -> Array:
        """[Examples, width], padded with `default`, which is one value or [width]."""
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
    """Writes (row, position in the row) of all elements, given the number of elements of each row."""
    rows = unlocked.repeat(np.arange(len(counts), dtype=np.int64), counts)
    ends = np.cumsum(counts, dtype=np.int64)
    indices[:, -2] = rows
    indices[:, -1] = np.arange(len(rows), dtype=np.int64) - (ends - counts)[rows]


def object_array(items: Sequence[bytes]) -> Array:
    """A vector of strings."""
    return string_arrays.vector(items)


class Found(ABC):
    """The result of a scan; features are named by their indices among the scanner's keys."""

    @abstractmethod
    def kinds(self, place: int) -> set[int]:
        """The kinds of a feature in all Examples: MISSING, BYTES, FLOATS or INTS."""

    @abstractmethod
    def kind(self, number: int, place: int) -> int:
        """The kind of a feature in one Example."""

    @abstractmethod
    def column(self, place: int, kind: int) -> Column:
        """The values of a feature, which each Example has with this kind, or lacks.

        Raises:
            ValueError: a varint in it is longer than ten bytes.
        """

    @abstractmethod
    def fill(self) -> None:
        """Writes the values of all arrays that columns have given, where that is not done yet."""


def find(scanner: Scanner, items: list[bytes]) -> Found:
    """The features of Examples.

    Raises:
        ValueError: one is no Example; its index in `items` is the error's argument.
    """
    if native.native is None:
        return _ByNumpy(*scanner.scan(items))
    found, irregular = scan_examples(tuple(items), scanner.keys)
    if irregular:
        written = list(items)
        for number in irregular:
            written[number] = scanner.rewritten(items[number], number)
        found, irregular = scan_examples(tuple(written), scanner.keys)
        if irregular:
            raise ValueError(irregular[0])
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

    def fill(self) -> None:
        """The columns have their values from the beginning."""


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


# The compiled scanner has more kinds: numbers that are not packed, and integers that are too long.
_OVERLONG = 7
_PLAIN = (MISSING, BYTES, FLOATS, INTS, BYTES, FLOATS, INTS, INTS)
_SETS: list[set[int]] = [{_PLAIN[k] for k in range(8) if bits >> k & 1} for bits in range(256)]


class Scanned(Found):
    """The features that the compiled scanner has found.

    Args:
        items: what they are in.
        places: of the values of each feature: int32 [features, stride, 4], as the scanner writes them.
        sets: the kinds of each feature, as bits.
        totals, longest: the sum of the counts of values, and the greatest of them.
        owners: the item of each place: int32 [stride]; None where each item has one place, in their order.
    """

    def __init__(
        self,
        items: tuple[bytes, ...],
        places: Array,
        sets: list[int],
        totals: list[int],
        longest: list[int],
        owners: Array | None = None,
    ) -> None:
        self._items = items
        self._places = places
        self._sets = sets
        self._totals = totals
        self._longest = longest
        self._owners = owners
        self._count = len(items if owners is None else owners)
        self._wanted: list[tuple[Any, ...]] = []

    def kinds(self, place: int) -> set[int]:
        return _SETS[self._sets[place]]

    def kind(self, number: int, place: int) -> int:
        return _PLAIN[self._places[place, number, 0]]

    def column(self, place: int, kind: int) -> Column:
        if self._sets[place] >> _OVERLONG & 1:
            raise ValueError("a varint is longer than ten bytes")
        places = self._places[place, : self._count]
        return _Encoded(place, places, _TYPES[kind], self._totals[place], self._longest[place], self._wanted)

    def fill(self) -> None:
        # One call for all: each has to look at the items, and the numbers are read while strings are made.
        wanted = tuple(self._wanted)
        self._wanted.clear()
        features, stride = self._places.shape[:2]
        native.native.example_values(
            self._items, features, self._places, stride, wanted, thread_count(), self._owners
        )


def scan_examples(
    items: tuple[bytes, ...], keys: tuple[bytes, ...], sizes: Array | None = None
) -> tuple[Scanned, list[int]]:
    """The features of Examples by the compiled scanner, and the indices of those that it cannot read.

    Args:
        sizes: of the Examples, where they are the beginnings of the items: int64 [items].
    """
    # An odd number of cache lines for each feature: those of one item would else fall in few of its sets.
    stride = ((len(items) + 3) // 4 | 1) * 4
    places = np.empty((len(keys), stride, 4), np.int32)
    irregular, *found = native.native.scan_examples(items, keys, places, stride, thread_count(), sizes)
    return Scanned(items, places, *found), irregular


class _Encoded(Column):
    """Values that are decoded when the destinations of all are known.

    Args:
        number: of the feature.
        places: of its values in the Examples: int32 [Examples, 4], as the scanner writes them.
        wanted: takes the arrays to fill, as `example_values` wants them.
    """

    def __init__(
        self,
        number: int,
        places: Array,
        dtype: np.dtype[Any],
        total: int,
        longest: int,
        wanted: list[tuple[Any, ...]],
    ) -> None:
        self.total = total
        self.longest = longest
        self.dtype = dtype
        self._number = number
        self._places = places
        self._wanted = wanted

    @property
    def counts(self) -> Array:
        return self._places[:, 3]

    def values(self) -> Array:
        values = np.empty(self.total, self.dtype)
        self._wanted.append((self._number, values, -1, None))
        return values

    def values_and_indices(self) -> tuple[Array, Array]:
        values, indices = np.empty(self.total, self.dtype), np.empty((self.total, 2), np.int64)
        self._wanted.append((self._number, values, -1, indices))
        return values, indices

    def _fill(self, result: Array) -> None:
        self._wanted.append((self._number, result, result.shape[1], None))
