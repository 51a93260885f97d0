"""Queues: elements that steps hand to each other, in the order of arrival, at random, or by priority.

Calls that have to wait stand in two lines, one of enqueues and one of dequeues. Only the first of a line may
act, so none is overtaken. Every call that changes the queue serves the lines as far as possible, and
completes the futures of those served after it has released the lock.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import Dims, compatible
from tensorfleet.core.dtypes import DType
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.piles import Heap, Line, Row

Element = tuple[Any, ...]


class _Attempt:
    """A place in a line: to put `elements` in, to take `wanted` of them out into `elements`, or to close the
    queue.
    """

    __slots__ = ("closes", "elements", "future", "small", "wanted")

    def __init__(
        self, elements: Sequence[Element] = (), wanted: int = 0, small: bool = False, closes: bool = False
    ) -> None:
        few = max(len(elements), wanted) <= unlocked.LISTED
        self.elements: deque[Element] | Line = deque(elements) if few else Line(elements)
        self.wanted = wanted
        self.small = small
        self.closes = closes
        self.future: Future | None = None


_Ended = list[tuple[_Attempt, Any, BaseException | None]]


class Queue:
    """A queue of tuples of arrays (`FIFOQueueV2`).

    Args:
        name: for messages.
        dtypes: of the components of an element.
        shapes: of the components; empty: any shapes.
        capacity: the number of elements that fit; negative: any number.
    """

    kind = "FIFOQueue"
    op = "FIFOQueueV2"

    def __init__(
        self,
        name: str,
        dtypes: list[DType],
        shapes: list[Dims],
        capacity: int,
    ) -> None:
        self.name = name
        self.dtypes = dtypes
        self.shapes = shapes
        self.capacity = capacity
        self._lock = threading.Lock()
        self._closed = False
        self._putting: deque[_Attempt] = deque()
        self._taking: deque[_Attempt] = deque()
        self._elements = self._container()

    def __del__(self) -> None:
        self._elements.drop()

    # Differences of the kinds of queues

    def _container(self) -> Any:
        return Line()

    def _put(self, element: Element) -> None:
        self._elements.append(element)

    def _take(self) -> Element:
        element: Element = self._elements.popleft()
        return element

    def _put_back(self, elements: deque[Element] | Line) -> None:
        while elements:
            self._elements.appendleft(elements.pop())

    def _reserve(self) -> int:
        """The number of elements that must stay while the queue is open."""
        return 0

    # Called by kernels

    def read(self) -> Any:
        """The value of a fetched reference to the queue: its container and name."""
        return np.array([b"", self.name.encode()], object)

    @property
    def size(self) -> int:
        with self._lock:  # while elements move within the container, it has fewer
            return len(self._elements)

    @property
    def closed(self) -> bool:
        return self._closed

    def enqueue(self, elements: list[Element]) -> Future | None:
        """Puts elements in; a Future if they do not all fit yet.

        Then those that fit are in the queue, and stay there if the future is cancelled.

        Raises:
            CancelledError: the queue is closed.
        """
        future: Future | None = self._line_up(self._putting, _Attempt(elements))
        return future

    def dequeue(self, count: int, small: bool = False) -> Future | list[Element]:
        """Takes elements out; a Future if there are too few.

        `small` says that the last elements of a closed queue may be fewer.

        Raises:
            OutOfRangeError: the queue is closed, and there are too few.
        """
        taken: Future | list[Element] = self._line_up(self._taking, _Attempt((), count, small))
        return taken

    def close(self, cancel_pending: bool = True) -> Future | None:
        """Closes the queue to new elements.

        Enqueues that stand in line are cancelled; or they go on, and the queue closes after them.

        Raises:
            CancelledError: it is closed already, and `cancel_pending` is not set.
        """
        if not cancel_pending:
            future: Future | None = self._line_up(self._putting, _Attempt(closes=True))
            return future
        cancelled = errors.CancelledError(None, None, "Enqueue operation was cancelled")
        with self._lock:
            self._closed = True
            ended: _Ended = [(attempt, None, cancelled) for attempt in self._putting]
            self._putting.clear()
            self._go_on(ended)
        _tell(ended)
        return None

    # The lines

    def _line_up(self, line: deque[_Attempt], attempt: _Attempt) -> Any:
        ended: _Ended = []
        with self._lock:
            line.append(attempt)
            self._go_on(ended)
            mine = next((entry for entry in ended if entry[0] is attempt), None)
            if mine is None:
                attempt.future = Future(lambda future: self._cancel(line, attempt), self)
            else:
                ended.remove(mine)
        _tell(ended)
        if mine is None:
            return attempt.future
        if mine[2] is not None:
            raise mine[2]
        return mine[1]

    def waits_for(self, future: Future) -> str:
        """A description of what a place in a line waits for."""
        with self._lock:
            size = len(self._elements)
            taking = next((a for a in self._taking if a.future is future), None)
            putting = next((a for a in self._putting if a.future is future), None)
            ahead = self._taking[0] if taking is not None else self._putting[0] if putting else None
        name = f"{self.kind} '{self.name}'"
        if taking is not None:
            size += len(taking.elements)
            state = f"has {size} of {taking.wanted} elements wanted" if size else "is empty"
        elif putting is not None:
            state = f"is full ({size} of {self.capacity} elements)"
        else:
            return name
        return f"{name} {state}" + ("" if ahead in (taking, putting) else ", and others are in line before")

    def _cancel(self, line: deque[_Attempt], attempt: _Attempt) -> None:
        ended: _Ended = []
        with self._lock:
            if attempt not in line:
                return
            line.remove(attempt)
            if line is self._taking:
                self._put_back(attempt.elements)
            self._go_on(ended)
        _tell(ended)

    def _go_on(self, ended: _Ended) -> None:
        """Serves both lines until neither can act; under the lock."""
        changed = True
        while changed:
            changed = False
            while self._putting:
                attempt = self._putting[0]
                error = self._refusal(attempt)
                while error is None and attempt.elements and self._has_room():
                    self._put(attempt.elements.popleft())
                    changed = True
                if attempt.elements and error is None:
                    break
                self._closed = self._closed or attempt.closes
                ended.append((self._putting.popleft(), None, error))
            while self._taking:
                attempt = self._taking[0]
                missing = attempt.wanted - len(attempt.elements)
                if self._closed and len(self._elements) < missing:
                    self._end_short(self._taking.popleft(), ended)
                    changed = True
                    continue
                there = len(self._elements) - (0 if self._closed else self._reserve())
                for _ in range(min(missing, there)):
                    attempt.elements.append(self._take())
                    changed = True
                if len(attempt.elements) < attempt.wanted:
                    break
                found = attempt.elements
                listed = found.listed() if isinstance(found, Line) else list(found)
                ended.append((self._taking.popleft(), listed, None))

    def _end_short(self, attempt: _Attempt, ended: _Ended) -> None:
        """Ends an attempt that wants more elements than will ever come."""
        self._put_back(attempt.elements)
        size = len(self._elements)
        if attempt.small and size:
            ended.append((attempt, unlocked.Listed(self._take() for _ in range(size)), None))
            return
        text = (
            f"{self.kind} '{self.name}' is closed and has insufficient elements (requested {attempt.wanted}, "
            f"current size {size})"
        )
        ended.append((attempt, None, errors.OutOfRangeError(None, None, text)))

    def _has_room(self) -> bool:
        return self.capacity < 0 or len(self._elements) < self.capacity

    def _refusal(self, attempt: _Attempt) -> errors.OpError | None:
        if not self._closed:
            return None
        if attempt.closes:
            return errors.CancelledError(None, None, f"Queue '{self.name}' is already closed.")
        return errors.CancelledError(None, None, f"{self.kind} '{self.name}' is closed.")

    # Elements and batches

    def check(self, values: Element, batch: bool) -> None:
        """Raises InvalidArgumentError where the shapes are not those of an element, or of a batch of them."""
        size = values[0].shape[0] if values[0].ndim else None
        for i, value in enumerate(values):
            got = value.shape
            expected: Dims = self.shapes[i] if self.shapes else None
            if batch:
                expected = (size, *(got[1:] if expected is None else expected))
            if not compatible(expected, got):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Shape mismatch in tuple component {i}. Expected {dims_text(expected)}, "
                    f"got {dims_text(got)}",
                )

    def batch(self, elements: list[Element], xp: Any) -> Element:
        """The elements' components, stacked."""
        if not elements:
            return tuple(
                np.empty((0, *(shape or ())), dtype.np)
                for dtype, shape in zip(self.dtypes, self.shapes, strict=True)
            )
        columns = unlocked.columns(elements)
        shapes = self.shapes or [None] * len(self.dtypes)
        return tuple(map(_stack, columns, self.dtypes, shapes, itertools.repeat(xp)))

    def check_batch(self, count: int, name: str) -> None:
        """Raises InvalidArgumentError if a batch of `count` elements cannot be taken."""
        if count < 0:
            raise errors.InvalidArgumentError(None, None, f"{name}Op requested {count} < 0 elements")
        if not self.shapes:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes.",
            )


def _stack(values: Sequence[Any], dtype: DType, shape: Dims, xp: Any) -> Any:
    if xp is np and shape == () and dtype.np is not None and not dtype.np.hasobject:
        # `stack` makes an array of each number first, which takes most of the time of a large batch.
        result = np.empty(len(values), dtype.np)
        for begin in range(0, len(values), unlocked.LISTED):
            part = values[begin : begin + unlocked.LISTED]
            result[begin : begin + len(part)] = np.fromiter(part, dtype.np, len(part))
        return result
    return unlocked.stack(values, xp, ends_with_step=False)


def _tell(ended: _Ended) -> None:
    for attempt, value, error in ended:
        if attempt.future is not None:
            attempt.future.complete(value, error)


def shapes_text(shapes: list[Dims]) -> str:
    """The shapes of an element as messages write them."""
    return f"[{','.join(map(dims_text, shapes))}]"


def dims_text(dims: Dims) -> str:
    """A shape as messages of queues and iterators write it: "[2,?]", or "<unknown>"."""
    return "<unknown>" if dims is None else f"[{','.join('?' if d is None else str(d) for d in dims)}]"


class RandomShuffleQueue(Queue):
    """A queue that gives its elements in random order (`RandomShuffleQueueV2`).

    Args:
        min_after_dequeue: the number of elements that stay in the queue until it is closed.
        draw: returns a random number of 32 bits.
        seeds: those that `draw` was made with, by which queues of one name are compared.
    """

    kind = "RandomShuffleQueue"
    op = "RandomShuffleQueueV2"

    def __init__(
        self,
        name: str,
        dtypes: list[DType],
        shapes: list[Dims],
        capacity: int,
        min_after_dequeue: int,
        draw: Callable[[], int],
        seeds: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(name, dtypes, shapes, capacity)
        self.seeds = seeds
        self.min_after_dequeue = min_after_dequeue
        self._draw = draw

    def _container(self) -> Any:
        return Row()

    def _take(self) -> Element:
        elements = self._elements
        index = self._draw() % len(elements)
        elements[index], elements[-1] = elements[-1], elements[index]
        element: Element = elements.pop()
        return element

    def _put_back(self, elements: deque[Element] | Line) -> None:
        while elements:
            self._elements.append(elements.popleft())

    def _reserve(self) -> int:
        return self.min_after_dequeue


class PaddingFIFOQueue(Queue):
    """A queue whose batches are padded with zeros to their largest element (`PaddingFIFOQueueV2`)."""

    op = "PaddingFIFOQueueV2"

    def batch(self, elements: list[Element], xp: Any) -> Element:
        columns = unlocked.columns(elements)
        if not columns:
            shapes = [tuple(d or 0 for d in shape or ()) for shape in self.shapes]
            return tuple(
                np.empty((0, *shape), dtype.np) for dtype, shape in zip(self.dtypes, shapes, strict=True)
            )
        return tuple(_padded(column, xp) for column in columns)


def _padded(column: Sequence[Any], xp: Any) -> Any:
    shape = tuple(max(sizes) for sizes in zip(*(value.shape for value in column), strict=True))
    if all(value.shape == shape for value in column):
        return unlocked.stack(column, xp, ends_with_step=False)
    result = xp.zeros((len(column), *shape), column[0].dtype)
    if result.dtype == object:
        result[...] = b""
    for row, value in zip(result, column, strict=True):
        row[tuple(slice(size) for size in value.shape)] = value
    return result


class PriorityQueue(Queue):
    """A queue that gives the element with the smallest first component, an int64 (`PriorityQueueV2`)."""

    kind = "PriorityQueue"
    op = "PriorityQueueV2"

    def _container(self) -> Any:
        self._arrivals = itertools.count()  # equal elements come in the order of their arrival
        return Heap()

    def _put(self, element: Element) -> None:
        self._elements.push((int(element[0]), next(self._arrivals), element))

    def _take(self) -> Element:
        element: Element = self._elements.pop()[2]
        return element

    def _put_back(self, elements: deque[Element] | Line) -> None:
        while elements:
            self._put(elements.popleft())
