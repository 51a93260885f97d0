"""Datasets that call a function for each element: map, filter, flat_map, interleave."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tensorfleet.core import errors
from tensorfleet_service.data.ahead import Ahead, Prefetch
from tensorfleet_service.data.dataset import CHECKED, Call, Dataset, Element, Made, Run, checked
from tensorfleet_service.data.position import Position, State


class _Calling(Dataset):
    def __init__(self, source: Dataset, call: Call) -> None:
        super().__init__(source)
        self.blocks = self.blocks or call.waits
        self.call = call


class Map(_Calling):
    """The results of a function for each element (`MapDataset`).

    An OutOfRangeError of the function ends the dataset, unless `keep_count` says that it has as many elements
    as the input.
    """

    def __init__(self, source: Dataset, call: Call, keep_count: bool) -> None:
        super().__init__(source, call)
        self._keep_count = keep_count

    def items(self, run: Run) -> Iterator[Element]:
        return _Mapping(self.source.elements(run), self.call.bind(run), self._keep_count)


class _Mapping(Position):
    __slots__ = ("_elements", "_function", "_keep_count")
    PARTS = ("_elements",)

    def __init__(
        self, elements: Iterator[Element], function: Callable[..., Element], keep_count: bool
    ) -> None:
        self._elements = elements
        self._function = function
        self._keep_count = keep_count

    def __next__(self) -> Element:
        element = next(self._elements)
        try:
            return self._function(*element)
        except errors.OutOfRangeError as e:
            raise ended_early(e, self._keep_count) from None


def ended_early(error: errors.OutOfRangeError, keep_count: bool) -> BaseException:
    """The error that an OutOfRangeError of a mapped function becomes."""
    if not keep_count:
        return StopIteration()
    return errors.InvalidArgumentError(
        None, None, f"Function invocation produced OutOfRangeError: {error.message}"
    )


class ParallelMap(_Calling):
    """As Map, with several calls at a time, in the input's order (`ParallelMapDataset`).

    Raises:
        InvalidArgumentError: no calls are allowed.
    """

    def __init__(self, source: Dataset, call: Call, keep_count: bool, parallel: int) -> None:
        super().__init__(source, call)
        if parallel < 1:
            raise errors.InvalidArgumentError(None, None, "num_parallel_calls must be greater than zero.")
        self._keep_count = keep_count
        self._parallel = parallel
        self.blocks = True

    def items(self, run: Run) -> Iterator[Element]:
        function = self.call.bind(run)
        keep_count = self._keep_count

        def call(element: Element) -> Element:
            try:
                return function(*element)
            except errors.OutOfRangeError as e:
                raise ended_early(e, keep_count) from None

        return Ahead(run, self.source.elements(run), self._parallel, self._parallel, call)


class Filter(_Calling):
    """The elements for which a function is true (`FilterDataset`)."""

    def __init__(self, source: Dataset, call: Call) -> None:
        super().__init__(source, call)
        self.blocks = True  # there may be none, of any number

    def items(self, run: Run) -> Iterator[Element]:
        return _Filtering(run, self.source.elements(run), self.call.bind(run))


class _Filtering(Position):
    __slots__ = ("_elements", "_predicate", "_run")
    PARTS = ("_elements",)

    def __init__(self, run: Run, elements: Iterator[Element], predicate: Callable[..., Element]) -> None:
        self._run = run
        self._elements = elements
        self._predicate = predicate

    def __next__(self) -> Element:
        left_out = 0
        while True:
            if left_out == CHECKED:
                self._run.check()
                left_out = 0
            left_out += 1
            element = next(self._elements)
            (keep,) = self._predicate(*element)
            if getattr(keep, "shape", ()):
                text = "Filter predicate `f` must return a scalar bool."
                raise errors.InvalidArgumentError(None, None, text)
            if keep:
                return element


class FlatMap(_Calling):
    """The datasets that a function makes of the elements, one after the other (`FlatMapDataset`)."""

    def __init__(self, source: Dataset, call: Call) -> None:
        super().__init__(source, call)
        self.blocks = True  # the function's datasets may block

    def items(self, run: Run) -> Iterator[Element]:
        return _Interleaving(run, self.source.elements(run), self.call.bind(run), 1, 0, 0)


class Interleave(_Calling):
    """The datasets that a function makes of the elements, in turns (`InterleaveDataset`).

    Args:
        cycle: the number of datasets that take turns.
        block: the number of elements that each gives in its turn.
        ahead: the number of elements of each that are made in the background.

    Raises:
        InvalidArgumentError: `cycle` or `block` is not positive.
    """

    def __init__(self, source: Dataset, call: Call, cycle: int, block: int, ahead: int = 0) -> None:
        super().__init__(source, call)
        for name, value in (("cycle_length", cycle), ("block_length", block)):
            if value < 1:
                raise errors.InvalidArgumentError(None, None, f"{name} must be greater than zero.")
        self._cycle = cycle
        self._block = block
        self._ahead = ahead
        self.blocks = True

    def items(self, run: Run) -> Iterator[Element]:
        function = self.call.bind(run)
        return _Interleaving(run, self.source.elements(run), function, self._cycle, self._block, self._ahead)


class _Interleaving(Position):
    """The iterator of interleaved datasets. With `block` 0, a dataset's turn lasts until it ends."""

    PARTS = ("_elements",)
    STATE = ("_turn", "_given", "_open", "_ended")

    def __init__(
        self,
        run: Run,
        elements: Iterator[Element],
        function: Callable[..., Element],
        cycle: int,
        block: int,
        ahead: int,
    ) -> None:
        self._run = run
        self._elements = elements
        self._function = function
        self._block = block
        self._ahead = ahead
        self._current: list[Made | None] = [None] * cycle
        self._turn = 0
        self._given = 0
        self._open = 0
        self._ended = False

    def save(self) -> State:
        return super().save() | {"current": [made and made.save() for made in self._current]}

    def restore(self, saved: State) -> None:
        super().restore(saved)
        for i, found in enumerate(saved["current"]):
            if found is not None:
                made = self._current[i] = self._made(found["of"])
                made.restore(found)

    def __next__(self) -> Element:
        turns = 0
        while not self._ended or self._open:
            turns += 1
            if not turns % CHECKED:
                self._run.check()
            current = self._current[self._turn]
            if current is not None:
                try:
                    element = next(current)
                except StopIteration:
                    self._current[self._turn] = None
                    self._open -= 1
                    self._next_turn()
                    continue
                self._given += 1
                if self._given == self._block:
                    self._next_turn()
                return element
            if self._ended:
                self._next_turn()
            else:
                self._begin()
        raise StopIteration

    def _next_turn(self) -> None:
        self._given = 0
        self._turn = (self._turn + 1) % len(self._current)

    def _begin(self) -> None:
        try:
            element = next(self._elements)
        except StopIteration:
            self._ended = True
            return
        self._current[self._turn] = self._made(element)
        self._open += 1

    def _made(self, element: Element) -> Made:
        (dataset,) = self._function(*element)
        dataset = checked(dataset)
        if self._ahead:
            dataset = Prefetch(dataset, self._ahead)
        return Made(element, dataset, self._run)
