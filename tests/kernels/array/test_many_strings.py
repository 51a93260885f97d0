"""Ops on arrays that are treated by parts where they are large."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfleet.core import errors, string_arrays
from tensorfleet_service.kernels.random import random_ops
from tests.kernels.harness import run_op


@pytest.fixture
def strings(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """All arrays of strings are many."""
    monkeypatch.setattr(string_arrays, "LARGE", 2)
    monkeypatch.setattr(string_arrays, "PART", 2)
    return np.array([b"a", b"b", b"c", b"d", b"e"], object)


def test_the_last_of_equal_rows_stays(strings: np.ndarray) -> None:
    found = run_op("InplaceUpdate", strings, [0, 6, -1, 0], np.array([b"1", b"2", b"3", b"4"], object))
    assert found.tolist() == [b"4", b"2", b"c", b"d", b"3"]
    assert strings.tolist() == [b"a", b"b", b"c", b"d", b"e"]


def test_rows_of_many_indices() -> None:
    count = 40_000
    index = np.arange(count, dtype=np.int32) % 5
    found = run_op("InplaceSub", np.zeros(5, np.int64), index, np.arange(count))
    expected = np.zeros(5, np.int64)
    np.subtract.at(expected, index, np.arange(count))
    assert found.tolist() == expected.tolist()


def test_numbers_are_added_strings_are_not(strings: np.ndarray) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Unsupported data type: string"):
        run_op("InplaceAdd", strings, [0], strings[:1])


@pytest.mark.parametrize("op", ["MatrixDiag", "MatrixDiagPart", "MatrixSetDiag"])
def test_diagonals_of_strings(op: str, strings: np.ndarray) -> None:
    inputs = {"MatrixDiag": [strings], "MatrixDiagPart": [strings[None]]}
    with pytest.raises(errors.InvalidArgumentError, match="No OpKernel was registered"):
        run_op(op, *inputs.get(op, [strings[None], strings[:1]]))


def test_shapes_of_parts_of_a_concatenation() -> None:
    shapes = [np.ones(1000, np.int32) for _ in range(2)]
    shapes[1][7] = 2
    with pytest.raises(errors.InvalidArgumentError, match=r"Input 1 has shape \[1 .* \.\.\.\]"):
        run_op("ConcatOffset", 3, shapes)
    assert run_op("ConcatOffset", 7, shapes)[1].tolist() == [0] * 7 + [1] + [0] * 992


def test_a_shuffle_by_parts_is_the_same(strings: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(5)
    whole = run_op("RandomShuffle", rows, seed=3, seed2=4)
    monkeypatch.setattr(random_ops, "_PART", 2)
    assert run_op("RandomShuffle", rows, seed=3, seed2=4).tolist() == whole.tolist()
    assert run_op("RandomShuffle", strings, seed=3, seed2=4).tolist() == strings[whole].tolist()
    strings_by_numbers = [run_op("StatelessShuffle", x, [1, 2], [3, 4], 1) for x in (rows, strings)]
    assert strings_by_numbers[1].tolist() == strings[strings_by_numbers[0]].tolist()
