"""Kernels of max and average pooling, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet import errors
from tensorfleet.dims import format_dims
from tensorfleet_service.kernels.nn_conv import compute_dtype
from tensorfleet_service.kernels.nn_patches import (
    Geometry,
    as_formatted,
    channels_last,
    check_rank_4,
    node_windows,
)
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel


def _window(node: KernelNode) -> tuple[int, int]:
    """Height and width of the windows of a node.

    Raises:
        UnimplementedError: windows over the batch or over channels.
    """
    ksize, strides = node.attrs["ksize"], node.attrs["strides"]
    if len(ksize) != 4:
        raise errors.InvalidArgumentError(None, None, "Sliding window ksize field must specify 4 dimensions")
    first = 2 if node.attrs["data_format"] == b"NCHW" else 1
    if ksize[0] != 1 or strides[0] != 1:
        raise errors.UnimplementedError(None, None, "Pooling is not yet supported on the batch dimension.")
    channel = 1 if first == 2 else 3
    if ksize[channel] != 1 or strides[channel] != 1:
        raise errors.UnimplementedError(
            None, None, "Pooling is not supported on the channel dimension: ksize and strides there must be 1"
        )
    if min(ksize) <= 0:
        raise errors.InvalidArgumentError(None, None, "Sliding window ksize must be greater than 0")
    return ksize[first], ksize[first + 1]


def _lowest(dtype: Any) -> Any:
    """What is never the maximum of a window, as no window lies in the padding alone."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@kernel("MaxPool")
def max_pool(node: KernelNode) -> Kernel:
    xp, windows, window = node.xp, node_windows(node.attrs), _window(node)

    def run(images: Any) -> Any:
        check_rank_4(images, "tensor_in")
        images = channels_last(xp, images, windows)
        geometry = Geometry(windows, images.shape[1:3], window)
        padded = geometry.padded(xp, images, _lowest(images.dtype))
        (row, column), *others = geometry.positions()
        out = padded[geometry.at(row, column)].copy()
        for row, column in others:
            xp.maximum(out, padded[geometry.at(row, column)], out=out)
        return as_formatted(xp, out, windows)

    return run


@kernel("MaxPoolGrad")
def max_pool_grad(node: KernelNode) -> Kernel:
    xp, windows, window = node.xp, node_windows(node.attrs), _window(node)

    def run(images: Any, pooled: Any, gradient: Any) -> Any:
        check_rank_4(images, "orig_input")
        if pooled.shape != gradient.shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected grad shape to be {format_dims(pooled.shape)}, but got "
                f"{format_dims(gradient.shape)}",
            )
        images, pooled, gradient = (channels_last(xp, a, windows) for a in (images, pooled, gradient))
        geometry = Geometry(windows, images.shape[1:3], window)
        padded = geometry.padded(xp, images, _lowest(images.dtype))
        result = xp.zeros(padded.shape, gradient.dtype)
        # The first maximum of a window, by rows, gets all of its gradient.
        left = xp.ones(gradient.shape, bool)
        for row, column in geometry.positions():
            at = geometry.at(row, column)
            chosen = padded[at] == pooled
            chosen &= left
            left ^= chosen
            result[at] += gradient * chosen
        return xp.ascontiguousarray(as_formatted(xp, geometry.inner(result), windows))

    return run


@kernel("MaxPoolGradGrad")
def max_pool_grad_grad(node: KernelNode) -> Kernel:
    xp, windows, window = node.xp, node_windows(node.attrs), _window(node)

    def run(images: Any, pooled: Any, gradient: Any) -> Any:
        check_rank_4(images, "orig_input")
        if gradient.shape != images.shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected grad shape to be {format_dims(images.shape)}, but got "
                f"{format_dims(gradient.shape)}",
            )
        images, pooled, gradient = (channels_last(xp, a, windows) for a in (images, pooled, gradient))
        geometry = Geometry(windows, images.shape[1:3], window)
        padded = geometry.padded(xp, images, _lowest(images.dtype))
        given = geometry.padded(xp, gradient)
        result = xp.zeros(pooled.shape, gradient.dtype)
        # What the first maximum of a window, by rows, gets.
        left = xp.ones(pooled.shape, bool)
        for row, column in geometry.positions():
            at = geometry.at(row, column)
            chosen = padded[at] == pooled
            chosen &= left
            left ^= chosen
            result += given[at] * chosen
        return xp.ascontiguousarray(as_formatted(xp, result, windows))

    return run


def _counts(xp: Any, geometry: Geometry, dtype: Any) -> Any:
    """How many elements of the images, padding aside, each window sees: [1, out height, out width, 1]."""
    (top, bottom), (left, right) = geometry.pad
    inside = xp.zeros((1, *geometry.size, 1), dtype)
    inside[:, top : geometry.size[0] - bottom, left : geometry.size[1] - right] = 1
    return sum(inside[geometry.at(row, column)] for row, column in geometry.positions())


@kernel("AvgPool")
def avg_pool(node: KernelNode) -> Kernel:
    xp, windows, window = node.xp, node_windows(node.attrs), _window(node)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(images: Any) -> Any:
        check_rank_4(images, "tensor_in")
        images = channels_last(xp, images, windows).astype(inner, copy=False)
        geometry = Geometry(windows, images.shape[1:3], window)
        padded = geometry.padded(xp, images)
        out = xp.zeros((len(images), *geometry.out, images.shape[3]), inner)
        for row, column in geometry.positions():
            out += padded[geometry.at(row, column)]
        out /= _counts(xp, geometry, inner) if geometry.is_padded else window[0] * window[1]
        return as_formatted(xp, out, windows).astype(dtype, copy=False)

    return run


@kernel("AvgPoolGrad")
def avg_pool_grad(node: KernelNode) -> Kernel:
    xp, windows, window = node.xp, node_windows(node.attrs), _window(node)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(sizes: Any, gradient: Any) -> Any:
        if sizes.ndim != 1 or sizes.size != 4:
            raise errors.InvalidArgumentError(
                None, None, "out_backprop and orig_input_shape must describe 4-dimensional images"
            )
        shape = sizes.tolist()
        gradient = channels_last(xp, gradient, windows).astype(inner, copy=False)
        geometry = Geometry(windows, tuple(shape[a] for a in windows.space_axes), window)
        share = gradient / (_counts(xp, geometry, inner) if geometry.is_padded else window[0] * window[1])
        result = xp.zeros((len(gradient), *geometry.size, gradient.shape[3]), inner)
        for row, column in geometry.positions():
            result[geometry.at(row, column)] += share
        out = as_formatted(xp, geometry.inner(result), windows)
        return xp.ascontiguousarray(out).astype(dtype, copy=False)

    return run
