"""What extrema, signs and Cholesky factors make of NaNs and infinities, as in TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tests.kernels.harness import run_op

NAN, INF = np.nan, np.inf
LOWEST = np.finfo(np.float32).min


def same(got: Any, expected: Any) -> None:
    np.testing.assert_array_equal(got, np.asarray(expected))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [2, 9, 40, 70_000])
def test_reductions_pass_over_nans(dtype: Any, size: int) -> None:
    for place in {0, 1, size // 2, size - 1}:
        x = (np.arange(size) % 50).astype(dtype)
        x[place] = NAN
        rows = np.stack([x, np.full(size, NAN, dtype), np.nan_to_num(x, nan=7)])
        for op, worst, extreme in (("Max", -INF, np.nanmax), ("Min", INF, np.nanmin)):
            most = extreme(x)
            same(run_op(op, x, np.int32(0), keep_dims=False), most)
            of_all = run_op(op, rows, np.array([0, 1], np.int32), keep_dims=False)
            same(of_all, extreme([most, extreme(rows[2])]))
            for given, axis in ((rows, 1), (np.ascontiguousarray(rows.T), 0)):
                got = run_op(op, given, np.int32(axis), keep_dims=False)
                same(got, [most, worst, extreme(rows[2])])
                assert got.dtype == dtype


def test_a_reduction_of_single_elements_keeps_nans() -> None:
    x = np.array([[NAN], [1]], np.float32)
    same(run_op("Max", x, np.int32(1), keep_dims=False), [NAN, 1])
    same(run_op("Min", x, np.int32(1), keep_dims=True), x)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_second_operand_counts_where_it_is_greater_or_less(dtype: Any) -> None:
    x = np.array([NAN, 1, NAN, 1, 2, INF, -INF] * 9, dtype)
    y = np.array([1, NAN, NAN, 2, 1, NAN, 3] * 9, dtype)
    same(run_op("Maximum", x, y), np.where(x < y, y, x))
    same(run_op("Minimum", x, y), np.where(x > y, y, x))
    same(run_op("Maximum", dtype(1), y), np.where(y > 1, y, 1))
    same(run_op("Maximum", x, dtype(1)), np.where(x < 1, 1, x))
    same(run_op("Maximum", np.int32(3), np.array([-5, 3, 8], np.int32)), [3, 3, 8])


def test_of_two_zeros_the_first_is_the_greater() -> None:
    zeros = np.array([0.0] * 40, np.float32)
    assert not np.signbit(run_op("Maximum", zeros, -zeros)).any()
    assert np.signbit(run_op("Minimum", -zeros, zeros)).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nan_has_no_sign(dtype: Any) -> None:
    x = np.array([NAN, -INF, INF, 0, -0.0, 3, -3, 1e-7, NAN], dtype)
    same(run_op("Sign", x), np.array([0, -1, 1, 0, 0, 1, -1, 1, 0], dtype))
    same(run_op("Sign", np.array([-3, 0, 9])), [-1, 0, 1])


def test_sorted_segments_pass_over_nans() -> None:
    data = np.array([[NAN, 1], [3, NAN], [NAN, NAN], [NAN, NAN], [NAN, 5]], np.float32)
    ids = np.array([0, 0, 1, 1, 3])
    same(run_op("SegmentMax", data, ids), [[3, 1], [-INF, -INF], [0, 0], [NAN, 5]])
    same(run_op("SegmentMin", data, ids), [[3, 1], [INF, INF], [0, 0], [NAN, 5]])


def test_unsorted_segments_begin_anew_after_a_nan() -> None:
    data = np.array([9, 1, NAN, 8, 2, 3, NAN, -INF, -INF, NAN], np.float32)
    ids = np.array([0, 1, 0, 1, 0, 0, 1, 3, 4, 4])
    expected = [3, NAN, LOWEST, LOWEST, NAN]
    same(run_op("UnsortedSegmentMax", data, ids, np.int32(5)), expected)
    rows = np.stack([data, data[::-1], np.zeros(10, np.float32)], 1)
    got = run_op("UnsortedSegmentMax", rows, ids, np.int32(5))
    same(got[:, 0], expected)
    same(got[:, 1], _one_by_one(data[::-1], ids, 5))
    same(run_op("UnsortedSegmentMin", -data, ids, np.int32(5)), -np.array(expected, np.float32))


def _one_by_one(data: Any, ids: Any, count: int) -> Any:
    result = np.full(count, LOWEST)
    for value, i in zip(data, ids, strict=True):
        result[i] = result[i] if value < result[i] else value
    return result


@pytest.mark.parametrize("seed", range(5))
def test_unsorted_segments_as_one_row_after_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.choice(np.array([NAN, -INF, INF, 1, 2, 3], np.float32), 200)
    ids = rng.integers(0, 40, 200)
    same(run_op("UnsortedSegmentMax", data, ids, np.int32(41)), _one_by_one(data, ids, 41))


def test_the_logarithm_of_nothing_is_the_lowest_number() -> None:
    x = np.array([-INF, 1, 2], np.float32)
    attrs = {"exclusive": True, "reverse": False}
    same(run_op("CumulativeLogsumexp", x, np.int32(0), **attrs), np.float32([LOWEST, LOWEST, 1]))
    got = run_op("CumulativeLogsumexp", x, np.int32(0), exclusive=False, reverse=False)
    np.testing.assert_allclose(got, np.float32([LOWEST, 1, np.log(np.exp(1) + np.exp(2))]), rtol=1e-6)


def test_cholesky_refuses_matrices_that_are_not_definite() -> None:
    good, bad = np.eye(3), np.diag([1.0, -1, 2])
    nan_before, nan_after = np.diag([NAN, 4, -1]), np.diag([4.0, 1, NAN])
    nan_before[2, 0] = nan_after[2, 1] = 1
    for x in (bad, np.zeros((2, 2)), np.stack([good, bad]), np.diag([4, -1, NAN]), bad.astype(complex)):
        with pytest.raises(errors.InvalidArgumentError, match="Cholesky decomposition was not successful"):
            run_op("Cholesky", x)
    same(run_op("Cholesky", nan_after), [[2, 0, 0], [0, 1, 0], [0, 1, NAN]])
    got = run_op("Cholesky", np.stack([nan_before, good]))
    same(got[0], [[NAN, 0, 0], [NAN, NAN, 0], [NAN, NAN, NAN]])
    same(got[1], good)
