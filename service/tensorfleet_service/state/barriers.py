"""Barriers: elements whose components come one by one, under a key, and are given when all are there."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import Dims, compatible
from tensorfleet.core.dtypes import DType
from tensorfleet.core.long_texts import excerpt
from tensorfleet_service.state.queues import dims_text
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.piles import Dictionary, Heap

_FIRST = -(2**63)
"""The index of the elements whose keys came first: TensorFlow's."""
_MISSING = object()

Ready = tuple[int, int, bytes, Any]
"""(index, order of completion, key, components): elements are given in the order of the index.

The components are an array of objects, which the collector does not look into, as it would into a list.
"""


@dataclass
class _Take:
    """A call that waits for elements."""

    count: int
    small: bool
    future: Future


_Ended = list[tuple[_Take, Any, BaseException | None]]


class Barrier:
    """A barrier (`Barrier`). Safe to use from several threads.

    Args:
        name: for messages.
        dtypes, shapes: of the components of an element; no shapes: any.
    """

    def __init__(self, name: str, dtypes: list[DType], shapes: list[Dims]) -> None:
        self.name = name
        self.dtypes = dtypes
        self.shapes = shapes
        self._lock = threading.Lock()
        self._incomplete = Dictionary()  # arrays of the components and the index, by key
        self._ready = Heap()
        self._taking: deque[_Take] = deque()
        self._completions = itertools.count()
        self._index = _FIRST
        self._closed = False
        self._cancelled = False

    def __del__(self) -> None:
        self._incomplete.drop()
        self._ready.drop()

    def read(self) -> Any:
        """The value of a fetched reference to the barrier: its container and name."""
        return np.array([b"", self.name.encode()], object)

    @property
    def ready_size(self) -> int:
        with self._lock:  # while elements move within the heap, it has fewer or more
            return len(self._ready)

    @property
    def incomplete_size(self) -> int:
        with self._lock:
            return len(self._incomplete)

    def insert(self, keys: list[bytes], index: int, values: Any) -> None:
        """Adds a component for each of the keys; new keys begin elements.

        Raises:
            InvalidArgumentError: shapes that do not fit, or a key that has this component already.
            CancelledError: the barrier is closed to these keys.
        """
        self._check(keys, index, values)
        ended: _Ended = []
        try:
            with self._lock:
                if self._closed and (self._cancelled or (keys and not self._incomplete)):
                    raise errors.CancelledError(None, None, self._closed_text(len(keys)))
                try:
                    self._insert(keys, index, values)
                finally:
                    self._serve(ended)
        finally:
            _tell(ended)

    def _check(self, keys: list[bytes], index: int, values: Any) -> None:
        if not 0 <= index < len(self.dtypes):
            raise _invalid(
                f"The component ID is out of range {index} > num_components (= {len(self.dtypes)})"
            )
        if not values.ndim or values.shape[0] != len(keys):
            raise _invalid(
                f"Shape mismatch in tuple component {index}. There are {len(keys)} keys, and values of shape "
                f"{dims_text(values.shape)}"
            )
        if keys and not values.size:
            raise _invalid(
                f"Tensors with no elements are not supported {self.name}: received shape "
                f"{dims_text(values.shape)}"
            )

    def _insert(self, keys: list[bytes], component: int, values: Any) -> None:
        """Adds components up to the first that cannot be; under the lock."""
        grew = False
        try:
            for row, key in enumerate(keys):
                found = self._incomplete.get(key)
                if found is None:
                    if self._closed:
                        text = f", but attempted to insert a brand new key: {excerpt(key)}"
                        raise errors.CancelledError(None, None, self._closed_text(len(keys), text))
                    found = np.full(len(self.dtypes) + 1, _MISSING, object)
                    found[-1] = self._index
                    self._incomplete[key] = found
                    grew = True
                index, components = found[-1], found[:-1]
                if components[component] is not _MISSING:
                    raise _invalid(
                        f"Key {excerpt(key)} already has a value for component {component} "
                        f"in barrier {self.name}"
                    )
                components[component] = values[row]
                if all(value is not _MISSING for value in components):
                    self._incomplete.pop(key)
                    self._check_shapes(components)
                    self._ready.push((index, next(self._completions), key, components))
        finally:
            self._index += grew

    def _check_shapes(self, components: list[Any]) -> None:
        """Raises InvalidArgumentError if a complete element does not have the barrier's shapes."""
        for i, (expected, value) in enumerate(zip(self.shapes, components, strict=False)):
            if not compatible(expected, np.shape(value)):
                raise _invalid(
                    f"Shape mismatch in tuple component {i}. Expected {dims_text(expected)}, "
                    f"got {dims_text(np.shape(value))}"
                )

    def _closed_text(self, count: int, more: str = "") -> str:
        return (
            f"Barrier {self.name} is closed{more}.  Pending enqueues cancelled: {int(self._cancelled)}.  "
            f"Number of new insertions: {count}.  Number of incomplete keys: {len(self._incomplete)}."
        )

    def take(self, count: int, small: bool) -> Future | list[Ready]:
        """Takes elements out; a Future if there are too few.

        Args:
            small: the last elements of a closed barrier may be fewer.

        Raises:
            OutOfRangeError: the barrier is closed, and there will be too few.
        """
        ended: _Ended = []
        attempt = _Take(count, small, Future(self._cancel, self))
        with self._lock:
            self._taking.append(attempt)
            self._serve(ended)
            mine = next((entry for entry in ended if entry[0] is attempt), None)
            if mine is not None:
                ended.remove(mine)
        _tell(ended)
        if mine is None:
            return attempt.future
        if mine[2] is not None:
            raise mine[2]
        taken: list[Ready] = mine[1]
        return taken

    def close(self, cancel_pending: bool = True) -> None:
        """Closes the barrier to new keys; `cancel_pending` also drops the elements that are not complete.

        Raises:
            CancelledError: it is closed already, unless only now what is not complete is dropped.
        """
        ended: _Ended = []
        with self._lock:
            if self._closed and (self._cancelled or not cancel_pending):
                raise errors.CancelledError(None, None, f"Barrier '{self.name}' is already closed.")
            self._closed = True
            self._cancelled = cancel_pending
            if cancel_pending:
                self._incomplete.drop()
            self._serve(ended)
        _tell(ended)

    def waits_for(self, future: Future) -> str:
        """A description of what a call waits for."""
        with self._lock:
            wanted = next((take.count for take in self._taking if take.future is future), 0)
            return f"Barrier '{self.name}' has {len(self._ready)} of {wanted} elements wanted"

    def _cancel(self, future: Future) -> None:
        ended: _Ended = []
        with self._lock:
            self._taking = deque(take for take in self._taking if take.future is not future)
            self._serve(ended)
        _tell(ended)

    def _serve(self, ended: _Ended) -> None:
        """Gives elements to those who wait, in their order; under the lock."""
        while self._taking:
            take = self._taking[0]
            count, there = take.count, len(self._ready)
            if self._closed:
                to_come = 0 if take.small else len(self._incomplete)
                if take.small:
                    count = min(count, there)
                if there + to_come < max(count, 1):
                    text = (
                        f"Barrier '{self.name}' is closed and has insufficient elements (requested {count}, "
                        f"total size {there + to_come})"
                    )
                    self._taking.popleft()
                    ended.append((take, None, errors.OutOfRangeError(None, None, text)))
                    continue
            if there < count:
                return
            self._taking.popleft()
            ended.append((take, unlocked.Listed(self._ready.pop() for _ in range(count)), None))


def _tell(ended: _Ended) -> None:
    for take, value, error in ended:
        take.future.complete(value, error)


def _invalid(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)
