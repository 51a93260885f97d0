"""Datasets of batches: several elements stacked, unchanged or padded to one shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet_service.data.dataset import PIECE, Dataset, Element, Rows, Run, many, taken
from tensorfleet_service.data.position import Position


class Batch(Dataset):
    """`size` elements at a time, stacked (`BatchDatasetV2`); the last batch may be smaller, or is dropped.

    Raises:
        InvalidArgumentError: the size is not positive.
    """

    def __init__(self, source: Dataset, size: int, drop_remainder: bool) -> None:
        super().__init__(source)
        if size < 1:
            raise errors.InvalidArgumentError(None, None, "Batch size must be greater than zero.")
        self.blocks = self.blocks or size > PIECE  # elements for one batch
        self._size = size
        self._drop = drop_remainder

    def items(self, run: Run) -> Iterator[Element]:
        return _Batching(run, self.source.items(run), self._size, self._drop, self.source.rows)


class _Batching(Position):
    __slots__ = ("_drop", "_items", "_rows", "_run", "_size")
    PARTS = ("_items",)

    def __init__(self, run: Run, items: Iterator[Any], size: int, drop: bool, rows: Rows | None) -> None:
        self._run = run
        self._items = items
        self._size = size
        self._drop = drop
        self._rows = rows

    def __next__(self) -> Element:
        found = (taken if self._rows is None else many)(self._items, self._size, self._run)
        if not found or (self._drop and len(found) < self._size):
            raise StopIteration
        return stack(found) if self._rows is None else self._rows.gather(found)


def stack(elements: Sequence[Element]) -> Element:
    """The components of elements, stacked.

    Raises:
        InvalidArgumentError: a component's shapes differ between elements.
    """
    return tuple([_stack(column, i) for i, column in enumerate(zip(*elements, strict=True))])


def _stack(column: tuple[Any, ...], component: int) -> Any:
    first = column[0]
    if not hasattr(first, "dtype"):
        return _objects(column)
    shape, dtype = first.shape, first.dtype
    if isinstance(first, np.generic):
        return np.array(column, dtype)
    result = np.empty((len(column), *shape), dtype)
    for i, value in enumerate(column):
        if value.shape != shape:
            text = (
                f"Cannot batch tensors with different shapes in component {component}. First element had "
                f"shape {format_dims(shape)} and element {i} had shape {format_dims(value.shape)}."
            )
            raise errors.InvalidArgumentError(None, None, text)
        result[i] = value if shape else value[()]
    return result


def _objects(column: tuple[Any, ...]) -> Any:
    """A vector of values that are not arrays, such as datasets."""
    made = np.empty(len(column), object)
    for i, value in enumerate(column):
        made[i] = value
    return made


class PaddedBatch(Dataset):
    """`size` elements at a time, each component padded to one shape (`PaddedBatchDatasetV2`).

    Args:
        shapes: the shape of each component; a negative size means the largest in the batch.
        values: the padding of each component.

    Raises:
        InvalidArgumentError: the size is not positive.
    """

    def __init__(
        self, source: Dataset, size: int, shapes: Sequence[Sequence[int]], values: Element, drop: bool
    ) -> None:
        super().__init__(source)
        if size < 1:
            raise errors.InvalidArgumentError(None, None, "Batch size must be greater than zero.")
        self.blocks = self.blocks or size > PIECE  # elements for one batch
        self._size = size
        self._shapes = [tuple(shape) for shape in shapes]
        self._values = values
        self._drop = drop

    def items(self, run: Run) -> Iterator[Element]:
        return _Padding(run, self.source.elements(run), self._size, self._shapes, self._values, self._drop)


class _Padding(Position):
    __slots__ = ("_drop", "_elements", "_run", "_shapes", "_size", "_values")
    PARTS = ("_elements",)

    def __init__(
        self,
        run: Run,
        elements: Iterator[Element],
        size: int,
        shapes: list[tuple[int, ...]],
        values: Element,
        drop: bool,
    ) -> None:
        self._run = run
        self._elements = elements
        self._size = size
        self._shapes = shapes
        self._values = values
        self._drop = drop

    def __next__(self) -> Element:
        found = taken(self._elements, self._size, self._run)
        if not found or (self._drop and len(found) < self._size):
            raise StopIteration
        columns = zip(*found, strict=True)
        return tuple(
            [
                _pad(column, shape, value)
                for column, shape, value in zip(columns, self._shapes, self._values, strict=True)
            ]
        )


def _pad(column: tuple[Any, ...], wanted: tuple[int, ...], value: Any) -> Any:
    for item in column:
        if item.ndim != len(wanted):
            text = (
                "All elements in a batch must have the same rank as the padded shape for component: expected "
                f"rank {len(wanted)} but got element with rank {item.ndim}"
            )
            raise errors.InvalidArgumentError(None, None, text)
        if any(0 <= limit < size for size, limit in zip(item.shape, wanted, strict=True)):
            text = "Attempted to pad to a smaller size than the input element."
            raise errors.DataLossError(None, None, text)
    largest = [max(sizes) for sizes in zip(*(item.shape for item in column), strict=True)]
    shape = [size if limit < 0 else limit for size, limit in zip(largest, wanted, strict=True)]
    result = np.empty((len(column), *shape), column[0].dtype)
    result[...] = value[()] if isinstance(value, np.ndarray) else value
    for row, item in enumerate(column):
        place: tuple[Any, ...] = (row, *map(slice, item.shape))
        result[place] = item if item.shape else item[()]
    return result
