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


def packed(b: Any, is_turned: bool = False, threads: int = 1) -> Any:
    columns, inner = b.shape if is_turned else b.shape[::-1]
    panels = -(-columns // native.native.PANEL_COLUMNS)
    out = np.full((panels, inner, native.native.PANEL_COLUMNS), np.nan, np.float32)
    native.native.pack_matrix(b, out, inner, columns, is_turned, threads)
    return out


LONG = [(5, 1025, 70), (14, 2500, 33), (3, 600, 1100), (131, 1500, 70)]
"""Sizes of which the inner dimension goes by in blocks; of the last, two threads share the rows."""


@pytest.mark.parametrize(("rows", "inner", "columns"), LONG)
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False)])
def test_values_of_a_long_inner_dimension(
    rows: int, inner: int, columns: int, turned: tuple[bool, bool]
) -> None:
    a, b = floats(rows, inner), floats(inner, columns, seed=1)
    given_a, given_b = (np.ascontiguousarray(x.T) if t else x for x, t in zip((a, b), turned, strict=True))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    found = product(given_a, given_b, turned)
    np.testing.assert_allclose(found, expected, atol=1e-6 * inner)
    for threads in (2, 64):
        assert product(given_a, given_b, turned, threads).tobytes() == found.tobytes()


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 1, 1), (20, 40, 80), (13, 7, 100), *LONG])
def test_a_matrix_packed_before_gives_the_same_bits(rows: int, inner: int, columns: int) -> None:
    a, b = floats(rows, inner), floats(inner, columns, seed=1)
    for is_turned in (False, True):
        given = np.ascontiguousarray(b.T) if is_turned else b
        panels = packed(given, is_turned)
        assert not np.isnan(panels).any()
        assert packed(given, is_turned, 3).tobytes() == panels.tobytes()
        found = [np.full((rows, columns), np.nan, np.float32) for _ in range(2)]
        for out, threads in zip(found, (1, 3), strict=True):
            native.native.multiply(a, panels, out, rows, inner, columns, False, 2, threads)
        assert found[0].tobytes() == found[1].tobytes()
        assert found[0].tobytes() == product(a, given, (False, is_turned)).tobytes()
        np.testing.assert_allclose(found[0], a.astype(np.float64) @ b, atol=1e-6 * inner)


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
    # A vector is, too, and what is large with many rows and columns, or given transposed.
    assert native.multiply(floats(1, 400), floats(400, 500), False, False) is None
    assert native.multiply(floats(500, 400), floats(1, 400), False, True) is None
    tall = floats(native.MOST_LEFT // 300 + 1, 300)
    assert len(tall) > native.SHORT_SIDE
    columns = native.SHORT_SIDE + 1
    for kind, takes, turns in (("AVX2", False, False), ("AVX-512", True, True)):
        monkeypatch.setattr(native, "native", _Kind(native.native, kind))
        assert (native.multiply(tall, floats(300, columns), False, False) is not None) == takes
        assert (native.multiply(tall, floats(len(tall), 30), True, False) is not None) == turns
        np.testing.assert_allclose(
            native.multiply(tall, floats(300, 30, seed=1), False, False),
            tall @ floats(300, 30, seed=1),
            atol=1e-3,
        )
        twice = floats(2 * native.MOST_LEFT // 300 + 1, 300)
        assert native.multiply(twice, floats(len(twice), 30), True, False) is None


class _Kind:
    """The module as it is with another instruction set."""

    def __init__(self, module: Any, kind: str) -> None:
        self.INSTRUCTION_SET = kind
        self.multiply = module.multiply


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
    panels = packed(b)
    for form in (-1, 3):
        with pytest.raises(REFUSED):
            native.native.multiply(a, panels, out, 6, 6, 6, False, form, 1)
    for arrays in ((a, b, out), (a, panels[:, :5], out), (a, panels, panels)):
        with pytest.raises(REFUSED):
            native.native.multiply(*arrays, 6, 6, 6, False, 2, 1)
    for pair in ((b, b), (b, panels[:, :5]), (b.astype(np.float64), panels), (panels, panels)):
        with pytest.raises(REFUSED):
            native.native.pack_matrix(*pair, 6, 6, False, 1)
    for bad in BAD_SIZES:
        with pytest.raises(REFUSED):
            native.native.pack_matrix(b, panels, bad, 6, False, 1)
        with pytest.raises(REFUSED):
            native.native.pack_matrix(b, panels, 6, bad, True, 1)
    empty = np.empty((0, 6), np.float32)
    native.native.multiply(empty, b, empty, 0, 6, 6, True, False, 1)


def test_products_that_take_a_moment_are_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    least = 1 << 22
    asked: list[int] = []

    def thread_count() -> int:
        asked.append(1)
        return 2

    monkeypatch.setattr(native, "thread_count", thread_count)
    inner = least // (128 * 128)
    for rows, divided in ((127, 0), (128, 1)):
        assert native.multiply(floats(rows, inner), floats(inner, 128), False, False) is not None
        assert len(asked) == divided
