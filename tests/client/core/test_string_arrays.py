"""Arrays of many strings, which are filled and dropped by parts."""

from __future__ import annotations

import gc
import operator
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import string_arrays
from tests.kernels.harness import run_op


class Item:
    alive = 0

    def __init__(self) -> None:
        Item.alive += 1

    def __del__(self) -> None:
        Item.alive -= 1


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(string_arrays, "PART", 3)
    monkeypatch.setattr(string_arrays, "LARGE", 8)


def strings(*shape: int, first: int = 0) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape))
    return np.array([b"s%d" % i for i in range(first, first + count)], object).reshape(shape)


def test_large_arrays_are_dropped_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by way of a view, when the last one goes, and before the memory does."""
    made = string_arrays.vector([Item() for _ in range(20)])
    assert type(made) is np.ndarray
    assert Item.alive == 20
    part = made.reshape(4, 5)[1:]
    del made
    gc.collect()
    assert Item.alive == 20
    left: list[int] = []
    kept = string_arrays._Kept
    before = kept.__del__

    def counted(self: Any) -> None:
        before(self)
        left.append(Item.alive)

    monkeypatch.setattr(kept, "__del__", counted)
    del part
    assert left == [0]


def test_what_is_found_by_and_by_becomes_one_array() -> None:
    found = string_arrays.Gathered()
    for part in ([b"a"] * 7, [], [b"b", b"c"], [b"d"], [b"e"]):
        found.add(part)
    assert len(found) == 11
    assert found.taken().tolist() == [b"a"] * 7 + [b"b", b"c", b"d", b"e"]
    assert found.taken().tolist() == []


def test_filling_may_be_ended() -> None:
    looks: list[int] = []
    assert string_arrays.filled((2, 5), b"x", lambda: looks.append(1)).tolist() == [[b"x"] * 5] * 2
    assert len(looks) == 4


@pytest.mark.parametrize(
    ("x", "y"),
    [((4, 5), (4, 5)), ((4, 5), (5,)), ((4, 1), (1, 5)), ((4, 5), ()), ((1,), (3, 4)), ((2, 3, 4), (3, 1))],
)
def test_elementwise_functions_of_parts(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    a, b = strings(*x), strings(*y, first=3)
    expected = np.broadcast_arrays(a, b)
    assert string_arrays.each(operator.add, a, b).tolist() == (expected[0] + expected[1]).tolist()
    turned = string_arrays.each(operator.add, a.T, a.T)
    assert turned.tolist() == (a + a).T.tolist()
    same = run_op("Equal", a, b)
    assert same.dtype == np.bool_
    assert same.tolist() == np.equal(*expected, dtype=object).astype(bool).tolist()


A, B = strings(4, 5), strings(4, 5, first=100)
MOVES: dict[str, tuple[Any, Any]] = {
    "ConcatV2": (lambda: run_op("ConcatV2", [A, B], 1), np.concatenate([A, B], 1)),
    "Pack": (lambda: run_op("Pack", [A, B], axis=1), np.stack([A, B], 1)),
    "Transpose": (lambda: run_op("Transpose", A, [1, 0]), A.T),
    "ReverseV2": (lambda: run_op("ReverseV2", A, [0]), A[::-1]),
    "Roll": (lambda: run_op("Roll", A, 1, 1), np.roll(A, 1, 1)),
    "Tile": (lambda: run_op("Tile", A, [2, 3]), np.tile(A, [2, 3])),
    "BroadcastTo": (lambda: run_op("BroadcastTo", A[0], [4, 5]), np.stack([A[0]] * 4)),
    "GatherV2": (lambda: run_op("GatherV2", A.T, [4, 0, 4, 1], 0), A.T[[4, 0, 4, 1]]),
    "of few": (lambda: run_op("GatherV2", A[0], [[4, 0, 4, 1]] * 9, 0), A[0][[[4, 0, 4, 1]] * 9]),
    "GatherNd": (lambda: run_op("GatherNd", A, [[3, 4], [0, 1]]), A[[3, 0], [4, 1]]),
    "SelectV2": (
        lambda: run_op("SelectV2", [True, False] * 2 + [True], A, B),
        np.where([1, 0, 1, 0, 1], A, B),
    ),
    "DynamicPartition": (
        lambda: np.concatenate(run_op("DynamicPartition", A, [1, 0, 1, 0], num_partitions=2)),
        A[[1, 3, 0, 2]],
    ),
    "DynamicStitch": (
        lambda: run_op("DynamicStitch", [[0, 5], [2, 1]], [A[:2], B[:2]]),
        np.array([A[0], B[1], B[0], [b""] * 5, [b""] * 5, A[1]]),
    ),
    "Fill": (lambda: run_op("Fill", [3, 4], np.array(b"x", object)), np.full((3, 4), b"x", object)),
    "Add": (lambda: run_op("Add", A, B), A + B),
}


@pytest.mark.parametrize("name", MOVES)
def test_many_strings_are_moved_as_few_are(name: str) -> None:
    compute, expected = MOVES[name]
    found = compute()
    assert found.dtype == object
    assert found.tolist() == expected.tolist()
