"""Convolution and pooling against plain loops over every window."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet_service.kernels.nn import conv, patches
from tests.kernels.harness import run_op

X = np.random.default_rng(0).normal(size=(2, 6, 7, 3))
W = np.random.default_rng(1).normal(size=(3, 2, 3, 4))

SLIDING = [
    {"strides": [1, s, s, 1], "padding": padding, "dilations": [1, d, d, 1]}
    for s, d, padding in itertools.product((1, 2), (1, 2), ("SAME", "VALID"))
]


def windows(size: int, window: int, stride: int, dilation: int, padding: str) -> tuple[int, int]:
    """How many windows there are, and the padding before the first."""
    reach = (window - 1) * dilation + 1
    if padding == "VALID":
        return (size - reach) // stride + 1, 0
    count = -(-size // stride)
    return count, max((count - 1) * stride + reach - size, 0) // 2


def seen(x: np.ndarray, attrs: dict, window: tuple[int, int]) -> tuple[tuple[int, int], list]:
    """How many windows there are, and all (window, place in it, place in the image)."""
    stride, dilation, padding = attrs["strides"][1], attrs.get("dilations", [1, 1])[1], attrs["padding"]
    (high, top), (wide, left) = (
        windows(n, k, stride, dilation, padding) for n, k in zip(x.shape[1:3], window, strict=True)
    )
    found = []
    for i, j, a, b in itertools.product(range(high), range(wide), range(window[0]), range(window[1])):
        row, column = i * stride + a * dilation - top, j * stride + b * dilation - left
        if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
            found.append(((i, j), (a, b), (row, column)))
    return (high, wide), found


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("attrs", SLIDING, ids=str)
def test_convolution(attrs: dict, divided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if divided:  # image by image, and a few rows of windows at a time
        monkeypatch.setattr(conv, "PARALLEL_PRODUCTS", 1)
        monkeypatch.setattr(patches, "BLOCK_BYTES", 2000)
    out_size, places = seen(X, attrs, W.shape[:2])
    y_grad = np.random.default_rng(2).normal(size=(2, *out_size, 4))
    out, x_grad, w_grad = np.zeros((2, *out_size, 4)), np.zeros_like(X), np.zeros_like(W)
    for (i, j), (a, b), (row, column) in places:
        out[:, i, j] += X[:, row, column] @ W[a, b]
        x_grad[:, row, column] += y_grad[:, i, j] @ W[a, b].T
        w_grad[a, b] += X[:, row, column].T @ y_grad[:, i, j]
    x_shape, w_shape = np.array(X.shape, np.int32), np.array(W.shape, np.int32)
    np.testing.assert_allclose(run_op("Conv2D", X, W, **attrs), out)
    np.testing.assert_allclose(run_op("Conv2DBackpropInput", x_shape, W, y_grad, **attrs), x_grad)
    np.testing.assert_allclose(run_op("Conv2DBackpropFilter", X, w_shape, y_grad, **attrs), w_grad)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_pooling(stride: int, padding: str) -> None:
    attrs = {"ksize": [1, 3, 2, 1], "strides": [1, stride, stride, 1], "padding": padding}
    out_size, places = seen(X, attrs, (3, 2))
    greatest, total = np.full((2, *out_size, 3), -np.inf), np.zeros((2, *out_size, 3))
    counts = np.zeros((1, *out_size, 1))
    for (i, j), _, (row, column) in places:
        greatest[:, i, j] = np.maximum(greatest[:, i, j], X[:, row, column])
        total[:, i, j] += X[:, row, column]
        counts[:, i, j] += 1
    y_grad = np.random.default_rng(2).normal(size=greatest.shape)
    of_max, of_mean = np.zeros_like(X), np.zeros_like(X)
    for (i, j), _, (row, column) in places:
        of_max[:, row, column] += y_grad[:, i, j] * (X[:, row, column] == greatest[:, i, j])
        of_mean[:, row, column] += y_grad[:, i, j] / counts[:, i, j]
    shape = np.array(X.shape, np.int32)
    np.testing.assert_allclose(run_op("MaxPool", X, **attrs), greatest)
    np.testing.assert_allclose(run_op("AvgPool", X, **attrs), total / counts)
    np.testing.assert_allclose(run_op("MaxPoolGrad", X, greatest, y_grad, **attrs), of_max)
    np.testing.assert_allclose(run_op("AvgPoolGrad", shape, y_grad, **attrs), of_mean)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_infinite_gradient_goes_to_the_greatest_alone(dtype: Any) -> None:
    x = np.random.default_rng(0).permutation(64 * 64 * 3).reshape(1, 64, 64, 3).astype(dtype)
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": b"VALID"}
    pooled = run_op("MaxPool", x, **attrs)
    found = run_op("MaxPoolGrad", x, pooled, np.full_like(pooled, np.inf), **attrs)
    is_greatest = np.isin(x, pooled)  # no number is there twice
    assert (found[is_greatest] == np.inf).all()
    assert (found[~is_greatest] == 0).all()


@pytest.mark.parametrize("op", ["MaxPool", "AvgPool"])
def test_images_without_rows(op: str) -> None:
    # The padding alone is as large as what the last positions of a window reach.
    attrs = {"ksize": [1, 5, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    assert run_op(op, X[:, :0], **attrs).shape == (2, 0, 4, 3)


SHAPE, W_SHAPE = np.array(X.shape, np.int32), np.array(W.shape, np.int32)
CONV = {"strides": [1] * 4, "padding": "SAME"}
POOL = {**CONV, "ksize": [1, 2, 2, 1]}
GRADIENT = np.zeros((2, 6, 7, 4))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "message"),
    [
        ("Conv2D", (X[0], W), CONV, r"input must be 4-dimensional: \[6,7,3\]"),
        ("Conv2D", (X[..., :2], W), CONV, "input depth must be evenly divisible by filter depth: 2 vs 3"),
        ("Conv2D", (X[..., :0], W), CONV, "0 vs 3"),
        ("Conv2DBackpropInput", (SHAPE, W[0], GRADIENT), CONV, r"filter must be 4-dimensional: \[2,3,4\]"),
        ("Conv2DBackpropInput", (SHAPE, W[:, :, :2], GRADIENT), CONV, "divisible by filter depth: 3 vs 2"),
        ("Conv2DBackpropInput", (SHAPE[:3], W, GRADIENT), CONV, "input_sizes must have 4 elements, got 3"),
        ("Conv2DBackpropFilter", (X[0], W_SHAPE, GRADIENT), CONV, r"input must be 4-dimensional: \[6,7,3\]"),
        ("Conv2DBackpropFilter", (X[..., :2], W_SHAPE, GRADIENT), CONV, "divisible by filter depth: 2 vs 3"),
        ("Conv2DBackpropFilter", (X, W_SHAPE, GRADIENT[:, 1:]), CONV, r"\[5,7,4\], expected \[6,7,4\]"),
        ("DepthwiseConv2dNativeBackpropInput", (SHAPE, W[0], GRADIENT), CONV, "filter must be 4-dimensional"),
        ("DepthwiseConv2dNativeBackpropFilter", (X[0], W_SHAPE, GRADIENT), CONV, "input must be 4-dim"),
        ("MaxPool", (X[0],), POOL, r"tensor_in must be 4-dimensional: \[6,7,3\]"),
        ("MaxPool", (X,), {**POOL, "ksize": [1, 0, 1, 1]}, "Sliding window ksize must be greater than 0"),
        ("AvgPoolGrad", (SHAPE[:3], X), POOL, "must describe 4-dimensional images"),
        ("AvgPoolGrad", (SHAPE, X[0]), POOL, r"out_backprop must be 4-dimensional: \[6,7,3\]"),
    ],
)
def test_wrong_inputs(op: str, inputs: Any, attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        run_op(op, *inputs, **attrs)


@pytest.mark.parametrize(
    ("axis", "message"), [(0, "on the batch dimension"), (3, "on the channel dimension")]
)
def test_windows_over_the_batch_or_channels(axis: int, message: str) -> None:
    ksize = [2 if a == axis else 1 for a in range(4)]
    with pytest.raises(errors.UnimplementedError, match=message):
        run_op("AvgPool", X, **{**POOL, "ksize": ksize})
