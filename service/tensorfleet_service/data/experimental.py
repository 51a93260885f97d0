"""Datasets that pick, group and take apart the elements of others: unbatch, unique, take_while, scan, …"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.data.dataset import CHECKED, Call, Dataset, Element, Made, Run, checked
from tensorfleet_service.data.position import Position, State

log = logging.getLogger(__name__)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


class Listed(Dataset):
    """A list of elements."""

    def __init__(self, elements: Sequence[Element]) -> None:
        super().__init__()
        self.listed = elements

    def items(self, run: Run) -> Iterator[Element]:
        return iter(self.listed)


class Unbatch(Dataset):
    """The rows of the elements, each an element (`UnbatchDataset`)."""

    def __init__(self, source: Dataset) -> None:
        super().__init__(source)
        self.blocks = True  # there may be elements without a row, in any number

    def items(self, run: Run) -> Iterator[Element]:
        return _Unbatching(run, self.source.elements(run))


class _Unbatching(Position):
    __slots__ = ("_elements", "_ready", "_run")
    PARTS = ("_elements",)
    STATE = ("_ready",)

    def __init__(self, run: Run, elements: Iterator[Element]) -> None:
        self._run = run
        self._elements = elements
        self._ready: deque[Element] = deque()

    def __next__(self) -> Element:
        empty = 0
        while not self._ready:
            empty += 1
            if not empty % CHECKED:
                self._run.check()
            element = next(self._elements)
            lengths = set()
            for value in element:
                if not value.ndim:
                    raise _invalid("Input must have at least rank 1")
                lengths.add(len(value))
            if len(lengths) > 1:
                text = (
                    f"Input element must have the same batch size in each component. Found {sorted(lengths)}"
                )
                raise _invalid(text)
            self._ready.extend(zip(*map(_rows, element), strict=True))
        return self._ready.popleft()


def _rows(value: Any) -> list[Any]:
    if value.ndim == 1 and value.dtype == object:
        return [
            value[i : i + 1].reshape(()) if isinstance(value[i], bytes) else value[i]
            for i in range(len(value))
        ]
    return list(value)


class Unique(Dataset):
    """The elements without repetitions (`UniqueDataset`); all of them are kept in memory."""

    def __init__(self, source: Dataset) -> None:
        super().__init__(source)
        self.blocks = True  # there may be none that is new, of any number

    def items(self, run: Run) -> Iterator[Element]:
        return _Unique(run, self.source.elements(run))


class _Unique(Position):
    __slots__ = ("_elements", "_known", "_run")
    PARTS = ("_elements",)
    STATE = ("_known",)

    def __init__(self, run: Run, elements: Iterator[Element]) -> None:
        self._run = run
        self._elements = elements
        self._known: set[Any] = set()

    def __next__(self) -> Element:
        left_out = 0
        while True:
            if left_out == CHECKED:
                self._run.check()
                left_out = 0
            left_out += 1
            element = next(self._elements)
            key = tuple([_key(value) for value in element])
            if key not in self._known:
                self._known.add(key)
                return element


def _key(value: Any) -> Any:
    return value.shape, tuple(value.ravel().tolist()) if value.dtype == object else value.tobytes()


class TakeWhile(Dataset):
    """The elements before the first for which a function is false (`TakeWhileDataset`)."""

    def __init__(self, source: Dataset, predicate: Call) -> None:
        super().__init__(source)
        self.blocks = self.blocks or predicate.waits
        self._predicate = predicate

    def items(self, run: Run) -> Iterator[Element]:
        return _TakingWhile(self.source.elements(run), self._predicate.bind(run))


class _TakingWhile(Position):
    __slots__ = ("_elements", "_ended", "_predicate")
    PARTS = ("_elements",)
    STATE = ("_ended",)

    def __init__(self, elements: Iterator[Element], predicate: Any) -> None:
        self._elements = elements
        self._predicate = predicate
        self._ended = False

    def __next__(self) -> Element:
        if self._ended:
            raise StopIteration
        element = next(self._elements)
        (keep,) = self._predicate(*element)
        if not keep:
            self._ended = True
            raise StopIteration
        return element


class Scan(Dataset):
    """The elements that a function makes of its state and the elements (`ScanDataset`).

    Args:
        keep_count: whether there are as many elements as in the input, for the cardinality.
    """

    def __init__(self, source: Dataset, state: Sequence[Any], call: Call, keep_count: bool) -> None:
        super().__init__(source)
        self.keep_count = keep_count
        self.blocks = self.blocks or call.waits
        self._state = tuple(state)
        self._call = call

    def items(self, run: Run) -> Iterator[Element]:
        return _Scanning(self.source.elements(run), self._state, self._call.bind(run))


class _Scanning(Position):
    __slots__ = ("_elements", "_function", "_state")
    PARTS = ("_elements",)
    STATE = ("_state",)

    def __init__(self, elements: Iterator[Element], state: tuple[Any, ...], function: Any) -> None:
        self._elements = elements
        self._state = state
        self._function = function

    def __next__(self) -> Element:
        element = next(self._elements)
        try:
            found = self._function(*self._state, *element)
        except errors.OutOfRangeError:
            raise StopIteration from None
        count = len(self._state)
        self._state = tuple(found[:count])
        return tuple(found[count:])


class IgnoreErrors(Dataset):
    """The elements without those whose computation fails (`IgnoreErrorsDataset`)."""

    def __init__(self, source: Dataset, warn: bool) -> None:
        super().__init__(source)
        self._warn = warn

    def items(self, run: Run) -> Iterator[Element]:
        return _Ignoring(self.source.elements(run), self._warn)


class _Ignoring(Position):
    __slots__ = ("_elements", "_warn")
    PARTS = ("_elements",)

    def __init__(self, elements: Iterator[Element], warn: bool) -> None:
        self._elements = elements
        self._warn = warn

    def __next__(self) -> Element:
        while True:
            try:
                return next(self._elements)
            except errors.CancelledError:
                raise
            except errors.OpError as e:
                if self._warn:
                    log.warning("an element of a dataset is left out: %s", e.message)


class Directed(Dataset):
    """Elements of several datasets, as a dataset of indices chooses (`DirectedInterleaveDataset`).

    Args:
        stop: whether it ends when a chosen dataset has ended; else it goes on with the next index.
    """

    def __init__(self, selector: Dataset, datasets: Sequence[Dataset], stop: bool) -> None:
        super().__init__(selector, *datasets)
        self._stop = stop

    def items(self, run: Run) -> Iterator[Element]:
        selector, *parts = (dataset.elements(run) for dataset in self.inputs)
        return _Directing(run, selector, parts, self._stop)


class _Directing(Position):
    __slots__ = ("_left", "_parts", "_run", "_selector", "_stop")
    PARTS = ("_selector", "_parts")
    STATE = ("_left",)

    def __init__(
        self, run: Run, selector: Iterator[Element], parts: Sequence[Iterator[Element]], stop: bool
    ) -> None:
        self._run = run
        self._selector = selector
        self._parts: list[Iterator[Element] | None] = list(parts)
        self._left = len(parts)
        self._stop = stop

    def __next__(self) -> Element:
        skipped = 0
        while self._left:
            (number,) = next(self._selector)
            if not 0 <= number < len(self._parts):
                raise _invalid(f"Selector index out of range: {int(number)} >= {len(self._parts)}")
            part = self._parts[int(number)]
            if part is None:
                skipped += 1
                if not skipped % CHECKED:
                    self._run.check()
                continue
            try:
                return next(part)
            except StopIteration:
                self._parts[int(number)] = None
                self._left = 0 if self._stop else self._left - 1
        raise StopIteration


class GroupByWindow(Dataset):
    """The datasets that a function makes of windows of elements with the same key (`GroupByWindowDataset`).

    Args:
        key: the function from an element to its key.
        reduce: the function from a key and the dataset of a window to a dataset.
        size: the function from a key to the number of elements in its windows.
    """

    def __init__(self, source: Dataset, key: Call, reduce: Call, size: Call) -> None:
        super().__init__(source)
        self.blocks = True  # the function's datasets may block
        self._calls = key, reduce, size

    def items(self, run: Run) -> Iterator[Element]:
        key, reduce, size = (call.bind(run) for call in self._calls)
        return _Grouping(run, self.source, key, reduce, size)


class _Grouping(Position):
    PARTS = ("_elements",)
    STATE = ("_windows", "_sizes")

    def __init__(self, run: Run, source: Dataset, key: Any, reduce: Any, size: Any) -> None:
        self._run = run
        self._source = source
        self._elements: Iterator[Element] | None = source.elements(run)
        self._key = key
        self._reduce = reduce
        self._size = size
        self._windows: dict[int, list[Element]] = {}
        self._sizes: dict[int, int] = {}
        self._current: Made | None = None

    def save(self) -> State:
        return super().save() | {"current": self._current and self._current.save()}

    def restore(self, saved: State) -> None:
        super().restore(saved)
        if (found := saved["current"]) is not None:
            self._current = self._made(*found["of"])
            self._current.restore(found)

    def __next__(self) -> Element:
        gathered = 0
        while True:
            if self._current is not None:
                try:
                    return next(self._current)
                except StopIteration:
                    self._current = None
            if self._elements is None:
                if not self._windows:
                    raise StopIteration
                self._begin(min(self._windows))
                continue
            gathered += 1
            if not gathered % CHECKED:
                self._run.check()
            try:
                element = next(self._elements)
            except StopIteration:
                self._elements = None
                continue
            (found,) = self._key(*element)
            if getattr(found, "shape", ()):
                raise _invalid("`key_func` must return a scalar int64.")
            key = int(found)
            if key not in self._sizes:
                (size,) = self._size(np.int64(key))
                if int(size) < 1:
                    raise _invalid("Window size must be greater than zero, but got " + str(int(size)) + ".")
                self._sizes[key] = int(size)
            window = self._windows.setdefault(key, [])
            window.append(element)
            if len(window) >= self._sizes[key]:
                self._begin(key)

    def _begin(self, key: int) -> None:
        elements = self._windows.pop(key)
        self._sizes.pop(key, None)
        self._current = self._made(key, elements)

    def _made(self, key: int, elements: list[Element]) -> Made:
        window = Listed(elements)
        window.types, window.shapes = self._source.types, self._source.shapes
        (dataset,) = self._reduce(np.int64(key), window)
        return Made((key, elements), checked(dataset), self._run)


class SparseBatch(Dataset):
    """Vectors, stacked as SparseTensors of one row shape (`DenseToSparseBatchDataset`)."""

    def __init__(self, source: Dataset, size: int, row_shape: Sequence[int]) -> None:
        super().__init__(source)
        if size < 1:
            raise _invalid("Batch size must be greater than zero.")
        self.size = size
        self.blocks = self.blocks or size > CHECKED  # elements for one batch
        self._row_shape = [int(d) for d in row_shape]

    def items(self, run: Run) -> Iterator[Element]:
        return _SparseBatching(run, self.source.elements(run), self.size, self._row_shape)


class _SparseBatching(Position):
    __slots__ = ("_elements", "_row_shape", "_run", "_size")
    PARTS = ("_elements",)

    def __init__(self, run: Run, elements: Iterator[Element], size: int, row_shape: list[int]) -> None:
        self._run = run
        self._elements = elements
        self._size = size
        self._row_shape = row_shape

    def __next__(self) -> Element:
        found: list[Any] = []
        while len(found) < self._size:
            if found and not len(found) % CHECKED:
                self._run.check()
            try:
                (value,) = next(self._elements)
            except StopIteration:
                if not found:
                    raise
                break
            wanted = self._row_shape
            if value.ndim != len(wanted):
                text = f"Input element must have shape ({wanted}) compatible with its rank {value.ndim}"
                raise _invalid(text)
            if any(0 <= limit < size for size, limit in zip(value.shape, wanted, strict=True)):
                raise errors.DataLossError(
                    None,
                    None,
                    f"Input element had shape {list(value.shape)} that is incompatible with the row shape",
                )
            found.append(value)
        sizes = [max(value.shape[i] for value in found) for i in range(len(self._row_shape))]
        shape = [d if d >= 0 else size for d, size in zip(self._row_shape, sizes, strict=True)]
        places = []
        for row, value in enumerate(found):
            inner = np.indices(value.shape).reshape(value.ndim, -1).T if value.ndim else np.zeros((1, 0))
            places.append(np.concatenate([np.full((len(inner), 1), row), inner], 1))
        packed = np.empty(3, object)
        packed[0] = np.concatenate(places).astype(np.int64)
        packed[1] = np.concatenate([value.reshape(-1) for value in found])
        packed[2] = np.array([len(found), *shape], np.int64)
        return (packed,)
