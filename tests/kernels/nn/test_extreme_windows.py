"""Sizes, steps and padding at the ends of what attributes can say: TensorFlow's results, or clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tests.kernels.harness import run_op

IMAGES = np.ones((4, 16, 16, 8), np.float32)
WEIGHTS = np.ones((3, 3, 8, 4), np.float32)
MOST = 2**31 - 1


def convolve(**attrs: Any) -> Any:
    return run_op("Conv2D", IMAGES, WEIGHTS, **{"strides": [1, 1, 1, 1], "padding": b"SAME", **attrs})


@pytest.mark.parametrize("op", ["MaxPool", "AvgPool", "Conv2D", "DepthwiseConv2dNative"])
@pytest.mark.parametrize(("size", "stride", "fits"), [(3, 1, 1), (2, 1, 0), (1, 2, 0), (1, 1, -1), (1, 3, 0)])
def test_inputs_that_are_smaller_than_windows(op: str, size: int, stride: int, fits: int) -> None:
    """As in TensorFlow, there is nothing where a window just does not fit."""
    images = np.ones((2, size, 5, 1), np.float32)
    attrs = {"strides": [1, stride, stride, 1], "padding": b"VALID"}
    inputs = [images, np.ones((3, 3, 1, 1), np.float32)]
    if op in ("MaxPool", "AvgPool"):
        attrs["ksize"] = [1, 3, 3, 1]
        inputs = [images]
    if fits < 0:
        with pytest.raises(errors.InvalidArgumentError, match="Computed output size would be negative: -1"):
            run_op(op, *inputs, **attrs)
    else:
        assert run_op(op, *inputs, **attrs).shape == (2, fits, (5 - 3) // stride + 1, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maxima_of_what_is_no_number(dtype: Any) -> None:
    """It is never the greatest; where there is nothing else, the least number is."""
    x = np.arange(16, dtype=dtype).reshape(1, 4, 4, 1)
    x[0, 1, 1, 0] = x[0, 0, 3, 0] = x[0, 2:, 2:, 0] = np.nan
    x[0, 2:, :2, 0] = -np.inf
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": b"VALID"}
    least = np.finfo(dtype).min
    pooled = run_op("MaxPool", x, **attrs)
    np.testing.assert_array_equal(pooled[0, :, :, 0], [[4, 7], [least, least]])
    slopes = run_op("MaxPoolGrad", x, pooled, np.ones_like(pooled), **attrs)
    assert np.argwhere(slopes[0, :2, :, 0]).tolist() == [[1, 0], [1, 3]]


@pytest.mark.parametrize("padding", [b"SAME", b"VALID"])
def test_the_largest_strides(padding: bytes) -> None:
    out = convolve(strides=[1, MOST, MOST, 1], padding=padding)
    np.testing.assert_array_equal(out, np.full((4, 1, 1, 4), 72.0))


def test_the_gradient_of_images_under_the_largest_strides() -> None:
    """The time depends on the image, not on the stride."""
    gradient = np.ones((2048, 1, 1, 4), np.float32)
    sizes = np.int32([2048, 3, 3, 8])
    attrs = {"strides": [1, MOST // 4, MOST // 4, 1], "padding": b"VALID"}
    out = run_op("Conv2DBackpropInput", sizes, WEIGHTS, gradient, **attrs)
    np.testing.assert_array_equal(out, np.full(tuple(sizes), 4.0))


def test_a_filter_with_more_elements_than_the_compiled_kernels_take() -> None:
    """Each pixel of the gradient meets each one of its column of the image."""
    pixels, sizes = np.ones((1, 64, 64, 1), np.float32), np.int32([65537, 1, 1, 1])
    out = run_op("Conv2DBackpropFilter", pixels, sizes, pixels, strides=[1, 1, 1, 1], padding=b"SAME")
    assert out.shape == (65537, 1, 1, 1)
    assert out.sum(dtype=np.float64) == 64**3


@pytest.mark.parametrize(
    ("attrs", "error", "text"),
    [
        ({"strides": [2, 1, 1, 1]}, errors.UnimplementedError, "strides in the batch and depth"),
        ({"dilations": [1, 1, 1, 2]}, errors.UnimplementedError, "dilations in the batch and depth"),
        (
            {"padding": b"EXPLICIT", "explicit_paddings": [0, 0, -1, 1, 1, 1, 0, 0]},
            errors.InvalidArgumentError,
            "nonnegative",
        ),
        (
            {"padding": b"EXPLICIT", "explicit_paddings": [1, 0, 0, 0, 0, 0, 0, 0]},
            errors.InvalidArgumentError,
            "batch or depth",
        ),
    ],
    ids=["strides", "dilations", "negative", "batch"],
)
def test_what_convolutions_refuse(attrs: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        convolve(**attrs)


def test_sizes_that_contradict_the_gradient() -> None:
    gradient = np.ones((4, 16, 16, 4), np.float32)
    attrs = {"strides": [1, 1, 1, 1], "padding": b"SAME"}
    with pytest.raises(errors.InvalidArgumentError, match="must not be negative"):
        run_op("Conv2DBackpropFilter", IMAGES, np.int32([-3, 3, 8, 4]), gradient, **attrs)
    with pytest.raises(errors.InvalidArgumentError, match="must not be negative"):
        run_op("Conv2DBackpropInput", np.int32([-1, 16, 16, 8]), WEIGHTS, gradient, **attrs)
    with pytest.raises(errors.InvalidArgumentError, match="same batch size"):
        run_op("Conv2DBackpropInput", np.int32([0, 16, 16, 8]), WEIGHTS, gradient, **attrs)


@pytest.mark.parametrize("op", ["ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor"])
def test_images_that_no_memory_holds(op: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="too large"):
        run_op(op, IMAGES, np.int32([MOST, MOST]))


def test_crops_that_no_memory_holds() -> None:
    boxes, which = np.float32([[0, 0, 1, 1]]), np.int32([0])
    with pytest.raises(errors.InvalidArgumentError, match="too large"):
        run_op("CropAndResize", IMAGES, boxes, which, np.int32([MOST, MOST]))
