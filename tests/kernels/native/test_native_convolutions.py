"""Convolutions by the compiled kernels: values beside NumPy's in float64, and what the module refuses."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.devices import native as devices
from tests.kernels.harness import run_op

native: Any = pytest.importorskip("tensorfleet_kernels._native")

WINDOWS = [
    (size, window, stride, dilation, padding)
    for size, window, (stride, dilation), padding in product(
        ((7, 9), (12, 5)),
        ((3, 3), (2, 4), (5, 1), (1, 1)),
        ((1, 1), (2, 1), (3, 1), (1, 2)),
        (b"SAME", b"VALID"),
    )
    if all((extent - 1) * dilation < n for extent, n in zip(window, size, strict=True))
]
# As many filters as one or two vectors of each instruction set have, and others.
DEPTHS = [(1, 5), (2, 8), (3, 16), (4, 32), (8, 37)]


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(autouse=True)
def _also_small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "LEAST", 0)


def same(op: str, *inputs: Any, terms: int, **attrs: Any) -> None:
    """Compares with float64, which the compiled kernels do not take; so many products are in each sum."""
    found = run_op(op, *inputs, **attrs)
    wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs]
    expected = run_op(op, *wide, **attrs)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * terms**0.5 * 4)


def attributes(stride: int, dilation: int, padding: bytes) -> dict[str, Any]:
    return {
        "strides": [1, stride, stride, 1],
        "dilations": [1, dilation, dilation, 1],
        "padding": padding,
        "data_format": b"NHWC",
    }


@pytest.mark.parametrize(("depth", "filters"), DEPTHS)
@pytest.mark.parametrize("images", [1, 3])
def test_convolutions_with_gradients(depth: int, filters: int, images: int) -> None:
    for size, window, stride, dilation, padding in WINDOWS:
        attrs = attributes(stride, dilation, padding)
        x, w = floats(images, *size, depth), floats(*window, depth, filters, seed=1)
        terms = window[0] * window[1] * max(depth, filters)
        same("Conv2D", x, w, terms=terms, **attrs)
        g = floats(*run_op("Conv2D", x, w, **attrs).shape, seed=2)
        shape = np.array(x.shape, np.int32), np.array(w.shape, np.int32)
        same("Conv2DBackpropInput", shape[0], w, g, terms=terms, **attrs)
        same("Conv2DBackpropFilter", x, shape[1], g, terms=g.size // filters, **attrs)


@pytest.mark.parametrize("depth", [1, 5, 16, 37, 70])
def test_depthwise_convolutions_with_gradients(depth: int) -> None:
    for size, window, stride, dilation, padding in WINDOWS:
        attrs = attributes(stride, dilation, padding)
        x, w = floats(3, *size, depth), floats(*window, depth, 1, seed=1)
        same("DepthwiseConv2dNative", x, w, terms=20, **attrs)
        g = floats(*run_op("DepthwiseConv2dNative", x, w, **attrs).shape, seed=2)
        shape = np.array(x.shape, np.int32), np.array(w.shape, np.int32)
        same("DepthwiseConv2dNativeBackpropInput", shape[0], w, g, terms=20, **attrs)
        same("DepthwiseConv2dNativeBackpropFilter", x, shape[1], g, terms=g.size // depth, **attrs)


def test_nan_and_infinity_reach_the_windows_that_see_them() -> None:
    x, w = floats(1, 8, 8, 4), floats(3, 3, 4, 9, seed=1)
    x[0, 2, 3, 1], x[0, 6, 6, 0] = np.nan, np.inf
    found = run_op("Conv2D", x, w, **attributes(1, 1, b"SAME"))
    assert np.isnan(found[0, 1:4, 2:5]).all()
    assert np.isinf(found[0, 5:, 5:]).all()
    assert np.isfinite(found[0, 4]).all()


SIZES = ((2, 6, 6, 3), (6, 6), (3, 3), (1, 1), (1, 1), (1, 1))


def arguments(**change: Any) -> list[Any]:
    names = ("images", "out", "window", "strides", "dilations", "before")
    return list((dict(zip(names, SIZES, strict=True)) | change).values())


@pytest.mark.parametrize(
    "change",
    [
        {"images": (2, 6, 6, 4)},
        {"images": (-2, -6, 6, 3)},
        {"images": (1 << 30,) * 4},
        {"images": (1 << 62, 1, 1, 1)},
        {"out": (6, 7)},
        {"out": (0, 6)},
        {"out": (1 << 30, 1 << 30)},
        {"window": (0, 3)},
        {"window": (3, 4)},
        {"window": (1 << 20, 1 << 20)},
        {"strides": (0, 1)},
        {"strides": (1 << 40, 1)},
        {"dilations": (-1, 1)},
        {"before": (-1, 0)},
        {"before": (1 << 40, 0)},
    ],
)
def test_sizes_that_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    x, w, out = floats(2, 6, 6, 3), floats(3, 3, 3, 5), np.zeros((2, 6, 6, 5), np.float32)
    with pytest.raises(ValueError, match=r"size|array"):
        native.convolve(x, w, out, *arguments(**change), 5, 1)
    assert not out.any()
    with pytest.raises(ValueError, match=r"size|array"):
        native.convolve_filter(x, floats(2, 6, 6, 5), np.zeros_like(w), *arguments(**change), 5, 1)
    with pytest.raises(ValueError, match=r"size|array"):
        native.depthwise(x, floats(3, 3, 3), np.zeros_like(x), *arguments(**change), 1)
    with pytest.raises(ValueError, match=r"size|array"):
        native.depthwise_filter(x, floats(2, 6, 6, 3), floats(3, 3, 3), *arguments(**change), 1)


@pytest.mark.parametrize("filters", [0, -5, 4, 1 << 62])
def test_filters_that_do_not_fit_are_refused(filters: int) -> None:
    x, w, out = floats(2, 6, 6, 3), floats(3, 3, 3, 5), np.zeros((2, 6, 6, 5), np.float32)
    with pytest.raises(ValueError, match=r"size|array"):
        native.convolve(x, w, out, *SIZES, filters, 1)
    with pytest.raises(ValueError, match=r"size|array"):
        native.convolve_filter(x, out, w, *SIZES, filters, 1)


PLACES = (13, 11, 1, 0, 2, 2)


@pytest.mark.parametrize("filters", [5, 16, 37])
def test_an_output_that_is_some_pixels_of_a_larger_one(filters: int) -> None:
    x, w = floats(2, 6, 6, 3), floats(3, 3, 3, filters, seed=1)
    alone, whole = np.empty((2, 6, 6, filters), np.float32), np.full((2, 13, 11, filters), 7, np.float32)
    native.convolve(x, w, alone, *SIZES, filters, 2)
    native.convolve(x, w, whole, *SIZES, filters, 2, False, PLACES)
    np.testing.assert_array_equal(whole[:, 1::2, ::2], alone)
    whole[:, 1::2, ::2] = 7
    assert (whole == 7).all()


@pytest.mark.parametrize(
    "places",
    [
        (12, 11, 1, 0, 2, 2)[:5],
        (11, 11, 1, 0, 2, 2),
        (13, 10, 1, 0, 2, 2),
        (13, 11, 3, 0, 2, 2),
        (13, 11, -1, 0, 2, 2),
        (13, 11, 1, 1, 2, 2),
        (13, 11, 1, -1, 2, 2),
        (13, 11, 1, 0, 0, 2),
        (13, 11, 1, 0, 2, -2),
        (13, 11, 1, 0, 1 << 40, 2),
        (1 << 40, 11, 1, 0, 2, 2),
        (14, 11, 1, 0, 2, 2),
        [*PLACES],
    ],
)
def test_places_that_do_not_fit_are_refused(places: Any) -> None:
    x, w, whole = floats(2, 6, 6, 3), floats(3, 3, 3, 5), np.zeros((2, 13, 11, 5), np.float32)
    with pytest.raises((ValueError, TypeError), match=r"size|array|places|arguments"):
        native.convolve(x, w, whole, *SIZES, 5, 1, False, places)
    assert not whole.any()


@pytest.mark.parametrize(("window", "stride"), [(5, 2), (3, 2), (1, 2), (7, 3), (9, 3)])
def test_gradients_under_strides_of_whole_vectors(window: int, stride: int) -> None:
    """Of windows of 5 with steps of 2, and of 9 with steps of 3, some parts go by tiles, which round more."""
    size, out = (3, 24, 21, 32), (3, -(-24 // stride), -(-21 // stride), 16)
    weights, gradient = floats(window, window, 32, 16, seed=1), floats(*out, seed=2)
    sizes = np.array(size, np.int32)
    attrs = attributes(stride, 1, b"SAME")
    same("Conv2DBackpropInput", sizes, weights, gradient, terms=window**2 * 64, **attrs)
    same("Conv2D", floats(*size), weights, terms=window**2 * 64, **attrs)


def test_results_do_not_depend_on_the_threads() -> None:
    x, w, g = floats(7, 20, 20, 9), floats(3, 3, 9, 21, seed=1), floats(7, 20, 20, 21, seed=2)
    sizes = (x.shape, (20, 20), *SIZES[2:])
    results = set()
    for threads in (1, 2, 3, 64):
        out, filters, depths = np.empty_like(g), np.empty_like(w), np.empty((3, 3, 9), np.float32)
        native.convolve(x, w, out, *sizes, 21, threads)
        native.convolve_filter(x, g, filters, *sizes, 21, threads)
        native.depthwise_filter(x, np.ascontiguousarray(g[..., :9]), depths, *sizes, threads)
        results.add(out.tobytes() + filters.tobytes() + depths.tobytes())
    assert len(results) == 1


_WIDE = """
import resource
import numpy as np
from tensorfleet_kernels import _native as native

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
x, w, out = (np.ones(size, np.float32) for size in ((1, 1, 1, 2), (1, 2, 2, 1), (1, 1, 2, 1)))
try:
    native.convolve(x, w, out, x.shape, (1, 2), (1, 2), (1 << 30, 1 << 30), (1, (1 << 30) - 1), (0, 0), 1, 1)
except MemoryError:
    print("refused")
"""


def test_a_row_under_the_largest_strides_and_dilations_is_only_too_large() -> None:
    """A process of its own may not have the 16 GiB, and is the only one to end with what the sizes do."""
    done = subprocess.run([sys.executable, "-c", _WIDE], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


def test_the_gradient_of_images_takes_no_longer_for_a_longer_stride() -> None:
    gradient, weights = floats(1, 1, 1, 4096), floats(3, 3, 2, 4096, seed=1)
    size = np.array([1, 5, 6, 2], np.int32)
    first, last = (
        run_op(
            "Conv2DBackpropInput", size, weights, gradient, strides=[1, stride, stride, 1], padding=b"SAME"
        )
        for stride in (7, (1 << 31) - 1)
    )
    # There is one window, which in TensorFlow's padding begins at the first element for either stride.
    np.testing.assert_allclose(first, last, rtol=1e-4, atol=1e-3)  # the longer ones are NumPy's
