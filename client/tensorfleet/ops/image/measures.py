"""Measures of images: gradients, edges, total variation, and the similarity of two images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dims as dims_module, dtypes
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import control_dependencies, name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range as int_range, zeros
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat, stack, unstack
from tensorfleet.ops.array.padding import pad, tile
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape, shape_n, size
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.image.color import convert_image_dtype
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.math.arithmetic import pow, squared_difference, subtract
from tensorfleet.ops.math.comparison import equal, greater_equal, not_equal
from tensorfleet.ops.math.elementwise import abs, log, square
from tensorfleet.ops.math.reduction import reduce_all, reduce_any, reduce_mean, reduce_prod, reduce_sum
from tensorfleet.ops.nn.activation import relu, softmax
from tensorfleet.ops.nn.conv import depthwise_conv2d
from tensorfleet.ops.nn.pool import avg_pool


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the differences between neighbouring pixels, for each image (`tf.image.total_variation`)."""
    with name_scope(name, "total_variation"):
        images = convert_to_tensor(images)
        dims = images.dims
        if dims is None or len(dims) not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        if len(dims) == 3:
            below, right = images[1:, :, :] - images[:-1, :, :], images[:, 1:, :] - images[:, :-1, :]
        else:
            below = images[:, 1:, :, :] - images[:, :-1, :, :]
            right = images[:, :, 1:, :] - images[:, :, :-1, :]
        axes = None if len(dims) == 3 else [1, 2, 3]
        total: Tensor = reduce_sum(abs(below), axis=axes) + reduce_sum(abs(right), axis=axes)
        return total


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """(dy, dx), the differences to the next pixel below and on the right (`tf.image.image_gradients`).

    Args:
        image: of shape [batch, height, width, channels]; the last row and column of the results are zero.
    """
    if len(image.dims or ()) != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    dims = shape(image)
    batch, height, width, depth = unstack(dims)
    below = image[:, 1:, :, :] - image[:, :-1, :, :]
    right = image[:, :, 1:, :] - image[:, :, :-1, :]
    row = zeros(stack([batch, 1, width, depth]), image.dtype)
    below = reshape(concat([below, row], 1), dims)
    column = zeros(stack([batch, height, 1, depth]), image.dtype)
    return below, reshape(concat([right, column], 2), dims)


def sobel_edges(image: Any) -> Tensor:
    """Sobel's filters on each channel: [batch, height, width, channels, 2], dy and dx
    (`tf.image.sobel_edges`)."""
    dims = shape(image)
    vertical = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    kernels = np.stack([vertical, vertical.T], axis=-1)[:, :, None, :]
    filters = tile(constant(kernels, image.dtype.base), [1, 1, dims[-1], 1], name="sobel_filters")
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    edges = reshape(depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID"), concat([dims, [2]], 0))
    if image.dims is not None:
        edges.set_shape([*image.dims, 2])
    return edges


def _checks_of_pair(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, list[Any]]:
    """The shapes of two images or batches, and checks in the run that they are compatible."""
    for image in (first, second):
        if image.dims is not None and len(image.dims) < 3:
            raise ValueError(f"Shape {image.shape} must have rank at least 3")
    if first.dims is not None and second.dims is not None:
        if not dims_module.compatible(first.dims[-3:], second.dims[-3:]):
            raise ValueError(f"Shapes {first.shape[-3:]} and {second.shape[-3:]} are incompatible")
        for a, b in zip(reversed(first.dims[:-3]), reversed(second.dims[:-3]), strict=False):
            if not (a == 1 or b == 1 or a is None or b is None or a == b):
                raise ValueError(f"Two images are not compatible: {first.shape} and {second.shape}")
    one, two = shape_n([first, second])
    checks = [
        Assert(greater_equal(size(one), 3), [one, two], summarize=10),
        Assert(reduce_all(equal(one[-3:], two[-3:])), [one, two], summarize=10),
    ]
    return one, two, checks


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio between images, in decibels (`tf.image.psnr`).

    Args:
        a, b: images or batches of images.
        max_val: the difference of the greatest and the least possible value.

    Returns:
        float32, one for each image.
    """
    with name_scope(name, "PSNR", [a, b]):
        peak = convert_image_dtype(cast(max_val, dtypes.as_dtype(a.dtype)), dtypes.float32)
        a, b = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
        error = reduce_mean(squared_difference(a, b), [-3, -2, -1])
        ratio = subtract(20 * log(peak) / log(10.0), np.float32(10 / math.log(10)) * log(error), name="psnr")
        with control_dependencies(_checks_of_pair(a, b)[2]):
            return identity(ratio)


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """The structural similarity of images, at most 1 (`tf.image.ssim`).

    See Wang et al., "Image quality assessment: from error visibility to structural similarity", 2004.

    Args:
        img1, img2: images or batches of images.
        max_val: the difference of the greatest and the least possible value.
        filter_size, filter_sigma: size and standard deviation of the Gaussian window of the statistics.
        k1, k2: the formula's constants.
        return_index_map: give the similarity of each window instead of the mean.
    """
    with name_scope(None, "SSIM", [img1, img2]):
        first, second, peak, _, _ = _pair(img1, img2, max_val)
        gauss = filter_size, filter_sigma
        similar, _ = _similarity(first, second, peak, gauss, (k1, k2), return_index_map)
        return reduce_mean(similar, [-1])


def _pair(img1: Any, img2: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Two images and `max_val` as floats, after checks, and the images' shapes."""
    first, second = convert_to_tensor(img1, name="img1"), convert_to_tensor(img2, name="img2")
    one, two, checks = _checks_of_pair(first, second)
    with control_dependencies(checks):
        first = identity(first)
    peak = convert_image_dtype(cast(max_val, first.dtype), dtypes.float32)
    first = convert_image_dtype(first, dtypes.float32)
    return first, convert_image_dtype(second, dtypes.float32), peak, one, two


def _gauss_kernel(filter_size: Tensor, sigma: Tensor) -> Tensor:
    """The weights of a Gaussian window: [size, size, 1, 1]."""
    filter_size = convert_to_tensor(filter_size, dtypes.int32)
    places = cast(int_range(filter_size), sigma.dtype)
    places = places - cast(filter_size - 1, sigma.dtype) / 2.0
    exponents = square(places) * (-0.5 / square(sigma))
    exponents = reshape(exponents, [1, -1]) + reshape(exponents, [-1, 1])
    weights = softmax(reshape(exponents, [1, -1]))
    return reshape(weights, [filter_size, filter_size, 1, 1])


def _similarity(
    first: Tensor,
    second: Tensor,
    peak: Tensor,
    gauss: tuple[int, float],
    constants: tuple[float, float],
    of_windows: bool = False,
) -> tuple[Tensor, Tensor]:
    """The similarity of each channel, and its factor of contrast and structure."""
    filter_size = constant(gauss[0], dtypes.int32)
    sigma = constant(gauss[1], first.dtype.base)
    one, two = shape_n([first, second])
    checks = [
        Assert(reduce_all(greater_equal(dims[-3:-1], filter_size)), [dims, filter_size], summarize=8)
        for dims in (one, two)
    ]
    with control_dependencies(checks):
        first = identity(first)
    kernel = tile(_gauss_kernel(filter_size, sigma), [1, 1, one[-1], 1])

    def windowed(x: Tensor) -> Tensor:
        dims = shape(x)
        flat = reshape(x, concat([[-1], dims[-3:]], 0))
        means = depthwise_conv2d(flat, kernel, strides=[1, 1, 1, 1], padding="VALID")
        return reshape(means, concat([dims[:-3], shape(means)[1:]], 0))

    luminance, structure = _parts(first, second, windowed, peak, constants)
    if of_windows:
        return luminance * structure, structure
    axes = constant([-3, -2], dtypes.int32)
    return reduce_mean(luminance * structure, axes), reduce_mean(structure, axes)


def _parts(
    x: Tensor, y: Tensor, mean: Callable[[Tensor], Tensor], peak: Tensor, constants: tuple[float, float]
) -> tuple[Any, Any]:
    """The similarity of luminance, and that of contrast and structure."""
    c1, c2 = (constants[0] * peak) ** 2, (constants[1] * peak) ** 2
    x_mean, y_mean = mean(x), mean(y)
    product = x_mean * y_mean * 2.0
    squares = square(x_mean) + square(y_mean)
    luminance = (product + c1) / (squares + c1)
    both = mean(x * y) * 2.0
    each = mean(square(x) + square(y))
    c2 = c2 * 1.0
    return luminance, (both - product + c2) / (each - squares + c2)


_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """`ssim` at several scales, each half of the previous one (`tf.image.ssim_multiscale`).

    Args:
        power_factors: the weight of each scale.
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        first, second, peak, *shapes = _pair(img1, img2, max_val)
        images = [first, second]
        heads, tails = [s[:-3] for s in shapes], [s[-3:] for s in shapes]
        window = [1, 2, 2, 1]
        divisor = constant(window[1:], dtypes.int32)
        parts: list[Tensor] = []
        for scale in range(len(power_factors)):
            with name_scope(None, f"Scale{scale}", images):
                if scale:
                    images, tails = _halved(images, heads, tails, window, divisor)
                similar, structure = _similarity(
                    images[0], images[1], peak, (filter_size, filter_sigma), (k1, k2)
                )
                parts.append(relu(structure))
        parts.pop()
        factors = stack([*parts, relu(similar)], axis=-1)
        return reduce_mean(reduce_prod(pow(factors, power_factors), [-1]), [-1])


def _halved(
    images: list[Tensor], heads: list[Tensor], tails: list[Tensor], window: list[int], divisor: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """Images of half the size, and their last three dimensions."""
    flat = [reshape(x, concat([[-1], tail], 0)) for x, tail in zip(images, tails, strict=True)]
    rest = tails[0] % divisor

    def padded() -> list[Tensor]:
        around = pad(expand_dims(rest, -1), [[1, 0], [1, 0]])
        return [pad(x, around, mode="SYMMETRIC") for x in flat]

    even = cond(reduce_any(not_equal(rest, 0)), padded, lambda: flat)
    small = [avg_pool(x, ksize=window, strides=window, padding="VALID") for x in even]
    tails = [dims[1:] for dims in shape_n(small)]
    return [
        reshape(x, concat([head, tail], 0)) for x, head, tail in zip(small, heads, tails, strict=True)
    ], tails
