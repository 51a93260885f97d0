"""Convolutions of 3x3 and 5x5 filters with fewer multiplications: values, what is not finite, threads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.devices import native as devices
from tests.kernels.harness import run_op

native: Any = pytest.importorskip("tensorfleet_kernels._native")

SIZES = [(8, 8), (7, 9), (12, 5), (6, 33)]
# Channels and filters: half a panel of the widest vectors, one and a half, more channels than a part has.
DEPTHS = [(16, 16), (32, 48), (80, 16)]


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def integers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(np.float32)


@pytest.fixture(autouse=True)
def _also_small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "LEAST", 0)


def windows() -> Iterator[tuple[tuple[int, int], int, dict[str, Any]]]:
    for size, taps, padding in product(SIZES, (3, 5), (b"SAME", b"VALID")):
        yield size, taps, {"strides": [1, 1, 1, 1], "padding": padding, "data_format": b"NHWC"}


def all_three(x: Any, w: Any, g: Any, **attrs: Any) -> list[Any]:
    """The convolution of images, and its gradients."""
    sizes = np.array(x.shape, np.int32), np.array(w.shape, np.int32)
    return [
        run_op("Conv2D", x, w, **attrs),
        run_op("Conv2DBackpropInput", sizes[0], w, g, **attrs),
        run_op("Conv2DBackpropFilter", x, sizes[1], g, **attrs),
    ]


def operands(
    make: Any, images: int, size: tuple[int, int], depth: int, filters: int, taps: int, padding: bytes
) -> Any:
    out = size if padding == b"SAME" else tuple(n - taps + 1 for n in size)
    return (
        make(images, *size, depth),
        make(taps, taps, depth, filters, seed=1),
        make(images, *out, filters, seed=2),
    )


@pytest.mark.parametrize(("depth", "filters"), DEPTHS)
@pytest.mark.parametrize("images", [1, 5])
def test_values_are_those_of_float64(depth: int, filters: int, images: int) -> None:
    for size, taps, attrs in windows():
        own = operands(floats, images, size, depth, filters, taps, attrs["padding"])
        # NumPy computes float64, window by window.
        expected = all_three(*(x.astype(np.float64) for x in own), **attrs)
        terms = (taps * taps * depth, taps * taps * filters, own[2].size // filters)
        for found, wanted, count in zip(all_three(*own, **attrs), expected, terms, strict=True):
            # Twice what direct sums are within: sums of points are some times as large as the result.
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, wanted, rtol=0, atol=8e-6 * count**0.5)


@pytest.mark.parametrize(("depth", "filters"), DEPTHS)
def test_sums_of_integers_are_exact(depth: int, filters: int) -> None:
    for size, taps, attrs in windows():
        own = operands(integers, 3, size, depth, filters, taps, attrs["padding"])
        expected = all_three(*(x.astype(np.float64) for x in own), **attrs)
        for found, wanted in zip(all_three(*own, **attrs), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


SAME: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": b"SAME", "data_format": b"NHWC"}


@pytest.mark.parametrize("taps", [3, 5])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_reaches_the_windows_that_see_it(taps: int, number: float) -> None:
    x, w = floats(3, 16, 17, 16), np.abs(floats(taps, taps, 16, 16, seed=1)) + 0.1
    clean = run_op("Conv2D", x, w, **SAME)
    x[1, 6, 7, 3] = number
    found = run_op("Conv2D", x, w, **SAME)
    reach = taps // 2
    sees = np.zeros((16, 17), bool)
    sees[6 - reach : 7 + reach, 7 - reach : 8 + reach] = True
    assert np.array_equal(found[1][sees], np.full_like(found[1][sees], number), equal_nan=True)
    np.testing.assert_allclose(found[1][~sees], clean[1][~sees], rtol=0, atol=1e-4)
    # Other images are computed as they are without it.
    np.testing.assert_array_equal(found[::2], clean[::2])


@pytest.mark.parametrize("taps", [3, 5])
def test_a_gradient_that_is_not_finite_reaches_the_elements_of_filters_that_see_it(taps: int) -> None:
    x, g = np.abs(floats(3, 16, 16, 16)) + 0.1, floats(3, 16, 16, 32, seed=2)
    sizes = np.array([taps, taps, 16, 32], np.int32)
    clean = run_op("Conv2DBackpropFilter", x, sizes, g, **SAME)
    g[1, 0, 0, 5] = np.inf
    found = run_op("Conv2DBackpropFilter", x, sizes, g, **SAME)
    # In the corner, the first rows and columns of a filter see zeros of the padding: infinity times zero.
    outside = np.zeros((taps, taps), bool)
    outside[: taps // 2] = outside[:, : taps // 2] = True
    assert np.isnan(found[outside][..., 5]).all()
    assert (found[~outside][..., 5] == np.inf).all()
    others = np.arange(32) != 5
    np.testing.assert_allclose(found[..., others], clean[..., others], rtol=0, atol=1e-3)


@pytest.mark.parametrize("taps", [3, 5])
def test_finite_sums_of_numbers_near_the_greatest(taps: int) -> None:
    # Sums of two such neighbours are no floats any more, but the filters see one of them alone.
    x = np.where(np.arange(16 * 16).reshape(1, 16, 16, 1) % 2, np.float32(3e38), np.float32(-3e38))
    x = np.repeat(x, 16, 3)
    w = np.zeros((taps, taps, 16, 16), np.float32)
    w[taps // 2, taps // 2] = np.eye(16, dtype=np.float32)
    np.testing.assert_array_equal(run_op("Conv2D", x, w, **SAME), x)
    shape = np.array(x.shape, np.int32)
    np.testing.assert_array_equal(run_op("Conv2DBackpropInput", shape, w, x, **SAME), x)


@pytest.mark.parametrize("taps", [3, 5])
def test_bits_do_not_depend_on_threads(taps: int) -> None:
    x, w, g = operands(floats, 7, (20, 22), 80, 48, taps, b"SAME")
    sizes = (x.shape, (20, 22), (taps, taps), (1, 1), (1, 1), (taps // 2, taps // 2))
    found = []
    for threads in (1, 2, 5):
        out, gradient = np.empty((7, 20, 22, 48), np.float32), np.empty_like(w)
        native.convolve(x, w, out, *sizes, 48, threads)
        native.convolve_filter(x, g, gradient, *sizes, 48, threads)
        found.append((out, gradient))
    for out, gradient in found[1:]:
        np.testing.assert_array_equal(out, found[0][0])
        np.testing.assert_array_equal(gradient, found[0][1])
