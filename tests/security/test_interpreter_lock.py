"""Kernels let other threads run while they compute on large arrays, and refuse what would never end."""

from __future__ import annotations

import itertools
import math
import weakref
from collections import deque
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet_service.devices import blas, blocks, native
from tensorfleet_service.kernels import sparse
from tensorfleet_service.kernels.linalg import elimination, linalg, reflections
from tensorfleet_service.kernels.math import special
from tensorfleet_service.kernels.nn import compiled_conv
from tensorfleet_service.kernels.training import training_ops
from tensorfleet_service.kernels.values import MOST_NUMBERS
from tensorfleet_service.state.queues import Queue
from tensorfleet_service.state.tables import Table
from tensorfleet_service.threads import running, unlocked
from tests.kernels.harness import run_op

RANDOM = np.random.default_rng(0)


class Noting:
    """A ufunc that notes how many elements each call of its methods treats."""

    def __init__(self, ufunc: Any) -> None:
        self.sizes: list[int] = []
        self._ufunc = ufunc

    def __call__(self, *arguments: Any) -> Any:
        return self._ufunc(*arguments)

    def __getattr__(self, name: str) -> Any:
        def call(x: Any, *arguments: Any, **options: Any) -> Any:
            self.sizes.append(np.size(arguments[1] if name == "at" else x))
            return getattr(self._ufunc, name)(x, *arguments, **options)

        return call


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> int:
    for name in ("PART", "PLACES", "LISTED"):
        monkeypatch.setattr(unlocked, name, 16)
    return 16


@pytest.mark.parametrize("shape", [(100,), (40, 3), (3, 40), (2, 30, 2), (50, 20), (5, 4, 3, 2)])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
def test_scans_by_parts(shape: tuple[int, ...], ufunc: Any, small_parts: int) -> None:
    x = RANDOM.standard_normal(shape).astype(np.float16)
    for axis in range(-len(shape), len(shape)):
        noting = Noting(ufunc)
        found = unlocked.accumulate(noting, x, axis, np.float32)
        np.testing.assert_array_equal(found, ufunc.accumulate(x, axis, np.float32))
        assert max(noting.sizes) <= max(small_parts, shape[axis])
        flipped = np.flip(x, axis)
        found = unlocked.accumulate(ufunc, flipped, axis, np.float16)
        np.testing.assert_array_equal(found, ufunc.accumulate(flipped, axis, np.float16))


@pytest.mark.parametrize("ufunc", [np.add, np.maximum])
@pytest.mark.parametrize("starts", [[0], range(0, 60, 2), [0, 1, 2, 40, 41, 42, 59], [3, 50]])
def test_segments_by_parts(ufunc: Any, starts: Any, small_parts: int) -> None:
    rows, begins = RANDOM.integers(0, 100, (60, 3)), np.array(starts)
    noting = Noting(ufunc)
    np.testing.assert_array_equal(
        unlocked.reduceat(noting, rows, begins), ufunc.reduceat(rows, begins, axis=0)
    )
    assert len(noting.sizes) > 1 or len(begins) == 1


@pytest.mark.parametrize("inner", [(), (2,), (3, 3)])
def test_scatters_by_parts(inner: tuple[int, ...], small_parts: int) -> None:
    places = RANDOM.integers(0, 7, (5, 11))
    updates = RANDOM.standard_normal((5, 11, *inner)).astype(np.float32)
    for given in (updates, np.float32(3)):
        found, expected = np.zeros((2, 7, *inner), np.float32)
        noting = Noting(np.add)
        unlocked.at(noting, found, places, given)
        np.add.at(expected, places, given)
        np.testing.assert_array_equal(found, expected)  # in the same order, so to the last bit
        assert max(noting.sizes) <= small_parts or not np.ndim(given)


def test_counts_and_lists_by_parts(small_parts: int) -> None:
    numbers = RANDOM.integers(0, 9, 100)
    for least in (0, 5, 30):
        assert unlocked.bincount(numbers, least).tolist() == np.bincount(numbers, minlength=least).tolist()
    listed = unlocked.listed(numbers.reshape(4, 25))
    assert listed == numbers.tolist()
    assert isinstance(listed, unlocked.Listed)  # which is dropped by parts, too
    counts = RANDOM.integers(0, 9, 40)
    assert unlocked.repeat(np.arange(40), counts).tolist() == np.repeat(np.arange(40), counts).tolist()


def test_different_numbers_and_rows() -> None:
    values = RANDOM.integers(0, 9, 50).astype(np.float32)
    values[[3, 7]] = np.nan
    options: Any = {"return_index": True, "return_inverse": True, "return_counts": True, "equal_nan": False}
    for found, expected in zip(unlocked.unique(values), np.unique(values, **options), strict=True):
        np.testing.assert_array_equal(found, expected)
    rows = RANDOM.integers(-1, 2, (40, 3))
    expected = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    assert sparse.row_numbers(rows).tolist() == expected.tolist()
    wide = np.repeat(RANDOM.integers(0, 2, (5, 70)), 3, 0).astype(np.float32)
    wide[wide == 0] = [0.0, -0.0] * (int((wide == 0).sum()) // 2) + [0.0] * (int((wide == 0).sum()) % 2)
    numbers = sparse.row_numbers(wide)
    assert [numbers[i] == numbers[j] for i in range(15) for j in range(15)] == [
        (wide[i] == wide[j]).all() for i in range(15) for j in range(15)
    ]
    wide[:, 0] = np.nan
    assert len(set(sparse.row_numbers(wide).tolist())) == 15


def test_products_of_small_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's `matmul` keeps the interpreter for those, however long the rows are."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("matmul is called")

    a, b = RANDOM.integers(0, 9, (2, 3, 50)), RANDOM.integers(0, 9, (2, 50, 4))
    expected = a @ b
    monkeypatch.setattr(np, "matmul", refuse)
    monkeypatch.setattr(blas, "LARGE_PRODUCT", 1)
    assert blas.large_product(a[0], b[0]).tolist() == expected[0].tolist()
    assert blas.batch_product(a, b).tolist() == expected.tolist()
    out = np.empty((3, 4), a.dtype)
    assert unlocked.matmul(a[1], b[1], out) is out
    assert out.tolist() == expected[1].tolist()


DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def matrices(dtype: Any, *shape: int) -> Any:
    x = RANDOM.standard_normal(shape).astype(dtype)
    return x + (1j * RANDOM.standard_normal(shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All matrices count as large, and NumPy's functions that keep the interpreter then are not there."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("it keeps the interpreter")

    monkeypatch.setattr(linalg, "MOST_WORK", 1)
    for name in ("det", "slogdet", "qr", "eigvals", "eigvalsh"):
        monkeypatch.setattr(np.linalg, name, refuse)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 5, 64, 65, 150])
def test_determinants(dtype: Any, size: int, request: pytest.FixtureRequest) -> None:
    x = matrices(dtype, 2, size, size) / math.sqrt(size)
    signs, logarithms = np.linalg.slogdet(x)
    expected = np.linalg.det(x)
    request.getfixturevalue("large")
    sign, logarithm = run_op("LogMatrixDeterminant", x)
    np.testing.assert_allclose(sign, signs, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(logarithm, logarithms, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(run_op("MatrixDeterminant", x), expected, rtol=2e-3)


def test_determinants_of_singular_matrices(large: None) -> None:
    zeros = np.zeros((2, 70, 70))
    assert run_op("MatrixDeterminant", zeros).tolist() == [0.0, 0.0]
    sign, logarithm = run_op("LogMatrixDeterminant", zeros)
    assert sign.tolist() == [0.0, 0.0]
    assert logarithm.tolist() == [-math.inf, -math.inf]
    with pytest.raises(errors.InvalidArgumentError, match="not invertible"):
        run_op("Lu", zeros)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elimination_by_blocks(dtype: Any) -> None:
    x = matrices(dtype, 2, 130, 130)
    factors = x.copy()
    order, _ = elimination.eliminate(np, factors)
    lower, upper = np.tril(factors, -1) + np.eye(130, dtype=dtype), np.triu(factors)
    assert np.abs(np.tril(factors, -1)).max() <= 1 + 1e-5
    np.testing.assert_allclose(lower @ upper, np.take_along_axis(x, order[:, :, None], 1), atol=2e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 7, 4), (1, 4, 7), (1, 90, 70), (1, 33, 33), (1, 9, 1)])
@pytest.mark.parametrize("full", [False, True])
def test_reflections(dtype: Any, shape: Any, full: bool, request: pytest.FixtureRequest) -> None:
    """The same as LAPACK's, with the signs."""
    x = matrices(dtype, *shape)
    expected = np.linalg.qr(x, "complete" if full else "reduced")
    request.getfixturevalue("large")
    for found, own in zip(run_op("Qr", x, full_matrices=full), expected, strict=True):
        np.testing.assert_allclose(found, own, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("scale", [1e-38, 1e-25, 1e25])
def test_reflections_of_numbers_whose_squares_are_none(scale: float) -> None:
    x = matrices(np.float32, 90, 70) * np.float32(scale)
    for found, own, one in zip(
        reflections.qr(x, False), np.linalg.qr(x), (1, np.float32(scale)), strict=True
    ):
        np.testing.assert_allclose(found / one, own / one, rtol=1e-3, atol=1e-3)


def test_eigenvalues_and_singular_values(request: pytest.FixtureRequest) -> None:
    x = matrices(np.float64, 6, 6)
    symmetric = x + x.T
    general, real = np.sort_complex(np.linalg.eigvals(x)), np.linalg.eigvalsh(symmetric)
    singular = np.linalg.svd(x, compute_uv=False)
    request.getfixturevalue("large")
    found, _ = run_op("Eig", x, compute_v=False, Tout=np.complex128)
    np.testing.assert_allclose(np.sort_complex(found), general)
    np.testing.assert_allclose(run_op("SelfAdjointEigV2", symmetric, compute_v=False)[0], real)
    np.testing.assert_allclose(run_op("Svd", x, compute_uv=False)[0], singular)


def test_values_that_ask_for_as_many_terms_as_they_are_large() -> None:
    q = np.array([-1e17, -5.0, -1e9 + 0.5, -math.inf, -1e300, -30.5, math.nan])
    found = run_op("Zeta", np.full(7, 2.0), q)
    assert found[[0, 1, 3, 4]].tolist() == [math.inf] * 4
    np.testing.assert_allclose(found[2], math.pi**2, rtol=1e-8)
    assert math.isnan(found[6])
    for x in (2.0, 3.0, 4.0):
        low = np.array([-25.25, -50.7, -100.1])
        terms = [sum((v + k) ** -x for k in range(math.ceil(-v))) for v in low.tolist()]
        rest = run_op("Zeta", np.full(3, x), low - np.floor(low))
        np.testing.assert_allclose(run_op("Zeta", np.full(3, x), low), terms + rest, rtol=1e-10)
    alpha = np.array([1.0, 1e12, 1e300, -5.0, 0.5])
    sample = np.array([1e15, 1e15, 1e301, 1e18, 1e9])
    assert np.isfinite(run_op("RandomGammaGrad", alpha, sample)[[0, 1, 2, 4]]).all()


@pytest.mark.parametrize("alpha", [0.5, 5.0, 300.0, 99_999.0])
def test_the_derivative_of_samples_far_from_the_mean(alpha: float) -> None:
    """By the integral of 1 - P, whose integrand decays like an exponential."""
    x = 2 * alpha + 110
    t = np.linspace(0, 300, 300_001)
    ratio = (1 + t / x) ** (alpha - 1) * np.exp(-t)
    total, slope = np.trapezoid(ratio, t), np.trapezoid(ratio * np.log1p(t / x), t)
    expected = total * (math.log(x) - run_op("Digamma", alpha)) + slope
    np.testing.assert_allclose(run_op("RandomGammaGrad", alpha, x), expected, rtol=1e-5)


def test_the_derivative_of_samples_of_large_parameters() -> None:
    """The two ways to compute it agree where the one gives way to the other."""
    alpha = np.full(7, 1e5 + 0.5)
    x = alpha + np.array([-4.0, -2, -1, 0, 1, 2, 4]) * math.sqrt(1e5)
    by_series, by_roots = special._gamma_grad_series(np, alpha, x), special._gamma_grad_large(np, alpha, x)
    np.testing.assert_allclose(by_roots, by_series, rtol=1e-7)


def test_repeated_rows_are_found_in_linear_work() -> None:
    """Half of the rows come once, the others are all one."""
    count = 1 << 10
    indices = np.concatenate([np.arange(count)[::-1], np.zeros(count, int)])
    groups = [rows for _, rows in training_ops._distinct(np, indices)]
    assert len(groups) == count + 1
    assert sorted(np.concatenate(groups).tolist()) == sorted(indices.tolist())
    assert len(groups[0]) == count
    assert {len(rows) for rows in groups[1:]} == {1}


def test_a_permutation_that_is_none() -> None:
    x = np.arange(100_000)
    x[[40_000, 70_000]] = 5
    with pytest.raises(errors.InvalidArgumentError, match=r"^5 is duplicated in the input.$"):
        run_op("InvertPermutation", x)
    x[3] = -8
    with pytest.raises(errors.InvalidArgumentError, match=r"^-8 is not between 0 and 100000$"):
        run_op("InvertPermutation", x)


@pytest.mark.parametrize(
    "op", ["Reshape", "BroadcastTo", "Tile", "Fill", "Sum", "Transpose", "BroadcastArgs"]
)
def test_shapes_are_small(op: str) -> None:
    many = np.ones(MOST_NUMBERS + 1, np.int32)
    inputs = {"Fill": (many, 1.0), "BroadcastArgs": (many, many)}.get(op, (np.ones(1, np.float32), many))
    with pytest.raises(errors.InvalidArgumentError, match="in place of a shape, axes or the like"):
        run_op(op, *inputs)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_ranges_of_many_rows(dtype: Any) -> None:
    starts = np.array([0, 5, 3, 7, 0, -3, 2], dtype)
    limits = np.array([4, 1, 3, 2, 3000, 4, 1], dtype)
    deltas = np.array([1, -2, 1, 1, 2, 2, -1], dtype)
    splits, values = run_op("RaggedRange", starts, limits, deltas, Tsplits=np.int64)
    rows = [np.arange(*row, dtype=dtype).tolist() for row in zip(starts, limits, deltas, strict=True)]
    assert [values[i:j].tolist() for i, j in itertools.pairwise(splits)] == rows
    for limit in (np.iinfo(np.int64).max, np.iinfo(np.int64).min):
        with pytest.raises(errors.InvalidArgumentError, match="to be at most the splits' greatest number"):
            run_op("RaggedRange", np.int64(-5), np.int64(limit), np.int64(1 if limit > 0 else -1))


def test_sums_of_floats_in_ranges_are_rounded_one_after_the_other() -> None:
    _, values = run_op("RaggedRange", np.float32(0), np.float32(100), np.float32(0.1))
    expected = np.add.accumulate(np.full(values.size, np.float32(0.1))) - np.float32(0.1)
    np.testing.assert_allclose(values, expected, atol=1e-4)
    steps = np.full(values.size, np.float32(0.1))
    steps[0] = 0
    assert values.tolist() == np.add.accumulate(steps).tolist()


class Ended:
    error = errors.DeadlineExceededError(None, None, "too late")


def test_threads_of_kernels_know_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    step, seen = Ended(), []
    step.error = None  # type: ignore[assignment]
    monkeypatch.setattr(running.RUNNING, "step", step)
    blocks.in_parallel(lambda part: seen.append(running.RUNNING.step), range(50))
    assert {*map(id, seen)} == {id(step)}
    monkeypatch.setattr(running.RUNNING, "step", Ended())
    with pytest.raises(errors.DeadlineExceededError):
        blocks.in_parallel(seen.append, range(50))
    assert len(seen) == 50


def test_large_products_end_with_their_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "MOST_AT_ONCE", 1 << 20)
    monkeypatch.setattr(native, "MOST_AT_ONCE", 1 << 20)
    monkeypatch.setattr(blas, "LEAST_PART", 1 << 10)
    monkeypatch.setattr(blas, "LARGE_PRODUCT", 1)
    sizes: list[int] = []
    matmul = unlocked.matmul

    def noted(a: Any, b: Any, out: Any = None) -> Any:
        sizes.append(a.shape[0] * a.shape[1] * b.shape[1])
        return matmul(a, b, out)

    monkeypatch.setattr(unlocked, "matmul", noted)
    a, b = RANDOM.standard_normal((2, 256, 256)).astype(np.float32)
    np.testing.assert_allclose(blas.large_product(a, b), a @ b, rtol=1e-3, atol=1e-3)
    assert len(sizes) >= 32
    assert max(sizes) <= 1 << 20
    assert native.multiply(a, b, False, False) is None


def test_compiled_convolutions_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    if native.native is None:
        pytest.skip("there are no compiled kernels")
    images = RANDOM.standard_normal((2, 20, 20, 8)).astype(np.float32)
    weights = RANDOM.standard_normal((3, 3, 8, 8)).astype(np.float32)
    options: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    expected = run_op("Conv2D", images, weights, **options)
    monkeypatch.setattr(compiled_conv, "MOST_AT_ONCE", 1)
    monkeypatch.delattr(native.native, "convolve")
    np.testing.assert_allclose(run_op("Conv2D", images, weights, **options), expected, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, object])
def test_rows_and_stacks_by_parts(dtype: Any, small_parts: int) -> None:
    for shape in ((100,), (50, 3)):
        values = RANDOM.integers(0, 9, shape).astype(dtype)
        rows = unlocked.rows(values)
        assert [np.shape(row) for row in rows] == [shape[1:]] * len(values)
        np.testing.assert_array_equal(unlocked.stack(rows), values)
        pieces = [values[i : i + 2] for i in range(0, len(values), 2)]
        np.testing.assert_array_equal(unlocked.concatenate(pieces), values)
    found = [list(column) for column in unlocked.columns([(i, str(i)) for i in range(100)])]
    assert found == [list(range(100)), [str(i) for i in range(100)]]


def test_stacks_of_many_end_with_their_step(small_parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [np.zeros(2)] * 100
    monkeypatch.setattr(running.RUNNING, "step", Ended())
    for join in (unlocked.stack, unlocked.concatenate):
        assert join(values[:small_parts]).size == 2 * small_parts
        with pytest.raises(errors.DeadlineExceededError):
            join(values)


@pytest.mark.parametrize("made", [list, set, dict.fromkeys, deque, unlocked.Listed])
def test_long_containers_end_by_parts(made: Any, small_parts: int) -> None:
    items = made(range(100))
    unlocked.drop(items)
    assert not items
    ends = unlocked.Listed(np.zeros(1) for _ in range(100))
    seen = weakref.ref(ends[0])
    copied = unlocked.copied(ends, 90)
    assert len(copied) == 90
    del ends
    assert seen() is not None
    del copied
    assert seen() is None


def test_tables_take_and_give_by_parts(small_parts: int) -> None:
    table = Table("table", dtypes.int64, dtypes.float32)
    keys = np.arange(100)
    table.insert(keys, keys.astype(np.float32))
    found = table.find(np.arange(90, 110), np.float32(-1))
    assert found.tolist() == [*range(90, 100), *[-1] * 10]
    exported = table.export()
    assert [sorted(each.tolist()) for each in exported] == [keys.tolist()] * 2
    table.replace(keys[:40], keys[:40].astype(np.float32))
    assert len(table) == 40


def test_queues_take_and_give_batches_by_parts(small_parts: int) -> None:
    queue = Queue("queue", [dtypes.float32, dtypes.int64], [(), (2,)], -1)
    rows = np.arange(100, dtype=np.float32), np.arange(200).reshape(100, 2)
    assert queue.enqueue(list(zip(*map(unlocked.rows, rows), strict=True))) is None
    elements = queue.dequeue(90)
    assert isinstance(elements, unlocked.Listed)
    for found, expected in zip(queue.batch(elements, np), rows, strict=True):
        np.testing.assert_array_equal(found, expected[:90])
