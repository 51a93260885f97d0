"""Datasets that begin a pipeline: tensors, the rows of tensors, ranges, and Python generators."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.data.dataset import Call, Dataset, Element, Rows, Run

log = logging.getLogger(__name__)


class Tensors(Dataset):
    """One element (`TensorDataset`)."""

    def __init__(self, element: Element) -> None:
        super().__init__()
        self._element = element

    def items(self, run: Run) -> Iterator[Element]:
        return iter((self._element,))


class Slices(Dataset):
    """The rows of arrays (`TensorSliceDataset`).

    Raises:
        InvalidArgumentError: the arrays have no rows, or not equally many.
    """

    def __init__(self, arrays: Sequence[Any]) -> None:
        super().__init__()
        for i, array in enumerate(arrays):
            if not array.ndim:
                text = f"All components must be at least 1-dimensional, but component {i} is a scalar"
                raise errors.InvalidArgumentError(None, None, text)
            if len(array) != len(arrays[0]):
                text = (
                    "All components must have the same size in the 0th dimension, but component 0 has "
                    f"{len(arrays[0])} and component {i} has {len(array)}"
                )
                raise errors.InvalidArgumentError(None, None, text)
        self.rows = Rows(arrays)
        self._size = len(arrays[0])

    def items(self, run: Run) -> Iterator[int]:
        return iter(range(self._size))


class Range(Dataset):
    """Integers from `start` to before `stop` (`RangeDataset`)."""

    def __init__(self, start: int, stop: int, step: int, dtype: np.dtype[Any]) -> None:
        super().__init__()
        if not step:
            raise errors.InvalidArgumentError(None, None, "step must be a non-zero integer.")
        self._numbers = range(start, stop, step)
        self._type = dtype.type

    def items(self, run: Run) -> Iterator[Element]:
        return zip(map(self._type, self._numbers))


class Generator(Dataset):
    """The elements of functions that begin, go on and end (`GeneratorDataset`)."""

    def __init__(self, begin: Call, go_on: Call, end: Call) -> None:
        super().__init__()
        self.blocks = True  # the functions are the user's, and may take long
        self._calls = begin, go_on, end

    def items(self, run: Run) -> Iterator[Element]:
        return _Generating(run, *self._calls)


class _Generating:
    def __init__(self, run: Run, begin: Call, go_on: Call, end: Call) -> None:
        self._run = run
        self._begin = begin.bind(run)
        self._go_on = go_on.bind(run)
        self._end = end.bind(run)
        self._state: Element | None = None
        self._lock = threading.Lock()
        self._running = False
        self._ended = False

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        with self._lock:
            if self._ended:
                raise StopIteration
            self._running = True
        try:
            if self._state is None:
                self._state = self._begin()
                self._run.open(self, keep=True)
            return self._go_on(*self._state)
        except errors.OutOfRangeError:
            self._run.drop(self)
            self._ended = True
            raise StopIteration from None
        finally:
            with self._lock:
                self._running = False
                ended = self._ended
            if ended:
                self._finish()

    def close(self) -> None:
        """Ends the generator, at once or when its running function returns."""
        with self._lock:
            ended, self._ended = self._ended, True
            running = self._running
        if not ended and not running:
            self._finish()

    def _finish(self) -> None:
        if self._state is not None:
            try:
                self._end(*self._state)
            except errors.OpError as e:
                # Nobody waits for the generator any longer, so nobody else would get the error.
                log.warning("the finalizer of a generator failed: %s", e.message)
