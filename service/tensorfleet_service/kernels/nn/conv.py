"""Kernels of convolution of images and volumes, forward and backward.

Over images, all three are matrix products with the patches of the images: a patch is what one window sees,
one row of a matrix. The matrix of all patches would be many times as large as the images, so each thread
copies the patches of some rows of one image at a time into a buffer that stays in the cache, and multiplies
them there. Those of volumes are too large for that: there it is one product for each position of a window.
The compiled kernels (`compiled_conv`), where they are installed, read the windows of images where they lie.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet.ops.nn.windows import Windows
from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blas import LARGE_PRODUCT, large_product, limit_threads
from tensorfleet_service.devices.blocks import in_parallel, split, thread_count
from tensorfleet_service.devices.cublas import matmul
from tensorfleet_service.kernels.nn import compiled_conv, cudnn_conv
from tensorfleet_service.kernels.nn.patches import (
    Geometries,
    Geometry,
    as_formatted,
    channels_last,
    check_rank,
    convolution_windows,
    each_image,
    rank_of,
    rows_of_patches,
    sizes_of,
)
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

PARALLEL_PRODUCTS = 1 << 22
"""Number of multiplications from which a convolution uses several threads."""


def compute_dtype(dtype: DType) -> Any:
    """The dtype in which a convolution is computed: half precision is summed in float32."""
    return np.dtype(np.float32) if dtype.name in ("float16", "bfloat16") else dtype.np


def forward(xp: Any, images: Any, weights: Any, geometry: Geometry) -> Any:
    """Convolves images [n, *space, c] with weights [*window, c, f]: [n, *out, f]."""
    # One element of each pixel is a product of matrices, if the pixels lie side by side.
    if max(*geometry.window, *geometry.strides) > 1:
        found = compiled_conv.convolve(images, weights, geometry)
        if found is not None:
            return found
    channels, filters = weights.shape[-2:]
    matrix = weights.reshape(-1, filters)
    shape = (len(images), *geometry.out, filters)
    out = empty(shape, images.dtype) if xp is np else xp.empty(shape, images.dtype)
    if not out.size or not matrix.shape[0]:
        out[...] = 0
        return out
    if prod(geometry.window) == 1:
        (position,) = geometry.positions()
        rows = geometry.padded(xp, images)[geometry.at(position)].reshape(-1, channels)
        if xp is np and rows.size * filters >= LARGE_PRODUCT:
            return large_product(rows, matrix).reshape(shape)
        matmul(xp, rows, matrix, out=out.reshape(-1, filters))
        return out
    if not _has_patches(geometry):
        padded, target = geometry.padded(xp, images), out.reshape(-1, filters)
        target[...] = 0
        for position in geometry.positions():
            target += matmul(xp, padded[geometry.at(position)].reshape(-1, channels), weights[position])
        return out

    def run(part: tuple[int, int]) -> None:
        high, wide = geometry.out
        count = rows_of_patches(geometry, images)
        buffer = np.empty((count, wide, *geometry.window, channels), images.dtype)
        for i, patches in each_image(images, geometry, part):
            for top in range(0, high, count):
                check_step()
                filled = buffer[: min(count, high - top)]
                filled[...] = patches[top : top + count]
                target = out[i, top : top + count].reshape(-1, filters)
                np.matmul(filled.reshape(-1, matrix.shape[0]), matrix, out=target)

    if not _each_image(xp, run, images, matrix.size * prod(geometry.out)):
        patches = geometry.patches(xp, geometry.padded(xp, images))
        matmul(xp, patches.reshape(-1, matrix.shape[0]), matrix, out=out.reshape(-1, filters))
    return out


def weights_gradient(xp: Any, images: Any, gradient: Any, geometry: Geometry) -> Any:
    """The gradient of the weights, from that of the output: [*window, c, f]."""
    found = compiled_conv.weights_gradient(images, gradient, geometry)
    if found is not None:
        return found
    channels, filters = images.shape[-1], gradient.shape[-1]
    shape = (*geometry.window, channels, filters)
    if not images.size or not gradient.size:
        return xp.zeros(shape, images.dtype)
    if not _has_patches(geometry):
        padded, products = geometry.padded(xp, images), gradient.reshape(-1, filters)
        out = xp.empty(shape, images.dtype)
        for position in geometry.positions():
            out[position] = matmul(xp, padded[geometry.at(position)].reshape(-1, channels).T, products)
        return out
    size = prod(geometry.window) * channels
    sums: dict[int, Any] = {}

    def run(part: tuple[int, int]) -> None:
        buffer = np.empty((*geometry.out, *geometry.window, channels), images.dtype)
        rows = buffer.reshape(-1, size)
        total, product = np.zeros((size, filters), images.dtype), np.empty((size, filters), images.dtype)
        for i, patches in each_image(images, geometry, part):
            buffer[...] = patches
            unlocked.matmul(rows.T, gradient[i].reshape(-1, filters), product)
            total += product
        sums[part[0]] = total

    if not _each_image(xp, run, images, size * filters * prod(geometry.out)):
        patches = geometry.patches(xp, geometry.padded(xp, images))
        return matmul(xp, patches.reshape(-1, size).T, gradient.reshape(-1, filters)).reshape(shape)
    first, *others = (sums[begin] for begin in sorted(sums))
    for other in others:
        first += other
    return first.reshape(shape)


def images_gradient(xp: Any, gradient: Any, weights: Any, geometry: Geometry) -> Any:
    """The gradient of the images, from that of the output: [n, *space, c]."""
    channels, filters = weights.shape[-2:]
    if max(*geometry.window, *geometry.strides) > 1:
        found = compiled_conv.images_gradient(gradient, weights, geometry)
        if found is not None:
            return found
    plain = max(geometry.strides) == max(geometry.dilations) == 1
    if plain and _has_patches(geometry) and gradient.size and weights.size:
        # Each element of an image is seen by a window of outputs: this is a convolution, too.
        flipped = xp.ascontiguousarray(weights[::-1, ::-1].transpose(0, 1, 3, 2))
        back = geometry.backwards()
        if back is not None:
            return forward(xp, gradient, flipped, back)
    padded = xp.zeros((len(gradient), *geometry.size, channels), gradient.dtype)
    if gradient.size and weights.size:

        def run(part: tuple[int, int]) -> None:
            begin, end = part
            rows = gradient[begin:end].reshape(-1, filters)
            products = xp.empty((rows.shape[0], channels), gradient.dtype)
            shape = (end - begin, *geometry.out, channels)
            target = padded[begin:end]
            for position in geometry.positions():
                matmul(xp, rows, weights[position].T, out=products)
                target[geometry.at(position)] += products.reshape(shape)

        def run_each(part: tuple[int, int]) -> None:
            for i in range(*part):
                run((i, i + 1))

        if not _each_image(xp, run_each, gradient, gradient[0].size * weights.size // filters):
            run((0, len(gradient)))
    return geometry.inner(padded)


def _has_patches(geometry: Geometry) -> bool:
    """Whether products are made with the patches, as over images, and not for each position of a window."""
    return len(geometry.window) == 2


def _each_image(xp: Any, run: Callable[[tuple[int, int]], None], images: Any, products: int) -> bool:
    """Runs over the images, of so many multiplications each, on several threads.

    Returns False where that does not pay; then nothing was run.
    """
    count = len(images)
    if xp is not np or count < 2 or count * products < PARALLEL_PRODUCTS or not limit_threads():
        return False
    in_parallel(run, split(count, 2 * thread_count()))
    return True


def _check_depth(channels: int, weights: tuple[int, ...]) -> None:
    depth, filters = weights[-2:]
    if len(weights) == 4 and not depth:
        raise errors.InvalidArgumentError(None, None, "filter depth must be stricly positive, got 0")
    if 0 in weights:
        raise errors.InvalidArgumentError(
            None,
            None,
            "filter must not have zero elements (i.e. all dimensions must be non-zero): "
            + format_dims(weights),
        )
    if len(weights) == 5:
        if channels != depth:
            raise errors.InvalidArgumentError(
                None, None, f"Input depth must be evenly divisible by filter depth: {channels} vs {depth}"
            )
        return
    if not channels or not depth or channels % depth:
        raise errors.InvalidArgumentError(
            None, None, f"input depth must be evenly divisible by filter depth: {channels} vs {depth}"
        )
    if filters % (channels // depth):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"output depth must be evenly divisible by number of groups: {filters} vs {channels // depth}",
        )


def _check_batch(gradient: Any, images: int, rank: int) -> None:
    if len(gradient) != images:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Conv{rank}D gradient: input and out_backprop must have the same batch size. "
            f"Input batch: {images}, out_backprop batch: {len(gradient)}",
        )


def _space(images: Any, windows: Windows) -> tuple[int, ...]:
    """The (depth,) height and width of images."""
    return tuple(images.shape[axis] for axis in windows.space_axes)


def _check_gradient(gradient: Any, geometry: Geometry, filters: int, windows: Windows) -> None:
    found = gradient.shape[1:]
    if windows.channels_first:
        found = (*found[1:], *found[:1])
    if found != (*geometry.out, filters):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Conv{len(geometry.window)}D gradient: out_backprop has windows and filters "
            f"{format_dims(found)}, expected {format_dims((*geometry.out, filters))}",
        )


def _grouped(function: Callable[[Any, Any], Any], xp: Any, channels: int, depth: int, *parts: Any) -> Any:
    """Applies `function` to each group of channels, the last axis of `parts` and of the result."""
    groups = channels // depth if depth else 1
    if groups == 1:
        return function(*parts)
    divided = zip(*(xp.split(array, groups, -1) for array in parts), strict=True)
    return xp.concatenate([function(*map(xp.ascontiguousarray, group)) for group in divided], -1)


def grouped_forward(xp: Any, images: Any, weights: Any, geometry: Geometry) -> Any:
    """Convolves each group of channels with its filters."""
    return _grouped(
        lambda x, w: forward(xp, x, w, geometry), xp, images.shape[-1], weights.shape[-2], images, weights
    )


@kernel("Conv2D", "Conv3D")
def convolution(node: KernelNode) -> Kernel:
    xp, windows = node.xp, convolution_windows(node.attrs)
    geometries = Geometries(windows)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(images: Any, weights: Any) -> Any:
        kind = "convolution " if rank_of(windows) == 4 else ""
        check_rank(images, f"{kind}input", windows)
        check_rank(weights, f"{kind}filter", windows)
        _check_depth(images.shape[windows.channel_axis], weights.shape)
        geometry = geometries(_space(images, windows), weights.shape[:-2])
        if xp is not np:
            found = cudnn_conv.convolve(xp, images, weights, geometry, windows.channels_first)
            if found is not None:
                return found
        images = channels_last(xp, images, windows).astype(inner, copy=False)
        weights = weights.astype(inner, copy=False)
        out = grouped_forward(xp, images, weights, geometry)
        return as_formatted(xp, out, windows).astype(dtype, copy=False)

    return run


@kernel("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def convolution_backprop_input(node: KernelNode) -> Kernel:
    xp, windows = node.xp, convolution_windows(node.attrs)
    geometries = Geometries(windows)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(input_sizes: Any, weights: Any, gradient: Any) -> Any:
        check_rank(weights, "filter", windows)
        if rank_of(windows) == 4 and input_sizes.size == 2:
            # Only height and width are given: the rest follows.
            space, channels = tuple(input_sizes.tolist()), weights.shape[-2]
        else:
            sizes = sizes_of(input_sizes, "input_sizes", windows)
            _check_batch(gradient, sizes[0], len(windows.strides))
            space, channels = tuple(sizes[a] for a in windows.space_axes), sizes[windows.channel_axis]
        _check_depth(channels, weights.shape)
        geometry = geometries(space, weights.shape[:-2])
        _check_gradient(gradient, geometry, weights.shape[-1], windows)
        if xp is not np:
            shapes = (geometry, channels, windows.channels_first)
            found = cudnn_conv.images_gradient(xp, gradient, weights, *shapes)
            if found is not None:
                return found
        gradient = channels_last(xp, gradient, windows).astype(inner, copy=False)
        weights = weights.astype(inner, copy=False)
        out = _grouped(
            lambda g, w: images_gradient(xp, g, w, geometry),
            xp,
            channels,
            weights.shape[-2],
            gradient,
            weights,
        )
        return xp.ascontiguousarray(as_formatted(xp, out, windows)).astype(dtype, copy=False)

    return run


@kernel("Conv2DBackpropFilter", "Conv3DBackpropFilterV2")
def convolution_backprop_filter(node: KernelNode) -> Kernel:
    xp, windows = node.xp, convolution_windows(node.attrs)
    geometries = Geometries(windows)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(images: Any, filter_sizes: Any, gradient: Any) -> Any:
        shape = sizes_of(filter_sizes, "filter_sizes", windows)
        check_rank(images, "input", windows)
        _check_depth(images.shape[windows.channel_axis], shape)
        geometry = geometries(_space(images, windows), tuple(shape[:-2]))
        _check_batch(gradient, len(images), len(windows.strides))
        _check_gradient(gradient, geometry, shape[-1], windows)
        if xp is not np:
            found = cudnn_conv.weights_gradient(xp, images, gradient, geometry, shape, windows.channels_first)
            if found is not None:
                return found
        images = channels_last(xp, images, windows).astype(inner, copy=False)
        gradient = channels_last(xp, gradient, windows).astype(inner, copy=False)
        out = _grouped(
            lambda x, g: weights_gradient(xp, x, g, geometry),
            xp,
            images.shape[-1],
            shape[-2],
            images,
            gradient,
        )
        return out.astype(dtype, copy=False)

    return run
