"""Dataset: the description of a sequence of elements. Run: one pass of an iterator over it.

An element is a tuple of a step's values. A Python iterator gives a dataset's elements: its `__next__` raises
StopIteration at the end, and may raise errors before; the next call goes on after them.

A dataset that only chooses among the rows of arrays, or orders them, hands on the indices of the rows:
`items` gives these, and the rows of a batch are gathered at once.
"""

from __future__ import annotations

import copy
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.data.position import State, plain, restore, save, set_state
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.running import RUNNING

if TYPE_CHECKING:
    from tensorfleet.core.attr_value import NameAttrList
    from tensorfleet.core.dims import Dims
    from tensorfleet.core.dtypes import DType
    from tensorfleet_service.state.library import Function, Library
    from tensorfleet_service.threads.pool import Pool

Element = tuple[Any, ...]


class Rows:
    """Arrays of equal length, whose rows are elements."""

    __slots__ = ("arrays",)

    def __init__(self, arrays: Sequence[Any]) -> None:
        self.arrays = tuple(arrays)

    def element(self, index: int) -> Element:
        return tuple(_row(array, index) for array in self.arrays)

    def gather(self, indices: list[int]) -> Element:
        return tuple(array.take(indices, 0) for array in self.arrays)


def _row(array: Any, index: int) -> Any:
    # A string of rank 0 is an array, too.
    return array[index : index + 1].reshape(()) if array.ndim == 1 and array.dtype == object else array[index]


class Dataset(ABC):
    """A sequence of elements.

    Attributes:
        rows: the rows whose indices its items are; None where items are elements.
        blocks: whether the next element may have to wait for another thread, or for a Python function.
        inputs: the datasets that it is made of.
        types, shapes: of the components of an element; set by the op that makes the dataset.
        STATE: its attributes that an iterator's passes over it change, or that differ each time it is made.
    """

    rows: Rows | None = None
    blocks = False
    types: Sequence[DType] = ()
    shapes: Sequence[Dims] = ()
    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *inputs: Dataset) -> None:
        self.inputs = tuple(map(checked, inputs))
        self.blocks = any(dataset.blocks for dataset in self.inputs)

    @property
    def source(self) -> Dataset:
        """The only input."""
        return self.inputs[0]

    def unshared(self) -> Dataset:
        """A copy of the dataset for one iterator.

        A dataset that a pipeline uses twice is copied twice, so each use has its own random numbers and
        cache.
        """
        own = copy.copy(self)
        own.inputs = tuple(dataset.unshared() for dataset in self.inputs)
        own.begin()
        return own

    def begin(self) -> None:  # noqa: B027 - most datasets keep nothing
        """Makes the state that the dataset keeps for one iterator."""

    def save(self) -> State:
        """The state of the dataset and its inputs, which `restore` takes."""
        saved: State = {name: plain(getattr(self, name)) for name in self.STATE}
        saved["inputs"] = [dataset.save() for dataset in self.inputs]
        return saved

    def restore(self, saved: State) -> None:
        """Sets the state of an equal dataset. Raises KeyError, TypeError, ValueError."""
        for name in self.STATE:
            set_state(self, name, saved[name])
        for dataset, state in zip(self.inputs, saved["inputs"], strict=True):
            dataset.restore(state)

    @abstractmethod
    def items(self, run: Run) -> Iterator[Any]:
        """The items from the first on; each call begins anew."""

    def elements(self, run: Run) -> Iterator[Element]:
        """The elements from the first on; each call begins anew."""
        items = self.items(run)
        return items if self.rows is None else map(self.rows.element, items)


def checked(value: Any) -> Dataset:
    """The dataset on a variant edge, on which there may be other values as well.

    Raises:
        InvalidArgumentError: it is something else.
    """
    if isinstance(value, np.ndarray) and value.dtype == object:
        if value.ndim:
            text = f"A batch of {len(value)} datasets is not a dataset: take it apart by `unbatch`."
            raise errors.InvalidArgumentError(None, None, text)
        value = value[()]
    if not isinstance(value, Dataset):
        text = f"Expected a dataset, but the variant is a {type(value).__name__}."
        raise errors.InvalidArgumentError(None, None, text)
    return value


class Made:
    """The iterator over a dataset that a function has made of `of`."""

    __slots__ = ("_dataset", "_elements", "_of", "_run")

    def __init__(self, of: Any, dataset: Dataset, run: Run) -> None:
        self._of = of
        self._dataset = dataset
        self._run = run
        self._elements = dataset.elements(run)

    def __next__(self) -> Element:
        return next(self._elements)

    def save(self) -> State:
        return {"of": self._of, "dataset": self._dataset.save(), "elements": save(self._elements)}

    def restore(self, saved: State) -> None:
        self._dataset.restore(saved["dataset"])
        self._elements = self._dataset.elements(self._run)  # anew, as for a cache that is full
        restore(self._elements, saved["elements"])
        self._dataset.restore(saved["dataset"])


class Callee:
    """A function that datasets call; compiled once where it has no state, else for each run.

    Attributes:
        waits: whether a call may have to wait for other steps, or may compute for long.
    """

    __slots__ = ("_device", "_func", "_library", "waits")

    def __init__(self, library: Library, func: NameAttrList, device: str) -> None:
        self._library = library
        self._func = func
        self._device = device
        function = self._instantiate()
        self.waits = function.waits or function.lasts

    def _instantiate(self) -> Function:
        # Datasets compute on the host, on whichever device their op is.
        return self._library.instantiate(self._func, self._device, np)

    def state_elsewhere(self) -> str | None:
        """The type of an op in the function, or in one that it calls, whose state no iterator has."""
        return self._library.stateful_op(self._func)

    def of(self, run: Run) -> Function:
        """The function; if it has state, an instance for each run."""
        return run.function(self._func.name, self._instantiate)


class Call:
    """A function that a dataset calls, with its captured values."""

    __slots__ = ("_callee", "_captured", "waits")

    def __init__(self, callee: Callee, captured: Sequence[Any]) -> None:
        self._callee = callee
        self._captured = tuple(captured)
        self.waits = callee.waits

    def state_elsewhere(self) -> str | None:
        """The type of an op in the function, or in one that it calls, whose state no iterator has."""
        return self._callee.state_elsewhere()

    def bind(self, run: Run) -> Callable[..., Element]:
        """The function that computes a call's results from an element."""
        function, captured = self._callee.of(run), self._captured
        if function.waits:

            def wait(*arguments: Any) -> Element:
                results: Element = run.wait(function(*arguments, *captured))
                return results

            return wait
        if function.lasts:

            def call(*arguments: Any) -> Element:
                outer, RUNNING.step = RUNNING.step, run
                try:
                    found: Element = function(*arguments, *captured)  # type: ignore[assignment]
                    return found
                except errors.OpError:
                    run.check()  # nobody gets the error of what was ended as nobody wanted it
                    raise
                finally:
                    RUNNING.step = outer

            return call
        if captured:
            return lambda *arguments: function(*arguments, *captured)  # type: ignore[return-value]
        return function  # type: ignore[return-value]


PIECE = 10_000
"""Of so many items at most a list is made by one call, during which no other thread has the interpreter."""

CHECKED = 256
"""What goes over items that nobody gets looks after so many of them whether the run still goes on."""


class Abandoned(Exception):
    """Nobody wants the element any more that is being looked for; the next call goes on from there."""


def taken(items: Iterator[Any], count: int, run: Run) -> list[Any]:
    """The next items, fewer at the end."""
    found = list(islice(items, min(count, PIECE)))
    while len(found) < count and not len(found) % PIECE and found:
        run.check()
        more = list(islice(items, min(count - len(found), PIECE)))
        if not more:
            break
        found += more
    return found


def many(items: Iterator[Any], count: int, run: Run) -> list[Any]:
    """The next items, many at once if the iterator has a method `many`; fewer at the end.

    Only for indices of rows, which never raise errors.
    """
    bulk = getattr(items, "many", None)
    return taken(items, count, run) if bulk is None else bulk(count)


class Closing(Protocol):
    """Something that ends with a run."""

    def close(self) -> None: ...


class Run:
    """One pass of an iterator over a dataset. What works for it in the background ends with it.

    Attributes:
        is_wanted: whether anybody waits for an element; None where they are made ahead.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.closed = False
        self.is_wanted: Callable[[], bool] | None = None
        self._lock = threading.Lock()
        self._functions: dict[str, Function] = {}
        self._kept: set[Closing] = set()
        self._known: weakref.WeakSet[Closing] = weakref.WeakSet()

    def check(self) -> None:
        """To be called by what may go over any number of elements for one that it gives.

        Raises:
            CancelledError: the run is closed.
            Abandoned: nobody waits for an element.
        """
        if self.closed:
            raise closed_error()
        if self.is_wanted is not None and not self.is_wanted():
            raise Abandoned

    @property
    def error(self) -> errors.OpError | None:
        """Why what computes for the run is to end, as `check` says it."""
        try:
            self.check()
        except errors.OpError as e:
            return e
        except Abandoned:
            return errors.CancelledError(None, None, "Nobody waits for the element any more")
        return None

    def function(self, name: str, instantiate: Callable[[], Function]) -> Function:
        """The run's instance of a function."""
        with self._lock:
            found = self._functions.get(name)
            if found is None:
                found = self._functions[name] = instantiate()
            return found

    def open(self, part: Closing, keep: bool = False) -> None:
        """Has `part` closed with the run, if it still exists then; with `keep`, the run keeps it alive."""
        with self._lock:
            if not self.closed:
                (self._kept if keep else self._known).add(part)
                return
        part.close()

    def drop(self, part: Closing) -> None:
        """Forgets a part that has ended before the run."""
        with self._lock:
            self._kept.discard(part)

    def wait(self, future: Any) -> Any:
        """The result of a future, on a thread that may wait."""
        waiting = _Waiting(future)
        self.open(waiting)
        return waiting.result()

    def close(self) -> None:
        """Ends the run's work in the background."""
        with self._lock:
            self.closed = True
            closing = [*self._kept, *self._known]
            self._kept.clear()
        for part in closing:
            part.close()


class _Waiting:
    """A thread that waits for a future, until that is completed or the run is closed."""

    def __init__(self, future: Future) -> None:
        self._future = future
        self._ended = threading.Event()
        self._closed = False

    def result(self) -> Any:
        if self._future.start(lambda _: self._ended.set()):
            self._ended.wait()
            if self._closed:
                raise closed_error()
        return self._future.result()

    def close(self) -> None:
        self._closed = True
        self._future.cancel()
        self._ended.set()


def closed_error() -> errors.OpError:
    """The error for those who wait for an element of an iterator that was closed."""
    return errors.CancelledError(None, None, "The iterator was closed or initialized anew")
