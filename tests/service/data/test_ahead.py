"""Elements made ahead: chains of buffers and parallel maps keep the order, end, and can be left."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import errors
from tensorfleet_service.data import ahead
from tensorfleet_service.data.ahead import Ahead, Prefetch
from tensorfleet_service.data.dataset import Dataset, Element, Run
from tensorfleet_service.data.iterator import IteratorResource
from tensorfleet_service.data.sources import Range
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.pool import Pool

SECONDS = 20.0


@pytest.fixture
def pool() -> Iterator[Pool]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads get into each other's way
    made = Pool("ahead")
    yield made
    made.close()
    sys.setswitchinterval(interval)


class Mapped(Dataset):
    """A parallel map of a Python function."""

    def __init__(self, source: Dataset, size: int, width: int, function: Any) -> None:
        super().__init__(source)
        self._size, self._width, self._function = size, width, function
        self.blocks = True

    def items(self, run: Run) -> Iterator[Element]:
        return Ahead(run, self.source.elements(run), self._size, self._width, self._function)


def numbers(count: int) -> Dataset:
    return Range(0, count, 1, np.dtype("int64"))


def iterator(dataset: Dataset, pool: Pool) -> IteratorResource:
    made = IteratorResource("container", "name", "device", [], [], pool)
    made.initialize(dataset)
    return made


def following(source: IteratorResource) -> int:
    found = source.get_next()
    if isinstance(found, Future):
        ended = threading.Event()
        if found.start(lambda _: ended.set()):
            assert ended.wait(SECONDS), "nobody brings the element"
        found = found.result()
    return int(found[0])


@pytest.mark.parametrize("seed", range(60))
def test_chains_keep_the_order(pool: Pool, seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randint(0, 60)
    dataset = numbers(count)
    for _ in range(draw.randint(1, 4)):
        if draw.random() < 0.5:
            dataset = Prefetch(dataset, draw.randint(1, 5))
        else:
            width = draw.randint(1, 4)
            dataset = Mapped(dataset, draw.randint(width, 6), width, lambda x: (x[0] + 1,))
    mapped = _maps(dataset)
    source = iterator(dataset, pool)
    wanted = draw.choice([count, draw.randint(0, count)])
    assert [following(source) for _ in range(wanted)] == list(range(mapped, mapped + wanted))
    if wanted == count:
        for _ in range(2):
            with pytest.raises(errors.OutOfRangeError):
                following(source)
    source.close()


def _maps(dataset: Dataset) -> int:
    return sum(isinstance(part, Mapped) for part in _chain(dataset))


def _chain(dataset: Dataset) -> Iterator[Dataset]:
    yield dataset
    for part in dataset.inputs:
        yield from _chain(part)


def test_an_error_is_one_element_of_a_chain(pool: Pool) -> None:
    def fail(x: Element) -> Element:
        if x[0] % 3 == 1:
            raise errors.DataLossError(None, None, f"no {x[0]}")
        return x

    source = iterator(Prefetch(Mapped(Prefetch(numbers(6), 2), 3, 2, fail), 2), pool)
    found: list[Any] = []
    for _ in range(6):
        try:
            found.append(following(source))
        except errors.DataLossError as e:
            found.append(e.message)
    assert found == [0, "no 1", 2, 3, "no 4", 5]
    source.close()


def test_who_waits_is_told_when_the_iterator_is_closed(pool: Pool) -> None:
    gate = threading.Event()

    def block(x: Element) -> Element:
        assert gate.wait(SECONDS)
        return x

    source = iterator(Prefetch(Mapped(numbers(9), 2, 2, block), 1), pool)
    futures = [source.get_next() for _ in range(3)]
    told = threading.Barrier(4)
    for future in futures:
        assert isinstance(future, Future)
        assert future.start(lambda _: threading.Thread(target=told.wait, args=(SECONDS,)).start())
    source.close()
    told.wait(SECONDS)
    for future in futures:
        with pytest.raises(errors.CancelledError, match="closed or initialized anew"):
            future.result()  # type: ignore[union-attr]
    gate.set()


def test_a_map_has_few_threads_however_many_calls_a_graph_wants(pool: Pool) -> None:
    """A million of them left the task no thread for anybody else."""
    begun = threading.Semaphore(0)
    goes_on = threading.Event()

    def wait(element: Element) -> Element:
        begun.release()
        assert goes_on.wait(SECONDS)
        return element

    source = iterator(Mapped(numbers(1000), 10**6, 10**6, wait), pool)
    before = threading.active_count()
    found = source.get_next()
    assert isinstance(found, Future)
    for _ in range(ahead.MOST_JOBS):
        assert begun.acquire(timeout=SECONDS)
    assert threading.active_count() <= before + ahead.MOST_JOBS + 1
    goes_on.set()
    ended = threading.Event()
    if found.start(lambda _: ended.set()):
        assert ended.wait(SECONDS)
    assert [int(found.result()[0]), *(following(source) for _ in range(5))] == [0, 1, 2, 3, 4, 5]
    source.close()


@pytest.mark.parametrize("chain", ["prefetch", "map", "both"])
def test_elements_without_threads_for_them(pool: Pool, chain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants an element makes it; a step that would have to wait for a thread is refused."""
    dataset = numbers(20)
    if chain != "prefetch":
        dataset = Mapped(dataset, 4, 4, lambda x: (x[0] + 1,))
    run = Run(pool)
    submitted: list[Any] = []
    monkeypatch.setattr(pool, "_limit", 0)
    monkeypatch.setattr(pool, "submit", lambda *work: submitted.append(work))
    if chain != "map":
        dataset = Prefetch(dataset, 3)
    first = 0 if chain == "prefetch" else 1
    assert [int(element[0]) for element in dataset.elements(run)] == list(range(first, first + 20))
    run.close()
    assert not submitted
    refused = iterator(dataset, pool)
    with pytest.raises(errors.ResourceExhaustedError, match="TENSORFLEET_MAX_THREADS"):
        following(refused)
    monkeypatch.undo()
    assert following(refused) == first
