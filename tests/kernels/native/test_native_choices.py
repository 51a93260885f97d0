"""Compiled kernels that choose, find, cast, resize and add rows give what NumPy gives, bit by bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.devices import native as devices
from tensorfleet_service.kernels.math.compiled import elementwise
from tests.kernels.harness import run_op

native: Any = pytest.importorskip("tensorfleet_kernels._native")
if devices.native is None:
    pytest.skip(f"the compiled kernels are switched off by {devices.SWITCH}", allow_module_level=True)

LARGE = 1 << 60


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def special(*shape: int) -> Any:
    x = floats(*shape)
    flat = x.reshape(-1)
    flat[:5] = np.inf, -np.inf, np.float32(1e-42), -0.0, 0.0
    return x


@pytest.fixture
def same(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Compares an op's results by the compiled kernels, of arrays of any size, with those by NumPy."""

    def compare(op: str, *inputs: Any, **attrs: Any) -> None:
        found = []
        for least in (1, LARGE):
            with monkeypatch.context() as patch:
                patch.setattr(devices, "LEAST", least)
                results = run_op(op, *inputs, **attrs)
            found.append(results if isinstance(results, tuple) else (results,))
        for one, other in zip(*found, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)

    return compare


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("op", ["Select", "SelectV2"])
def test_select(op: str, dtype: Any, same: Any) -> None:
    condition = floats(37, 11) > 0
    yes, no = (
        (special if dtype is np.float32 else floats)(37, 11).astype(dtype),
        floats(37, 11, seed=1).astype(dtype),
    )
    same(op, condition, yes, no)
    if op == "SelectV2":
        same(op, condition, yes, no[3, 3])
        same(op, condition, yes[:1, :1], no)
        same(op, condition, yes[0, 3], no[3, 3])
        same(op, condition, yes, no[:1])
        same(op, condition[0], yes, no)


@pytest.mark.parametrize(
    ("rows", "width", "k"), [(1, 1, 1), (50, 7, 7), (9, 2000, 5), (3, 300, 32), (3, 300, 40)]
)
def test_top_k(rows: int, width: int, k: int, same: Any) -> None:
    same("TopKV2", floats(rows, width), np.int32(k))
    same("TopKV2", np.round(floats(rows, width)), np.int32(k))  # many equal ones
    x = floats(rows, width)
    x[0, width // 2], x[0, 0] = np.nan, np.inf
    same("TopKV2", x, np.int32(k))


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_in_top_k(index_type: Any, same: Any) -> None:
    x = np.round(floats(200, 33) * 3)
    x[3, 4], x[5, 6], x[7, 8] = np.nan, np.inf, -np.inf
    targets = np.arange(200, dtype=index_type) % 36 - 1
    same("InTopKV2", x, targets, index_type(5))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("below", [2, 700, 1 << 31])
def test_unique(dtype: Any, below: int, same: Any) -> None:
    x = np.random.default_rng(0).integers(-below, below, 5000).astype(dtype)
    for index_type in (np.int32, np.int64):
        same("UniqueWithCounts", x, out_idx=index_type)


@pytest.mark.timeout(60)
def test_values_that_were_chosen_to_collide_take_no_longer(same: Any) -> None:
    # A hash of shifts and a product with this number, without a secret, has them all on one place of a table.
    hashes = np.arange(1, 1_000_000, dtype=np.uint64) << np.uint64(40)
    keys = hashes.copy()
    for _ in range(3):
        keys = hashes ^ (keys >> np.uint64(29))
    keys *= np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))
    keys ^= keys >> np.uint64(32)
    same("UniqueWithCounts", keys.view(np.int64), out_idx=np.int64)


def test_half_precision(same: Any) -> None:
    exponents = np.random.default_rng(0).uniform(-30, 20, 10_001)
    x = (np.exp2(exponents) * np.sign(floats(10_001))).astype(np.float32)
    x[:8] = np.inf, -np.inf, 65519.9, 65520, -0.0, 6e-8, 3e-8, 2.9e-8
    same("Cast", x, SrcT=np.float32, DstT=np.float16)


def test_segments(same: Any) -> None:
    ids = np.sort(np.random.default_rng(0).integers(0, 90, 3000)).astype(np.int32)
    data = np.round(floats(3000, 5) * 8)  # sums of whole numbers do not depend on the order
    same("SegmentSum", data, ids)
    same("SegmentMean", data, ids)


@pytest.mark.parametrize("subtracted", [False, True])
def test_rows_that_are_sorted_are_added_by_parts(subtracted: bool) -> None:
    places = np.sort(np.random.default_rng(0).integers(0, 50, 40_000))
    updates, results = floats(40_000, 16), set()
    for threads in (1, 2, 3, 64):
        table = np.ones((50, 16), np.float32)
        native.add_rows(table, places, updates, 50, 40_000, 16, subtracted, threads)
        results.add(table.tobytes())
    expected = np.ones((50, 16), np.float32)
    (np.subtract if subtracted else np.add).at(expected, places, updates)
    assert results == {expected.tobytes()}


def test_scatter_nd_adds_in_order(same: Any) -> None:
    indices = np.random.default_rng(0).integers(0, 6, (4000, 2)).astype(np.int32)
    same("ScatterNd", indices, floats(4000, 3), np.array([6, 7, 3], np.int32))
    same("ScatterNd", indices, floats(4000), np.array([6, 7], np.int32))


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_one_hot(axis: int, dtype: Any) -> None:
    indices = np.arange(60, dtype=np.int64).reshape(6, 10) - 5
    for on, off in ((1, 0), (0, 1), (1, 1)):
        found = run_op("OneHot", indices, np.int32(40), dtype(on), dtype(off), axis=axis)
        expected = np.where(indices[..., None] == np.arange(40), on, off).astype(dtype)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, np.moveaxis(expected, -1, axis))


@pytest.mark.parametrize("size", [(5, 4), (23, 40), (1, 1), (16, 9)])
@pytest.mark.parametrize("mode", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
def test_resize_bilinear(size: tuple[int, int], mode: dict[str, bool], same: Any) -> None:
    same("ResizeBilinear", floats(3, 16, 9, 5), np.array(size, np.int32), **mode)


def test_places_outside_of_images_are_refused() -> None:
    x, out, share = floats(1, 4, 4, 1), np.zeros((1, 2, 2, 1), np.float32), np.zeros(2, np.float32)
    good, bad = np.zeros((2, 2), np.int64), np.full((2, 2), 4)
    for rows, columns in ((good, bad), (bad, good), (good, -bad)):
        with pytest.raises(ValueError, match="pixel"):
            native.resize_linear(x, out, x.shape, (2, 2), rows, share, columns, share, 1)


@pytest.mark.parametrize("axes", [[1], [1, 2], [0, 1, 2, 3], [2]])
@pytest.mark.parametrize("op", ["Sum", "Prod", "Mean"])
def test_reductions(op: str, axes: list[int]) -> None:
    x = 1 + floats(20, 6, 5, 7) / 64
    found = run_op(op, x, np.array(axes, np.int32))
    wide = run_op(op, x.astype(np.float64), np.array(axes, np.int32))
    np.testing.assert_allclose(found, wide, rtol=1e-5)


def test_erf_and_atan() -> None:
    x = np.concatenate(
        [special(40_000) * 2, np.float32(10.0) ** np.linspace(-44, 38, 5000, dtype=np.float32)]
    )
    x[7] = np.nan
    expected = np.array([math.erf(v) for v in x])
    found = run_op("Erf", x)
    np.testing.assert_allclose(found, expected, rtol=4e-7, atol=2e-45)
    np.testing.assert_array_equal(np.signbit(found[:5]), [False, True, False, True, False])
    atan = elementwise([("arctan", "out", ("x0",))], 1, 0)
    assert atan is not None
    np.testing.assert_allclose(atan(x), np.arctan(x.astype(np.float64)), rtol=4e-7, atol=2e-45)


@pytest.mark.parametrize("beta", [0.5, 0.75, -1.0])
def test_response_normalization(beta: float) -> None:
    x, attrs = floats(3, 9, 8, 25), {"depth_radius": 5, "bias": 2.0, "alpha": 1e-2, "beta": beta}
    reach = [slice(max(0, c - 5), c + 6) for c in range(25)]
    near = np.stack([(x.astype(np.float64)[..., part] ** 2).sum(-1) for part in reach], -1)
    np.testing.assert_allclose(run_op("LRN", x, **attrs), x * (2 + 1e-2 * near) ** -beta, rtol=1e-6)


def test_angles() -> None:
    corners = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-42, 3e38], np.float32)
    y, x = (
        np.concatenate([a.ravel(), floats(4000, seed=i)]) for i, a in enumerate(np.meshgrid(corners, corners))
    )
    angle = elementwise([("arctan2", "out", ("x0", "x1"))], 2, 0)
    assert angle is not None
    expected = np.arctan2(y.astype(np.float64), x)
    np.testing.assert_allclose(angle(y, x), expected, rtol=4e-7, atol=2e-45)
    np.testing.assert_array_equal(np.signbit(angle(y, x)), np.signbit(expected))
