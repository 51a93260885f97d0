"""SparseToDense: the first index that is wrong is the one that the error names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tests.kernels.harness import run_op


def dense(places: list[list[int]], dims: list[int]) -> Any:
    indices = np.array(places, np.int64).reshape(len(places), len(dims))
    return run_op("SparseToDense", indices, np.array(dims, np.int64), np.float32(1), np.float32(0))


@pytest.mark.parametrize(
    ("places", "wrong"),
    [
        ([[0, 1], [1, 0], [1, 0], [9, 9]], r"indices\[2\] = \[1,0\] is repeated"),
        ([[0, 1], [1, 2], [1, 1], [9, 9]], r"indices\[2\] = \[1,1\] is out of order"),
        ([[0, 1], [2, 0], [1, 3]], r"indices\[2\] = \[1,3\] is out of order"),
        ([[0, 1], [0, 4], [0, 0]], r"indices\[1\] = \[0,4\] is out of bounds: need 0 <= index < \[3,4\]"),
        ([[-1, 0]], r"indices\[0\] = \[-1,0\] is out of bounds"),
        ([[2, 3], [0, -1]], r"indices\[1\] = \[0,-1\] is out of bounds"),
    ],
)
def test_wrong_indices(places: list[list[int]], wrong: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=wrong):
        dense(places, [3, 4])


@pytest.mark.parametrize("places", [[], [[0, 0]], [[0, 0], [0, 3], [1, 0], [2, 3]]])
def test_right_indices(places: list[list[int]]) -> None:
    wanted = np.zeros((3, 4), np.float32)
    for row, column in places:
        wanted[row, column] = 1
    assert np.array_equal(dense(places, [3, 4]), wanted)


def test_a_scalar_of_no_dimensions() -> None:
    assert dense([[]], []) == 1
