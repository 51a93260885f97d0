"""The iterator of a task: a position in a dataset, from which steps take elements one after the other.

A step never blocks a thread for its element. If the element can be computed at once, the step computes it;
if it has to wait, or another step is at the dataset, it stands in line with a Future.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.core.dims import Dims, compatible
from tensorfleet.core.dtypes import DType
from tensorfleet_service.data.ahead import Ahead
from tensorfleet_service.data.dataset import Abandoned, Dataset, Element, Run, closed_error
from tensorfleet_service.data.position import State, restore, save
from tensorfleet_service.graph.attributes import type_name
from tensorfleet_service.state.queues import dims_text
from tensorfleet_service.threads.future import PENDING, Future

if TYPE_CHECKING:
    from tensorfleet_service.threads.pool import Pool

_Result = tuple[Any, "BaseException | None"]


class IteratorResource:
    """An iterator (`IteratorV2`), which `initialize` puts at the beginning of a dataset.

    Attributes:
        container, name: its name among the task's resources.
        device: where it is.
        types, shapes: of the components of an element; empty if any are allowed.
    """

    def __init__(
        self,
        container: str,
        name: str,
        device: str,
        types: Sequence[DType],
        shapes: Sequence[Dims],
        pool: Pool,
    ) -> None:
        self.container = container
        self.name = name
        self.device = device
        self.types = list(types)
        self.shapes = list(shapes)
        self._pool = pool
        self._lock = threading.Lock()
        self._once = threading.Lock()
        self._place: _Place | None = None

    def initialize(self, dataset: Dataset) -> None:
        """Begins a dataset. The rest of an earlier one is dropped; those who wait for it get an error.

        Raises:
            InvalidArgumentError: its elements are not of the iterator's types and shapes.
        """
        check_structure(self.types, self.shapes, dataset.types, dataset.shapes)
        place = _Place(dataset, self._pool)
        with self._lock:
            old, self._place = self._place, place
        if old is not None:
            old.close()

    def initialize_once(self, make: Callable[[], Dataset]) -> None:
        """Begins the dataset that `make` gives, unless the iterator has begun one."""
        if self._place is None:
            with self._once:
                if self._place is None:
                    self.initialize(make())

    def get_next(self) -> Element | Future:
        """The next element, or a Future for it.

        Raises:
            FailedPreconditionError: the iterator is not initialized.
            OutOfRangeError: the dataset has ended.
            OpError: the element cannot be made; the next one may be.
        """
        place = self._place
        if place is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                "GetNext() failed because the iterator has not been initialized. Ensure that you have run "
                "the initializer operation for this iterator before getting the next element.",
            )
        return place.get_next()

    def save(self) -> Future:
        """The position and all that elements after it depend on, as `restore` takes it.

        Raises:
            FailedPreconditionError: the iterator is not initialized.
            UnimplementedError: by the Future: a part of the dataset has no position, such as a generator.
        """
        return self._initialized("Save", "saving").save()

    def restore(self, saved: State) -> None:
        """Goes on where an iterator over an equal dataset was.

        Raises:
            FailedPreconditionError: the iterator is not initialized.
            InvalidArgumentError: the state is that of another dataset.
        """
        old = self._initialized("Restore", "restoring")
        place = _Place(old.dataset, self._pool)
        try:
            place.restore(saved)
        except BaseException as e:
            place.close()
            if not isinstance(e, (KeyError, TypeError, ValueError, IndexError, AttributeError)):
                raise
            text = f"The saved position is that of an iterator over another dataset: {e}"
            raise errors.InvalidArgumentError(None, None, text) from None
        with self._lock:
            # A step that has begun a dataset meanwhile, or ended the iterator, counts as the later one.
            is_old_yet = self._place is old
            if is_old_yet:
                self._place = place
        (old if is_old_yet else place).close()

    @property
    def dataset(self) -> Dataset | None:
        """The dataset that the iterator has begun."""
        place = self._place
        return None if place is None else place.dataset

    def _initialized(self, what: str, doing: str) -> _Place:
        place = self._place
        if place is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"{what}() failed because the iterator has not been initialized. Ensure that you have run "
                f"the initializer operation for this iterator before {doing} it.",
            )
        return place

    def read(self) -> Any:
        """The value of a fetched handle: its name."""
        return self.name.encode()

    def close(self) -> None:
        """Ends the iterator's work in the background; it is uninitialized again."""
        with self._lock:
            old, self._place = self._place, None
        if old is not None:
            old.close()


class _Place:
    """The state of an iterator: its position in a dataset, and those who wait for an element."""

    def __init__(self, dataset: Dataset, pool: Pool) -> None:
        self._pool = pool
        self._run = Run(pool)
        self.dataset = dataset
        self._own = dataset.unshared()
        self._poll: Callable[[Callable[[], None] | None], Any] | None = None
        self._blocks = dataset.blocks
        self._lock = threading.Lock()
        self._busy = False  # a thread is at the dataset, or the buffer is going to call `_serve`
        self._line: deque[Future] = deque()
        self._saves: set[Future] = set()  # those in the line who want the state
        self._unclaimed: deque[_Result] = deque()  # made for steps that were cancelled
        self._ended = False
        self._begin()

    def _begin(self) -> None:
        self._elements: Iterator[Element] = self._own.elements(self._run)
        if isinstance(self._elements, Ahead):
            self._poll = self._elements.poll
        elif self._blocks:
            self._run.is_wanted = lambda: len(self._line) > len(self._saves)

    def restore(self, saved: State) -> None:
        """Goes to where another iterator was, before anybody asks for an element.

        Raises:
            KeyError, TypeError, ValueError, IndexError, AttributeError: the state is of another dataset.
        """
        self._run.is_wanted = None
        self._own.restore(saved["dataset"])
        self._begin()  # anew, as another iterator reads a cache that is full
        wanted, self._run.is_wanted = self._run.is_wanted, None
        restore(self._elements, saved["elements"])
        self._own.restore(saved["dataset"])
        self._run.is_wanted = wanted
        self._unclaimed.extend(
            (None, one) if isinstance(one, BaseException) else (one, None) for one in saved["unclaimed"]
        )
        self._ended = bool(saved["ended"])

    def save(self) -> Future:
        """The state after the elements that have been given, and those that steps wait for already."""
        with self._lock:
            future = self._stand_in_line()
            self._saves.add(future)
            busy, self._busy = self._busy, True
        if not busy:
            self._pool.submit(self._serve)
        return future

    def _state(self) -> State:
        """The state, by the thread that is at the dataset."""
        elements = save(self._elements)
        with self._lock:
            unclaimed = [value if error is None else error for value, error in self._unclaimed]
        return {
            "dataset": self._own.save(),
            "elements": elements,
            "unclaimed": unclaimed,
            "ended": self._ended,
        }

    def get_next(self) -> Element | Future:
        with self._lock:
            if self._unclaimed and not self._line:
                return _given(self._unclaimed.popleft())
            if self._busy:
                return self._stand_in_line()
            is_served = self._blocks and self._poll is None
            if is_served:
                self._pool.check_room()
            self._busy = True
            future = self._stand_in_line() if is_served else None
        if future is not None:
            self._pool.submit(self._serve)
            return future
        result = self._make(None)
        with self._lock:
            if result is PENDING:
                future = self._stand_in_line()
            else:
                others = self._busy = bool(self._line)
        if future is not None:
            self._serve()
            return future
        if others:
            self._pool.submit(self._serve)
        return _given(result)

    def _stand_in_line(self) -> Future:
        future = Future(self._cancel, self)
        self._line.append(future)
        return future

    def waits_for(self, _: Future) -> str:
        """A description of what a step that wants an element waits for."""
        return "the next element of a dataset, which is being made"

    def _serve(self) -> None:
        """Makes elements for those in the line; runs on one thread at a time, which `_busy` says."""
        while True:
            with self._lock:
                if not self._line:
                    self._busy = False
                    return
                first = self._line[0]
                saves, made = first in self._saves, None
                if saves:
                    self._saves.discard(first)
                elif self._unclaimed:
                    made = self._unclaimed.popleft()
                if saves or made is not None:
                    self._line.popleft()
            if saves:
                first.complete(*self._saved())
                continue
            if made is not None:
                first.complete(*made)
                continue
            try:
                result = self._make(self._serve)
            except Abandoned:
                continue  # somebody else may have come meanwhile
            if result is PENDING:
                return  # the buffer calls again
            with self._lock:
                if not self._line or self._line[0] in self._saves:
                    # The step that it was made for has been cancelled meanwhile.
                    self._unclaimed.append(result)
                    continue
                future = self._line.popleft()
            future.complete(*result)

    def _saved(self) -> _Result:
        try:
            return self._state(), None
        except Exception as e:
            return None, e

    def _make(self, listener: Callable[[], None] | None) -> Any:
        """The next element, or the error in its place; PENDING where a buffer has none yet."""
        if self._ended:
            return None, errors.OutOfRangeError(None, None, "End of sequence")
        try:
            if self._poll is None:
                return next(self._elements), None
            element = self._poll(listener)
            return element if element is PENDING else (element, None)
        except StopIteration:
            self._ended = True
            return None, errors.OutOfRangeError(None, None, "End of sequence")
        except Abandoned:
            raise
        except Exception as e:
            return None, e

    def _cancel(self, future: Future) -> None:
        with self._lock:
            if future in self._line:
                self._line.remove(future)
                self._saves.discard(future)

    def close(self) -> None:
        self._run.close()
        with self._lock:
            line = list(self._line)
            self._line.clear()
            self._saves.clear()
        for future in line:
            future.complete(None, closed_error())


def _given(result: _Result) -> Element:
    value, error = result
    if error is not None:
        raise error
    element: Element = value
    return element


def check_structure(
    types: Sequence[DType], shapes: Sequence[Dims], got_types: Sequence[DType], got_shapes: Sequence[Dims]
) -> None:
    """Raises InvalidArgumentError where elements are not of an iterator's types and shapes."""
    text = ""
    if types and len(types) != len(got_types):
        text = f"Number of components does not match: expected {len(types)} types but got {len(got_types)}."
    for i, (expected, got) in enumerate(zip(types, got_types, strict=False)):
        if not text and expected is not got:
            text = (
                f"Data type mismatch at component {i}: expected {type_name(expected)} but got "
                f"{type_name(got)}."
            )
    for i, (dims, got_dims) in enumerate(zip(shapes, got_shapes, strict=False)):
        if not text and not compatible(dims, got_dims):
            wanted, found = dims_text(dims), dims_text(got_dims)
            text = f"Incompatible shapes at component {i}: expected {wanted} but got {found}."
    if text:
        raise errors.InvalidArgumentError(None, None, text)
