"""Containers that stay light for Python's collector, however many items they have."""

from __future__ import annotations

import gc
import heapq
import random
import weakref
from collections import deque
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes
from tensorfleet_service.data import shuffle
from tensorfleet_service.state.barriers import Barrier
from tensorfleet_service.state.queues import PriorityQueue, Queue, RandomShuffleQueue
from tensorfleet_service.state.tables import StaticTable, Table
from tensorfleet_service.threads import piles, unlocked

LISTED = 64
MANY = 5000


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlocked, "LISTED", LISTED)
    monkeypatch.setattr(piles, "ONE", LISTED)


def walked_over(owner: Any) -> int:
    """The references that the collector follows from an object on, in containers that it has to look into."""
    gc.collect(0)  # tuples of what it does not track it leaves out then
    gc.collect(0)
    count, seen, rest = 0, {id(owner)}, [owner]
    while rest:
        one = rest.pop()
        if isinstance(one, type | FunctionType | MethodType):
            continue  # they lead to whole modules
        for found in gc.get_referents(one):
            count += 1
            if gc.is_tracked(found) and id(found) not in seen:
                seen.add(id(found))
                rest.append(found)
    return count


def test_lines_are_queues_with_two_open_ends() -> None:
    chance = random.Random(0)
    line, expected = piles.Line(), deque[Any]()
    for number in range(20_000):
        item = (number, np.array(number)) if number % 3 else np.array(number)
        # First it grows, later it shrinks.
        act = chance.choice(
            ("append", "appendleft") if chance.random() < 0.7 - number / 4e4 else ("pop", "popleft")
        )
        if act.startswith("append"):
            getattr(line, act)(item)
            getattr(expected, act)(item)
        elif expected:
            assert getattr(line, act)() is getattr(expected, act)()
        assert len(line) == len(expected)
    assert all(a is b for a, b in zip(line.listed(), expected, strict=True))
    assert not line
    for act in (line.pop, line.popleft):
        with pytest.raises(IndexError):
            act()


def test_rows_are_lists_that_end_at_their_end() -> None:
    chance = random.Random(0)
    row, expected = piles.Row(), list[Any]()
    for number in range(20_000):
        item = (number, "x") if number % 2 else np.array(number)
        act = chance.random()
        if act < 0.4 or not expected:
            row.append(item)
            expected.append(item)
        elif act < 0.6:
            assert row.pop() is expected.pop()
        else:
            index = chance.randrange(-len(expected), len(expected))
            assert row[index] is expected[index]
            row[index] = expected[index] = item
            assert row[index] is item
    assert len(row) == len(expected)
    assert all(a is b for a, b in zip(row, expected, strict=True))
    for index in (len(row), -len(row) - 1):
        with pytest.raises(IndexError):
            row[index]


def test_heaps_give_the_least_first() -> None:
    chance = random.Random(0)
    heap, expected = piles.Heap(), list[Any]()
    for number in range(20_000):
        if chance.random() < 0.6 or not expected:
            item = (chance.randrange(100), number, np.zeros(2))
            heap.push(item)
            heapq.heappush(expected, item)
        else:
            assert heap.pop() is heapq.heappop(expected)
        assert len(heap) == len(expected)
    while expected:
        assert heap.pop() is heapq.heappop(expected)
    with pytest.raises(IndexError):
        heap.pop()


def test_what_has_left_is_not_kept() -> None:
    for made in (piles.Line, piles.Row, piles.Heap):
        pile = made()
        add, take = (pile.push if made is piles.Heap else pile.append), pile.pop
        seen = []
        for number in range(MANY):
            one = np.zeros(1)
            seen.append(weakref.ref(one))
            add((number, one))
        del one
        for _ in range(MANY // 2):
            take()
        assert sum(each() is not None for each in seen) == len(pile) == MANY - MANY // 2
        pile.drop()
        assert not len(pile)
        assert not any(each() is not None for each in seen)


def test_dictionaries_of_many_keys_are_several() -> None:
    found, expected = piles.Dictionary(), dict[Any, Any]()
    # Keys that would all be of one part, if numbers were their own hashes.
    for keys in (range(0, MANY * 64, 64), [b"%d" % i for i in range(MANY)], [(i, 0) for i in range(MANY)]):
        pairs = [(key, i) for i, key in enumerate(keys)]
        found.update(pairs)
        expected.update(pairs)
    assert max(map(len, found._dicts)) < len(expected) / 16
    assert len(found) == len(expected)
    assert dict(zip(found.keys(), found.values(), strict=True)) == expected
    assert set(found) == set(expected)
    for key in [0, 64, 1, b"7", b"x", (7, 0)]:
        assert found.get(key, -1) == expected.get(key, -1)
        assert found.setdefault(key, 5) == expected.setdefault(key, 5)
    assert [*found.get_all([1, 2])] == [5, None]
    other = piles.Dictionary()
    other.update(reversed(expected.items()))
    assert found.same(other)
    other[1] = 6
    assert not found.same(other)
    assert found.pop(64) == expected.pop(64)
    assert found.pop("none", 3) == 3
    assert len(found) == len(expected)


def filled(kind: str) -> Any:
    """What a client can fill, with many elements."""
    types, shapes = [dtypes.int64, dtypes.float32], [(), (2,)]
    numbers, rows = np.arange(MANY), np.zeros((MANY, 2), np.float32)
    elements = [(numbers[i : i + 1].reshape(()), rows[i]) for i in range(MANY)]
    if kind == "table":
        table = Table("table", dtypes.int64, dtypes.float32, (2,))
        table.insert(numbers, rows)
        return table
    if kind == "static table":
        static = StaticTable("table", dtypes.int64, dtypes.int64)
        static.replace(numbers, numbers)
        return static
    if kind == "barrier":
        barrier = Barrier("barrier", types, shapes)
        keys = [b"%d" % i for i in range(MANY)]
        barrier.insert(keys, 0, numbers)
        barrier.insert(keys[: MANY // 2], 1, rows[: MANY // 2])
        return barrier
    if kind == "waiting":
        queue = Queue("queue", types, shapes, 1)
        queue.enqueue(elements)
        return queue
    queue = {
        "queue": lambda: Queue("queue", types, shapes, -1),
        "priority": lambda: PriorityQueue("queue", types, shapes, -1),
        "random": lambda: RandomShuffleQueue("queue", types, shapes, -1, 0, lambda: 12345),
    }[kind]()
    queue.enqueue(elements)
    assert queue.size == MANY
    return queue


@pytest.mark.parametrize(
    "kind", ["queue", "priority", "random", "waiting", "barrier", "table", "static table"]
)
def test_the_collector_does_not_go_through_what_clients_put_in(kind: str) -> None:
    owner = filled(kind)
    assert walked_over(owner) < MANY / 2


def test_a_large_buffer_shuffles_as_a_list_does(monkeypatch: pytest.MonkeyPatch) -> None:
    class Run:
        def check(self) -> None:
            pass

    def order() -> tuple[list[Any], int]:
        items = iter([(np.array(i),) for i in range(MANY)])
        shuffling = shuffle._Shuffling(Run(), items, MANY // 2, (3, 4))  # type: ignore[arg-type]
        first = next(shuffling)
        walked = walked_over(shuffling._buffer)
        return [int(each[0]) for each in (first, *shuffling)], walked

    found, walked = order()
    monkeypatch.setattr(unlocked, "LISTED", MANY)
    expected, walked_list = order()
    assert found == expected
    assert sorted(found) == list(range(MANY))
    assert walked < MANY / 4 < walked_list


@pytest.mark.parametrize("kind", ["queue", "random", "priority", "table", "ready", "incomplete"])
def test_sizes_are_taken_while_nothing_moves(kind: str) -> None:
    """A container that moves its items into blocks or dicts has too few of them in the meantime."""
    int64, float32 = dtypes.int64, dtypes.float32
    held: list[bool] = []
    if kind in ("ready", "incomplete"):
        barrier = Barrier("b", [float32], [()])
        owner, name = barrier, f"_{kind}"
    elif kind == "table":
        owner, name = Table("t", int64, int64), "_values"  # type: ignore[assignment]
    else:
        queues = {
            "queue": Queue("q", [int64], [()], -1),
            "random": RandomShuffleQueue("q", [int64], [()], -1, 0, lambda: 0),
            "priority": PriorityQueue("q", [int64], [()], -1),
        }
        owner, name = queues[kind], "_elements"  # type: ignore[assignment]

    class Watched(type(getattr(owner, name))):  # type: ignore[misc]
        def __len__(self) -> int:
            held.append(owner._lock.locked())
            return 0

    setattr(owner, name, Watched())
    own = {"table": "__len__", "ready": "ready_size", "incomplete": "incomplete_size"}.get(kind, "size")
    found = getattr(owner, own)
    assert (found() if callable(found) else found) == 0
    assert held == [True]
