"""Kernels over volumes, of neighbouring channels and of places, against plain loops and formulas."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet_service.kernels.nn import conv
from tests.kernels.harness import run_op

V = np.random.default_rng(0).normal(size=(2, 4, 5, 3, 2))
W = np.random.default_rng(1).normal(size=(2, 3, 2, 2, 3))
IMAGES = np.random.default_rng(2).normal(size=(2, 4, 5, 3)).astype(np.float32)

SLIDING = [
    {"strides": [1, s, s, s, 1], "padding": padding, "dilations": [1, d, d, d, 1]}
    for s, d, padding in ((1, 1, "SAME"), (2, 1, "SAME"), (1, 1, "VALID"), (2, 1, "VALID"), (1, 2, "SAME"))
]
Place = tuple[int, ...]


def seen(size: Place, window: Place, attrs: dict[str, Any]) -> tuple[Place, list[tuple[Place, Place, Place]]]:
    """How many windows there are, and all (window, place in it, place in the volume)."""
    stride, dilation = attrs["strides"][1], attrs.get("dilations", [1, 1])[1]
    counts, before = [], []
    for n, k in zip(size, window, strict=True):
        reach = (k - 1) * dilation + 1
        count = -(-n // stride) if attrs["padding"] == "SAME" else (n - reach) // stride + 1
        counts.append(count)
        total = max((count - 1) * stride + reach - n, 0) if attrs["padding"] == "SAME" else 0
        before.append(total // 2)
    found = []
    for out in itertools.product(*map(range, counts)):
        for inner in itertools.product(*map(range, window)):
            at = tuple(o * stride + i * dilation - b for o, i, b in zip(out, inner, before, strict=True))
            if all(0 <= a < n for a, n in zip(at, size, strict=True)):
                found.append((out, inner, at))
    return tuple(counts), found


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("attrs", SLIDING, ids=str)
def test_conv3d(attrs: dict[str, Any], divided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if divided:  # volume by volume
        monkeypatch.setattr(conv, "PARALLEL_PRODUCTS", 1)
    counts, places = seen(V.shape[1:4], W.shape[:3], attrs)
    out = np.zeros((2, *counts, 3))
    g = np.random.default_rng(3).normal(size=out.shape)
    to_volumes, to_weights = np.zeros(V.shape), np.zeros(W.shape)
    for o, i, at in places:
        out[:, *o] += V[:, *at] @ W[i]
        to_volumes[:, *at] += g[:, *o] @ W[i].T
        to_weights[i] += V[:, *at].T @ g[:, *o]
    np.testing.assert_allclose(run_op("Conv3D", V, W, **attrs), out, rtol=1e-9, atol=1e-12)
    sizes, shape = np.array(V.shape, np.int32), np.array(W.shape, np.int32)
    np.testing.assert_allclose(
        run_op("Conv3DBackpropInputV2", sizes, W, g, **attrs), to_volumes, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        run_op("Conv3DBackpropFilterV2", V, shape, g, **attrs), to_weights, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pooling(padding: str) -> None:
    attrs = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": padding}
    counts, places = seen(V.shape[1:4], (2, 2, 2), attrs)
    values: dict[Place, list[Any]] = {}
    for o, _, at in places:
        values.setdefault(o, []).append(V[:, *at])
    mean, most = np.zeros((2, *counts, 2)), np.zeros((2, *counts, 2))
    for o, found in values.items():
        mean[:, *o], most[:, *o] = np.mean(found, 0), np.max(found, 0)
    np.testing.assert_allclose(run_op("AvgPool3D", V, **attrs), mean, rtol=1e-12)
    single = V.astype(np.float32)
    np.testing.assert_array_equal(run_op("MaxPool3D", single, **attrs), most.astype(np.float32))
    g = np.random.default_rng(3).normal(size=mean.shape)
    to_mean, to_most = np.zeros(V.shape), np.zeros(V.shape)
    for o, _, at in places:
        to_mean[:, *at] += g[:, *o] / len(values[o])
        to_most[:, *at] += g[:, *o] * (V[:, *at] == most[:, *o])
    sizes = np.array(V.shape, np.int32)
    np.testing.assert_allclose(run_op("AvgPool3DGrad", sizes, g, **attrs), to_mean, rtol=1e-12)
    got = run_op("MaxPool3DGrad", single, most.astype(np.float32), g.astype(np.float32), **attrs)
    np.testing.assert_allclose(got, to_most, rtol=1e-6)


def test_all_of_equal_maxima_get_the_gradient() -> None:
    """And those that are nearly as great, but none where the maximum is infinite."""
    ones = np.ones((1, 2, 2, 2, 1), np.float32)
    ones[0, 0, 0, 0, 0] -= np.float32(5e-6)
    ones[0, 0, 0, 1, 0] = 0.9
    attrs = {"ksize": [1, 2, 2, 2, 1], "strides": [1] * 5, "padding": "VALID"}
    g = np.full((1, 1, 1, 1, 1), 3, np.float32)
    got = run_op("MaxPool3DGrad", ones, g / 3, g, **attrs)
    np.testing.assert_array_equal(got, np.where(ones > 0.95, np.float32(3), 0))
    infinite = np.where(ones < 1, np.float32(np.inf), ones)
    got = run_op("MaxPool3DGrad", infinite, np.full_like(g, np.inf), g, **attrs)
    np.testing.assert_array_equal(got, np.zeros_like(ones))


def test_maxima_of_what_is_no_number() -> None:
    attrs = {"ksize": [1, 1, 1, 3, 1], "strides": [1] * 5, "padding": "VALID"}
    rows = np.array([[np.nan] * 3, [-np.inf] * 3, [np.nan, 1, 2]], np.float32)
    got = run_op("MaxPool3D", rows.reshape(1, 1, 3, 3, 1), **attrs)
    np.testing.assert_array_equal(got.ravel(), [-np.inf, -np.inf, 2])


@pytest.mark.parametrize("radius", [0, 1, 5])
def test_local_response_normalization(radius: int) -> None:
    attrs = {"depth_radius": radius, "bias": 1.5, "alpha": 0.7, "beta": 0.6}
    x = IMAGES.astype(np.float64)
    norms = np.stack(
        [1.5 + 0.7 * (x[..., max(0, c - radius) : c + radius + 1] ** 2).sum(-1) for c in range(x.shape[-1])],
        -1,
    )
    y = x * norms**-0.6
    np.testing.assert_allclose(run_op("LRN", IMAGES, **attrs), y, rtol=1e-5)
    g = np.random.default_rng(3).normal(size=x.shape)
    expected = g * norms**-0.6
    for c, k in itertools.product(range(x.shape[-1]), repeat=2):
        if abs(c - k) <= radius:
            expected[..., c] -= 2 * 0.7 * 0.6 * x[..., c] * g[..., k] * y[..., k] / norms[..., k]
    got = run_op("LRNGrad", g.astype(np.float32), IMAGES, y.astype(np.float32), **attrs)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_places_of_maxima(padding: str, whole: bool) -> None:
    attrs = {
        "ksize": [1, 3, 2, 1],
        "strides": [1, 2, 2, 1],
        "padding": padding,
        "include_batch_in_index": whole,
    }
    most, places = run_op("MaxPoolWithArgmax", IMAGES, Targmax=np.int64, **attrs)
    one = IMAGES[0].size
    flat = places + (0 if whole else np.arange(2)[:, None, None, None] * one)
    np.testing.assert_array_equal(IMAGES.reshape(-1)[flat], most)
    plain = {k: v for k, v in attrs.items() if k != "include_batch_in_index"}
    np.testing.assert_array_equal(most, run_op("MaxPool", IMAGES, **plain))
    g = np.random.default_rng(3).normal(size=most.shape).astype(np.float32)
    expected = np.zeros(IMAGES.size, np.float32)
    np.add.at(expected, flat.reshape(-1), g.reshape(-1))
    got = run_op("MaxPoolGradWithArgmax", IMAGES, g, places, **attrs)
    np.testing.assert_allclose(got, expected.reshape(IMAGES.shape), rtol=1e-6)


CONV = {"strides": [1] * 5, "padding": "VALID"}
POOL = {"ksize": [1, 2, 2, 1], "strides": [1] * 4, "padding": "VALID"}


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "message"),
    [
        ("Conv3D", (V[0], W), CONV, "5-dimensional"),
        ("Conv3D", (V, W[:, :, :, :1]), CONV, "depth"),
        ("Conv3D", (V[:, :1], np.concatenate([W, W])), CONV, "Computed output size would be negative"),
        ("Conv3DBackpropFilterV2", (V, np.array([2, 3], np.int32), V), CONV, "5 elements"),
        ("Conv3DBackpropInputV2", (np.array(V.shape, np.int32), W, V[..., :1]), CONV, "out_backprop"),
        ("AvgPool3D", (V,), {**CONV, "ksize": [1, 0, 1, 1, 1]}, "greater than 0"),
        ("LRN", (IMAGES[0],), {}, "4-dimensional"),
        ("LRN", (IMAGES,), {"depth_radius": -1}, "negative"),
        ("LRNGrad", (IMAGES, IMAGES, IMAGES[:1]), {}, "same shape"),
        (
            "MaxPoolGradWithArgmax",
            (IMAGES, np.ones((2, 3, 4, 3), np.float32), np.full((2, 3, 4, 3), 99)),
            POOL,
            "Invalid input index",
        ),
    ],
)
def test_wrong_inputs(op: str, inputs: Any, attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        run_op(op, *inputs, **attrs)


@pytest.mark.parametrize("op", ["Conv3D", "MaxPool3D", "AvgPool3D"])
def test_channels_first(op: str) -> None:
    attrs: dict[str, Any] = {"strides": [1, 2, 2, 1, 1], "padding": "SAME"}
    if op != "Conv3D":
        attrs["ksize"] = [1, 2, 3, 2, 1]
    first = {k: [v[0], v[4], *v[1:4]] if k != "padding" else v for k, v in attrs.items()}
    volumes, weights = V.astype(np.float32), (W.astype(np.float32),) if op == "Conv3D" else ()
    got = run_op(op, np.moveaxis(volumes, 4, 1), *weights, data_format="NCDHW", **first)
    np.testing.assert_array_equal(np.moveaxis(got, 1, 4), run_op(op, volumes, *weights, **attrs))


def test_windows_over_channels() -> None:
    with pytest.raises(errors.UnimplementedError, match="batch and channel"):
        run_op("AvgPool3D", V, ksize=[1, 1, 1, 1, 2], strides=[1] * 5, padding="VALID")


def test_half_precision_is_summed_in_float32() -> None:
    ones = np.full((1, 8, 8, 8, 8), 1, np.float16)
    weights = np.full((4, 4, 4, 8, 1), 0.1, np.float16)
    got = run_op("Conv3D", ones, weights, **CONV)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got.astype(np.float32), np.float16(0.1).astype(np.float32) * 512, rtol=1e-3)
