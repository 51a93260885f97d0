"""Products of matrices by the compiled kernels: values beside float64's, and what the module refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tensorfleet_service.devices import native
from tests.kernels.harness import run_op

pytestmark = pytest.mark.skipif(native.native is None, reason="no compiled kernels")

REFUSED = (ValueError, TypeError, BufferError)


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def product(a: Any, b: Any, turned: tuple[bool, bool] = (False, False), threads: int = 1) -> Any:
    rows, inner = a.shape[::-1] if turned[0] else a.shape
    columns = b.shape[0 if turned[1] else 1]
    out = np.full((rows, columns), np.nan, np.float32)
    native.native.multiply(a, b, out, rows, inner, columns, *turned, threads)
    return out


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(0, 40),
    inner=st.integers(1, 70),
    columns=st.integers(0, 90),
    turned=st.tuples(st.booleans(), st.booleans()),
)
def test_values(rows: int, inner: int, columns: int, turned: tuple[bool, bool]) -> None:
    a, b = floats(rows, inner), floats(inner, columns, seed=1)
    given_a, given_b = (np.ascontiguousarray(x.T) if t else x for x, t in zip((a, b), turned, strict=True))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    bound = np.abs(a).astype(np.float64) @ np.abs(b) * inner * 2**-24
    assert (np.abs(product(given_a, given_b, turned) - expected) <= bound).all()


@pytest.mark.parametrize("turned", [(False, False), (True, True)])
def test_the_number_of_threads_changes_no_bit(turned: tuple[bool, bool]) -> None:
    a, b = floats(61, 61), floats(61, 61, seed=1)
    alone = product(a, b, turned)
    for threads in (2, 3, 64):
        assert product(a, b, turned, threads).tobytes() == alone.tobytes()


def test_what_is_no_number_stays_in_its_row_and_column() -> None:
    a, b = np.ones((7, 5), np.float32), np.ones((5, 33), np.float32)
    a[2, 3], b[1, 32] = np.nan, np.inf
    found = product(a, b)
    assert np.isnan(found[2]).all()
    assert np.isposinf(np.delete(found[:, 32], 2)).all()
    assert (np.delete(found[:, :32], 2, 0) == 5).all()


def test_matrices_of_the_op(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = floats(30, 40), floats(40, 50, seed=1)
    for turn_a in (False, True):
        for turn_b in (False, True):
            pair = np.ascontiguousarray(a.T) if turn_a else a, np.ascontiguousarray(b.T) if turn_b else b
            assert native.multiply(*pair, turn_a, turn_b) is not None
            found = run_op("MatMul", *pair, transpose_a=turn_a, transpose_b=turn_b)
            np.testing.assert_allclose(found, a @ b, rtol=1e-4, atol=1e-4)
    # What is not in one piece, of other types, too large or too small is NumPy's.
    assert native.multiply(a[:, ::2], b[:20], False, False) is None
    assert native.multiply(a.astype(np.float64), b.astype(np.float64), False, False) is None
    assert native.multiply(a, b[:20], False, False) is None
    assert native.multiply(a[:2], b[:, :2], False, False) is None
    large = np.empty((2, native.MOST_INNER + 1), np.float32)
    assert native.multiply(large, large, False, True) is None


BAD_SIZES = [0, -1, 5, 1 << 13, 1 << 31, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63)]


@pytest.mark.parametrize("bad", BAD_SIZES)
@pytest.mark.parametrize("which", range(3))
def test_sizes_that_do_not_fit_are_refused(which: int, bad: int) -> None:
    a, b, out = floats(6, 6), floats(6, 6), floats(6, 6)
    sizes = [6, 6, 6]
    sizes[which] = bad
    for turned in (False, True):
        with pytest.raises(REFUSED):
            native.native.multiply(a, b, out, *sizes, turned, turned, 2)


def test_arrays_that_do_not_fit_are_refused() -> None:
    a, b, out = floats(6, 6), floats(6, 6), floats(6, 6)
    fixed = floats(6, 6)
    fixed.flags.writeable = False
    for arrays in (
        (a, b, a),
        (a, b, b),
        (a, a, a.reshape(-1)),
        (a, b, fixed),
        (a, b, floats(6, 12)[:, ::2]),
        (a.astype(np.float64), b, out),
        (a, b.astype(np.int32), out),
        (a[:5], b, out),
        (None, b, out),
    ):
        with pytest.raises(REFUSED):
            native.native.multiply(*arrays, 6, 6, 6, False, False, 1)
    empty = np.empty((0, 6), np.float32)
    native.native.multiply(empty, b, empty, 0, 6, 6, True, False, 1)
