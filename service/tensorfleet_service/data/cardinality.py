"""The number of elements of a dataset, as far as it is known without iterating over it."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from tensorfleet_service.data.ahead import Prefetch
from tensorfleet_service.data.batching import Batch, PaddedBatch
from tensorfleet_service.data.dataset import Dataset
from tensorfleet_service.data.experimental import Scan, SparseBatch
from tensorfleet_service.data.functional import Map, ParallelMap
from tensorfleet_service.data.sequence import Cache, Concatenate, Repeat, Shard, Skip, Take, Zip
from tensorfleet_service.data.shuffle import Shuffle
from tensorfleet_service.data.sources import Range, Slices, Tensors
from tensorfleet_service.data.windows import SparseRows, Window

INFINITE, UNKNOWN = -1, -2


@singledispatch
def cardinality(dataset: Dataset) -> int:
    """The number of elements; INFINITE or UNKNOWN."""
    return UNKNOWN


@cardinality.register
def _(dataset: Tensors) -> int:
    return 1


@cardinality.register
def _(dataset: Slices) -> int:
    return dataset._size


@cardinality.register
def _(dataset: Range) -> int:
    return len(dataset._numbers)


def _same(dataset: Dataset) -> int:
    return cardinality(dataset.source)


cardinality.register(Cache, _same)
cardinality.register(Prefetch, _same)
cardinality.register(Shuffle, _same)


def _mapped(dataset: Any) -> int:
    return cardinality(dataset.source) if dataset._keep_count else UNKNOWN


cardinality.register(Map, _mapped)
cardinality.register(ParallelMap, _mapped)


@cardinality.register
def _(dataset: Repeat) -> int:
    count, once = dataset._count, cardinality(dataset.source)
    if not count or not once:
        return 0
    if count < 0:
        return INFINITE if once != UNKNOWN else UNKNOWN
    return once if once < 0 else once * count


@cardinality.register
def _(dataset: Take) -> int:
    count, all_of_it = dataset._count, cardinality(dataset.source)
    if count < 0 or all_of_it == UNKNOWN:
        return all_of_it if count else 0
    return count if all_of_it == INFINITE else min(count, all_of_it)


@cardinality.register
def _(dataset: Skip) -> int:
    count, all_of_it = dataset._count, cardinality(dataset.source)
    if count < 0:
        return 0
    return all_of_it if all_of_it < 0 else max(all_of_it - count, 0)


@cardinality.register
def _(dataset: Shard) -> int:
    all_of_it = cardinality(dataset.source)
    return all_of_it if all_of_it < 0 else len(range(dataset._index, all_of_it, dataset._count))


@cardinality.register
def _(dataset: Zip) -> int:
    counts = [cardinality(part) for part in dataset.inputs]
    if UNKNOWN in counts:
        return UNKNOWN
    return min((count for count in counts if count >= 0), default=INFINITE)


@cardinality.register
def _(dataset: Concatenate) -> int:
    counts = [cardinality(part) for part in dataset.inputs]
    return INFINITE if INFINITE in counts else UNKNOWN if UNKNOWN in counts else sum(counts)


@cardinality.register
def _(dataset: Scan) -> int:
    return cardinality(dataset.source) if dataset.keep_count else UNKNOWN


@cardinality.register
def _(dataset: SparseBatch) -> int:
    count = cardinality(dataset.source)
    return count if count < 0 else -(-count // dataset.size)


def _batches(dataset: Any) -> int:
    count = cardinality(dataset.source)
    return count if count < 0 else count // dataset._size if dataset._drop else -(-count // dataset._size)


cardinality.register(Batch, _batches)
cardinality.register(PaddedBatch, _batches)


@cardinality.register
def _(dataset: Window) -> int:
    count = cardinality(dataset.source)
    if count < 0:
        return count
    if dataset.drop:
        return max((count - dataset.span) // dataset.shift + 1, 0)
    return -(-count // dataset.shift)


@cardinality.register
def _(dataset: SparseRows) -> int:
    return dataset.count
