"""Kernels of two-dimensional convolution, forward and backward.

All three are matrix products with the patches of the images: a patch is what one window sees, one row of a
matrix. The matrix of all patches would be many times as large as the images, so each thread copies the
patches of some rows of one image at a time into a buffer that stays in the cache, and multiplies them there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet import errors
from tensorfleet.buffers import empty
from tensorfleet.dims import format_dims
from tensorfleet.dtypes import DType
from tensorfleet_service.kernels.blas import LARGE_PRODUCT, large_product, limit_threads
from tensorfleet_service.kernels.blocks import in_parallel, split, thread_count
from tensorfleet_service.kernels.nn_patches import (
    Geometry,
    as_formatted,
    channels_last,
    check_rank_4,
    each_image,
    node_windows,
    rows_of_patches,
)
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel

PARALLEL_PRODUCTS = 1 << 22
"""From so many multiplications on, a convolution uses several threads."""


def compute_dtype(dtype: DType) -> Any:
    """What a convolution of this dtype computes in: half precision is summed in float32."""
    return np.dtype(np.float32) if dtype.name in ("float16", "bfloat16") else dtype.np


def forward(xp: Any, images: Any, weights: Any, geometry: Geometry) -> Any:
    """Convolves images [n, h, w, c] with weights [kh, kw, c, f]: [n, out h, out w, f]."""
    matrix = weights.reshape(-1, weights.shape[3])
    shape = (len(images), *geometry.out, weights.shape[3])
    out = empty(shape, images.dtype) if xp is np else xp.empty(shape, images.dtype)
    if not out.size or not matrix.shape[0]:
        out[...] = 0
        return out
    if _is_pointwise(geometry):
        padded = geometry.padded(xp, images)
        rows = padded[geometry.at(0, 0)].reshape(-1, matrix.shape[0])
        if xp is np and rows.size * matrix.size >= LARGE_PRODUCT:
            return large_product(rows, matrix).reshape(shape)
        xp.matmul(rows, matrix, out=out.reshape(-1, shape[3]))
        return out

    def run(part: tuple[int, int]) -> None:
        high, wide = geometry.out
        count = rows_of_patches(geometry, images)
        buffer = np.empty((count, wide, *geometry.window, images.shape[3]), images.dtype)
        for i, patches in each_image(images, geometry, part):
            for top in range(0, high, count):
                filled = buffer[: min(count, high - top)]
                filled[...] = patches[top : top + count]
                target = out[i, top : top + count].reshape(-1, shape[3])
                np.matmul(filled.reshape(-1, matrix.shape[0]), matrix, out=target)

    if not _each_image(xp, run, images, matrix.size * geometry.out[0] * geometry.out[1]):
        patches = geometry.patches(xp, geometry.padded(xp, images))
        xp.matmul(patches.reshape(-1, matrix.shape[0]), matrix, out=out.reshape(-1, shape[3]))
    return out


def weights_gradient(xp: Any, images: Any, gradient: Any, geometry: Geometry) -> Any:
    """The gradient of the weights, from that of the output: [kh, kw, c, f]."""
    channels, filters = images.shape[3], gradient.shape[3]
    shape = (*geometry.window, channels, filters)
    if not images.size or not gradient.size:
        return xp.zeros(shape, images.dtype)
    size = geometry.window[0] * geometry.window[1] * channels
    sums: dict[int, Any] = {}

    def run(part: tuple[int, int]) -> None:
        buffer = np.empty((*geometry.out, *geometry.window, channels), images.dtype)
        rows = buffer.reshape(-1, size)
        total, product = np.zeros((size, filters), images.dtype), np.empty((size, filters), images.dtype)
        for i, patches in each_image(images, geometry, part):
            buffer[...] = patches
            np.matmul(rows.T, gradient[i].reshape(-1, filters), out=product)
            total += product
        sums[part[0]] = total

    if not _each_image(xp, run, images, size * filters * geometry.out[0] * geometry.out[1]):
        patches = geometry.patches(xp, geometry.padded(xp, images))
        return xp.matmul(patches.reshape(-1, size).T, gradient.reshape(-1, filters)).reshape(shape)
    first, *others = (sums[begin] for begin in sorted(sums))
    for other in others:
        first += other
    return first.reshape(shape)


def images_gradient(xp: Any, gradient: Any, weights: Any, geometry: Geometry) -> Any:
    """The gradient of the images, from that of the output: [n, h, w, c]."""
    high, wide, channels, filters = weights.shape
    if geometry.strides == geometry.dilations == (1, 1) and gradient.size and weights.size:
        # Each element of an image is seen by a window of outputs: this is a convolution, too.
        flipped = xp.ascontiguousarray(weights[::-1, ::-1].transpose(0, 1, 3, 2))
        back = geometry.backwards()
        if back is not None:
            return forward(xp, gradient, flipped, back)
    padded = xp.zeros((len(gradient), *geometry.size, channels), gradient.dtype)
    if gradient.size and weights.size:
        matrices = weights.reshape(high * wide, channels, filters).transpose(0, 2, 1)

        def run(part: tuple[int, int]) -> None:
            begin, end = part
            rows = gradient[begin:end].reshape(-1, filters)
            products = xp.empty((rows.shape[0], channels), gradient.dtype)
            shape = (end - begin, *geometry.out, channels)
            target = padded[begin:end]
            for (row, column), matrix in zip(geometry.positions(), matrices, strict=True):
                xp.matmul(rows, matrix, out=products)
                target[geometry.at(row, column)] += products.reshape(shape)

        def run_each(part: tuple[int, int]) -> None:
            for i in range(*part):
                run((i, i + 1))

        if not _each_image(xp, run_each, gradient, gradient[0].size * channels * high * wide):
            run((0, len(gradient)))
    return geometry.inner(padded)


def _is_pointwise(geometry: Geometry) -> bool:
    return geometry.window == (1, 1)


def _each_image(xp: Any, run: Callable[[tuple[int, int]], None], images: Any, products: int) -> bool:
    """Runs over the images, of so many multiplications each, on several threads.

    Returns False where that does not pay; then nothing was run.
    """
    count = len(images)
    if xp is not np or count < 2 or count * products < PARALLEL_PRODUCTS or not limit_threads():
        return False
    in_parallel(run, split(count, 2 * thread_count()))
    return True


def _checked(images: Any, weights: Any, windows: Any) -> None:
    check_rank_4(images, "input")
    check_rank_4(weights, "filter")
    depth = images.shape[windows.channel_axis]
    if weights.shape[2] == 0 or depth % weights.shape[2]:
        raise errors.InvalidArgumentError(
            None, None, f"input depth must be evenly divisible by filter depth: {depth} vs {weights.shape[2]}"
        )
    if weights.shape[3] % (depth // weights.shape[2] or 1):
        raise errors.InvalidArgumentError(
            None, None, "output depth must be evenly divisible by number of groups"
        )


def _sizes(value: Any, name: str) -> tuple[int, ...]:
    """A shape that came as a tensor."""
    if value.ndim != 1:
        raise errors.InvalidArgumentError(
            None, None, f"{name} must be 1-dimensional, got {format_dims(value.shape)}"
        )
    if value.size != 4:
        raise errors.InvalidArgumentError(None, None, f"{name} must have 4 elements, got {value.size}")
    return tuple(value.tolist())


def _grouped(
    function: Callable[..., Any], xp: Any, channels: int, depth: int, *parts: tuple[Any, int]
) -> Any:
    """Applies `function` to each group of channels; `parts` are arrays and the axis that is divided."""
    groups = channels // depth
    if groups == 1:
        return [function(*[array for array, _ in parts])]
    divided = [xp.split(array, groups, axis) for array, axis in parts]
    return [function(*[xp.ascontiguousarray(a) for a in group]) for group in zip(*divided, strict=True)]


@kernel("Conv2D")
def conv2d(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_windows(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(images: Any, weights: Any) -> Any:
        _checked(images, weights, windows)
        images = channels_last(xp, images, windows).astype(inner, copy=False)
        geometry = Geometry(windows, images.shape[1:3], weights.shape[:2])
        parts = _grouped(
            lambda x, w: forward(xp, x, w, geometry),
            xp,
            images.shape[3],
            weights.shape[2],
            (images, 3),
            (weights.astype(inner, copy=False), 3),
        )
        out = parts[0] if len(parts) == 1 else xp.concatenate(parts, 3)
        return as_formatted(xp, out, windows).astype(dtype, copy=False)

    return run


@kernel("Conv2DBackpropInput")
def conv2d_backprop_input(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_windows(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(input_sizes: Any, weights: Any, gradient: Any) -> Any:
        sizes = _sizes(input_sizes, "input_sizes") if input_sizes.size != 2 else None
        gradient = channels_last(xp, gradient, windows).astype(inner, copy=False)
        if sizes is None:
            # Only height and width are given: the rest follows.
            space, channels = tuple(input_sizes.tolist()), weights.shape[2]
        else:
            space, channels = tuple(sizes[a] for a in windows.space_axes), sizes[windows.channel_axis]
        geometry = Geometry(windows, space, weights.shape[:2])
        _check_gradient(gradient, geometry, weights.shape[3])
        parts = _grouped(
            lambda g, w: images_gradient(xp, g, w, geometry),
            xp,
            channels,
            weights.shape[2],
            (gradient, 3),
            (weights.astype(inner, copy=False), 3),
        )
        out = parts[0] if len(parts) == 1 else xp.concatenate(parts, 3)
        return xp.ascontiguousarray(as_formatted(xp, out, windows)).astype(dtype, copy=False)

    return run


@kernel("Conv2DBackpropFilter")
def conv2d_backprop_filter(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_windows(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(images: Any, filter_sizes: Any, gradient: Any) -> Any:
        shape = _sizes(filter_sizes, "filter_sizes")
        images = channels_last(xp, images, windows).astype(inner, copy=False)
        gradient = channels_last(xp, gradient, windows).astype(inner, copy=False)
        geometry = Geometry(windows, images.shape[1:3], shape[:2])
        _check_gradient(gradient, geometry, shape[3])
        parts = _grouped(
            lambda x, g: weights_gradient(xp, x, g, geometry),
            xp,
            images.shape[3],
            shape[2],
            (images, 3),
            (gradient, 3),
        )
        out = parts[0] if len(parts) == 1 else xp.concatenate(parts, 3)
        return out.astype(dtype, copy=False)

    return run


def _check_gradient(gradient: Any, geometry: Geometry, filters: int) -> None:
    if gradient.shape[1:] != (*geometry.out, filters):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Conv2D gradient: out_backprop has windows and filters {format_dims(gradient.shape[1:])}, "
            "expected "
            f"{format_dims((*geometry.out, filters))}",
        )
