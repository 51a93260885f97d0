"""Arrays of the features of SequenceExamples that the compiled scanner reads.

It reads what serializers write, where nothing is wrong with it. All else is left to
`sequences`, which has the errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet_service.devices import native
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.records.columns import Array, Column, Found, Scanned, scan_examples
from tensorfleet_service.records.examples import KINDS
from tensorfleet_service.records.sequences import Fixed, Sequences, Sparse, index_steps, pad_steps
from tensorfleet_service.records.spans import MISSING
from tensorfleet_service.threads import unlocked


class Irregular(Exception):
    """SequenceExamples that protobuf has to read, or that are not as they should be."""


class EncodedSequences(Sequences):
    """SequenceExamples as serializers write them.

    Args:
        context: the names of the features of whole sequences that are wanted.
        steps: those of the features of steps.

    Raises:
        Irregular: one has another form. The methods raise it where one lacks a feature, or has it with
            another type or size.
    """

    def __init__(
        self, items: Sequence[bytes], context: Sequence[str], steps: Sequence[str], single: bool
    ) -> None:
        self._items = tuple(items)
        self._single = single
        self._context_places = {name: i for i, name in enumerate(dict.fromkeys(context))}
        self._steps_places = {name: i for i, name in enumerate(dict.fromkeys(steps))}
        sizes = np.empty(len(items), np.int64)
        self._lists = np.empty((len(self._steps_places), len(items), 3), np.int32)  # begin, end, steps or -1
        keys = tuple(name.encode() for name in self._steps_places)
        if not native.native.scan_sequences(self._items, keys, sizes, self._lists, thread_count()):
            raise Irregular
        keys = tuple(name.encode() for name in self._context_places)
        self._context, irregular = scan_examples(self._items, keys, sizes)
        if irregular:
            raise Irregular

    def fill(self) -> None:
        self._context.fill()

    def context_sparse(self, feature: Sparse) -> tuple[Any, Any, Any]:
        column = _column(self._context, self._context_places[feature.key], feature)
        if self._single:
            shape = np.array([column.total], np.int64)
            return np.arange(column.total, dtype=np.int64)[:, None], column.values(), shape
        values, indices = column.values_and_indices()
        return indices, values, np.array([len(self._items), column.longest], np.int64)

    def context_dense(self, feature: Fixed) -> Any:
        size, place, count = math.prod(feature.dims), self._context_places[feature.key], len(self._items)
        column = _column(self._context, place, feature)
        wrong = column.counts != size
        if feature.default.size:
            wrong &= np.array([self._context.kind(i, place) != MISSING for i in range(count)], bool)
        if wrong.any():
            raise Irregular
        made = column.rows(size, feature.default.reshape(-1))
        # A view in every case: an element taken from the array now would miss what `fill` writes later.
        return made.reshape(feature.dims if self._single else (count, *feature.dims))

    def _steps(self, feature: Sparse | Fixed, may_lack: bool) -> tuple[Array, Column, Found]:
        """The number of steps of each sequence, the values of all steps, and what fills these in."""
        lists = self._lists[self._steps_places[feature.key]]
        lengths = lists[:, 2].astype(np.int64)
        if lengths.min(initial=0) < 0:
            if not may_lack:
                raise Irregular
            np.maximum(lengths, 0, out=lengths)
        count = int(lengths.sum())
        places = np.empty((1, count, 4), np.int32)
        totals = native.native.scan_steps(self._items, lists, count, places, thread_count())
        if totals is None:
            raise Irregular
        owners = unlocked.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        bits, total, longest = totals
        found = Scanned(self._items, places, [bits], [total], [longest], owners)
        return lengths, _column(found, 0, feature), found

    def steps_sparse(self, feature: Sparse) -> tuple[Any, Any, Any]:
        lengths, column, found = self._steps(feature, True)
        values, rows_and_columns = column.values_and_indices()
        found.fill()
        indices, shape = index_steps(rows_and_columns, lengths, column.longest, self._single)
        return indices, values, shape

    def steps_dense(self, feature: Fixed) -> tuple[Any, Any]:
        lengths, column, found = self._steps(feature, feature.may_lack)
        size = math.prod(feature.dims)
        if (column.counts != size).any():
            raise Irregular
        values = column.values()
        found.fill()
        result = pad_steps(values.reshape(int(lengths.sum()), *feature.dims), lengths)
        return (result[0], lengths[0]) if self._single else (result, lengths)


def _column(found: Found, place: int, feature: Sparse | Fixed) -> Column:
    kind = KINDS[feature.dtype]
    if not found.kinds(place) <= {MISSING, kind}:
        raise Irregular
    try:
        return found.column(place, kind)
    except ValueError:
        raise Irregular from None
