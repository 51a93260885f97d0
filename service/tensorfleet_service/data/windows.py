"""Datasets that cut others anew: windows of elements, batches of another size, the rows of a SparseTensor."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.data.dataset import CHECKED, Call, Dataset, Element, Run
from tensorfleet_service.data.experimental import Listed
from tensorfleet_service.data.position import Position, State


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


class Window(Dataset):
    """Windows of elements: for each component a dataset of those in the window (`WindowDataset`).

    Args:
        size: the number of elements in a window.
        shift: the number of elements from the beginning of one window to that of the next.
        stride: the distance between the elements of a window.
        drop: whether windows with fewer elements, at the end, are left out.

    Raises:
        InvalidArgumentError: a size, shift or stride is not positive.
    """

    def __init__(self, source: Dataset, size: int, shift: int, stride: int, drop: bool) -> None:
        super().__init__(source)
        for name, value in (("size", size), ("shift", shift), ("stride", stride)):
            if value < 1:
                raise _invalid(f"Window {name} must be greater than zero.")
        self.span = (size - 1) * stride + 1
        self.shift = shift
        self.stride = stride
        self.drop = drop
        self.blocks = self.blocks or max(self.span, shift) > CHECKED  # elements for one window

    def items(self, run: Run) -> Iterator[Element]:
        return _Windows(run, self, self.source.elements(run))


class _Windows(Position):
    """The iterator of windows. An error in place of an element fails the windows that have it."""

    __slots__ = ("_ahead", "_elements", "_ended", "_read", "_run", "_skip", "_window")
    PARTS = ("_elements",)
    STATE = ("_ahead", "_skip", "_read", "_ended")

    def __init__(self, run: Run, window: Window, elements: Iterator[Element]) -> None:
        self._run = run
        self._window = window
        self._elements = elements
        self._ahead: deque[Element | errors.OpError] = deque()
        self._skip = 0
        self._read = 0
        self._ended = False

    def __next__(self) -> Element:
        window, ahead = self._window, self._ahead
        while self._skip and not self._ended:
            self._take()
            self._skip -= 1
        while len(ahead) < window.span and not self._ended:
            found = self._take()
            if found is not None:
                ahead.append(found)
        if not ahead or (window.drop and len(ahead) < window.span):
            raise StopIteration
        elements = list(itertools.islice(ahead, 0, None, window.stride))
        for _ in range(min(window.shift, len(ahead))):
            ahead.popleft()
        # What lies between this window and the next one is read with the next one.
        self._skip = max(window.shift - window.span, 0)
        for element in elements:
            if isinstance(element, errors.OpError):
                raise element
        return tuple(self._part(column, i) for i, column in enumerate(zip(*elements, strict=True)))

    def _take(self) -> Element | errors.OpError | None:
        """The next element or the error in its place; None at the end."""
        self._read += 1
        if not self._read % CHECKED:
            self._run.check()
        try:
            return next(self._elements)
        except StopIteration:
            self._ended = True
            return None
        except errors.CancelledError:
            raise
        except errors.OpError as e:
            return e

    def _part(self, column: Sequence[Any], component: int) -> Dataset:
        part = Listed([(value,) for value in column])
        source = self._window.source
        part.types = source.types[component : component + 1]
        part.shapes = source.shapes[component : component + 1]
        return part


class Rebatch(Dataset):
    """The rows of batches, in batches of other sizes (`RebatchDatasetV2`).

    Args:
        sizes: the sizes of the batches, in turns.
        drop: whether a last batch that is smaller is left out.

    Raises:
        InvalidArgumentError: there are no sizes, or a size is negative.
    """

    def __init__(self, source: Dataset, sizes: Sequence[int], drop: bool) -> None:
        super().__init__(source)
        if not sizes or min(sizes) < 0:
            raise _invalid(
                f"Batch sizes must be one or more numbers that are not negative, got {list(sizes)}."
            )
        self._sizes = tuple(sizes)
        self._drop = drop
        self.blocks = True  # there may be no rows, in any number of batches

    def items(self, run: Run) -> Iterator[Element]:
        return _Rebatching(run, self.source.elements(run), self._sizes, self._drop)


class _Rebatching(Position):
    __slots__ = ("_count", "_drop", "_elements", "_parts", "_place", "_rest", "_run", "_sizes", "_turn")
    PARTS = ("_elements",)
    STATE = ("_turn", "_rest", "_place", "_parts", "_count")

    def __init__(self, run: Run, elements: Iterator[Element], sizes: tuple[int, ...], drop: bool) -> None:
        self._run = run
        self._elements = elements
        self._sizes = sizes
        self._drop = drop
        self._turn = 0
        self._rest: Element | None = None  # a batch of the input whose rows from `_place` on are left
        self._place = 0
        self._parts: list[Element] = []  # of the batch that is being made, with `_count` rows
        self._count = 0

    def __next__(self) -> Element:
        size = self._sizes[self._turn]
        try:
            while self._count < size or not self._parts:
                if not self._add(size):
                    break
        except errors.OpError:
            self._parts, self._count = [], 0
            raise
        parts, count = self._parts, self._count
        self._parts, self._count = [], 0
        if not parts or (size and not count) or (self._drop and count < size):
            raise StopIteration
        self._turn = (self._turn + 1) % len(self._sizes)
        return parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))

    def _add(self, size: int) -> bool:
        """Takes rows from the next batch of the input. Returns whether there was one."""
        if self._rest is None:
            self._run.check()
            try:
                self._rest, self._place = self._checked(next(self._elements)), 0
            except StopIteration:
                return False
        length = len(self._rest[0])
        begin, end = self._place, min(self._place + size - self._count, length)
        if end > begin or not self._parts:
            self._parts.append(tuple(array[begin:end] for array in self._rest))
        self._count += end - begin
        self._place = end
        if end == length:
            self._rest = None
        return True

    def _checked(self, element: Element) -> Element:
        for value in element:
            if not getattr(value, "ndim", 0):
                raise _invalid("Cannot rebatch elements of which a component is a scalar.")
            if len(value) != len(element[0]):
                text = f"The components of an element differ in length: {len(element[0])} and {len(value)}."
                raise _invalid(text)
        return element


class SparseRows(Dataset):
    """The rows of a SparseTensor: their indices, values and dense shape (`SparseTensorSliceDataset`).

    Raises:
        InvalidArgumentError: the three tensors do not belong together.
        UnimplementedError: the values are not in the order of the rows.
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        super().__init__()
        if indices.ndim != 2 or values.ndim != 1 or dense_shape.ndim != 1:
            raise _invalid("A SparseTensor has a matrix of indices, a vector of values, and one of sizes.")
        if indices.shape != (len(values), len(dense_shape)) or not len(dense_shape):
            raise _invalid(
                f"Indices of shape {list(indices.shape)} do not fit {len(values)} values in "
                f"{len(dense_shape)} dimensions."
            )
        rows = indices[:, 0]
        self.count = int(dense_shape[0])
        if np.any(rows[1:] < rows[:-1]):
            raise errors.UnimplementedError(
                None,
                None,
                "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input "
                "is not currently supported.",
            )
        if len(rows) and not (rows[0] >= 0 and rows[-1] < self.count):
            raise _invalid(f"An index is outside of the {self.count} rows.")
        self._parts = indices, values, dense_shape

    def items(self, run: Run) -> Iterator[Element]:
        indices, values, dense_shape = self._parts
        ends = np.searchsorted(indices[:, 0], np.arange(self.count + 1))
        shape = dense_shape[1:]

        def row(number: int) -> Element:
            a, b = ends[number], ends[number + 1]
            return indices[a:b, 1:], values[a:b], shape

        return map(row, range(self.count))


class GroupByReducer(Dataset):
    """One element for each key, made of all elements with this key (`GroupByReducerDataset`).

    Args:
        calls: from an element to its key, from a key to its first state, from a state and an element to the
            next state, and from the last state to an element.
    """

    def __init__(self, source: Dataset, *calls: Call) -> None:
        super().__init__(source)
        self.blocks = True  # the first element takes all those of the input
        self._calls = calls

    def items(self, run: Run) -> Iterator[Element]:
        return _Reducing(run, self.source.elements(run), *(call.bind(run) for call in self._calls))


class _Reducing(Position):
    __slots__ = ("_elements", "_finalize", "_init", "_key", "_order", "_reduce", "_run", "_states")
    PARTS = ("_elements",)
    STATE = ("_states",)

    def __init__(
        self, run: Run, elements: Iterator[Element], key: Any, init: Any, reduce: Any, finalize: Any
    ) -> None:
        self._run = run
        self._elements: Iterator[Element] | None = elements
        self._key = key
        self._init = init
        self._reduce = reduce
        self._finalize = finalize
        self._states: dict[int, Element] = {}
        self._order: Iterator[int] | None = None

    def restore(self, saved: State) -> None:
        super().restore(saved)
        if saved["_elements"] is None:
            self._order = iter(list(self._states))

    def __next__(self) -> Element:
        while self._elements is not None:
            self._run.check()
            try:
                element = next(self._elements)
            except StopIteration:
                self._order = iter(list(self._states))
                self._elements = None
                break
            (found,) = self._key(*element)
            if getattr(found, "shape", ()):
                raise _invalid("`key_func` must return a scalar int64.")
            key = int(found)
            if key not in self._states:
                self._states[key] = tuple(self._init(np.int64(key)))
            self._states[key] = tuple(self._reduce(*self._states[key], *element))
        assert self._order is not None, "it begins with the end of the elements"
        return tuple(self._finalize(*self._states.pop(next(self._order))))
