"""Kernels of depthwise convolution: each channel is convolved with filters of its own.

As this is no product of matrices, the kernels go over the positions of the window, with all windows at once;
the compiled ones (`compiled_conv`) take one window after the other.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet_service.kernels.nn import compiled_conv
from tensorfleet_service.kernels.nn.conv import compute_dtype
from tensorfleet_service.kernels.nn.patches import (
    Geometry,
    as_formatted,
    channels_last,
    check_rank,
    convolution_windows,
    sizes_of,
)
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel


def _check(count: int, channels: int, weights: Any, gradient: Any, geometry: Geometry) -> None:
    """Raises InvalidArgumentError where a gradient is not that of such images and weights."""
    if 0 in weights or channels != weights[2]:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"input and filter must have the same depth, and no size 0: {channels} channels, filter "
            f"{format_dims(tuple(weights))}",
        )
    expected = (count, *geometry.out, weights[2] * weights[3])
    if gradient.shape != expected:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"out_backprop has shape {format_dims(gradient.shape)}, but input and filter ask for "
            f"{format_dims(expected)}",
        )


@kernel("DepthwiseConv2dNative")
def depthwise(node: KernelNode) -> Kernel:
    xp, windows = node.xp, convolution_windows(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(images: Any, weights: Any) -> Any:
        check_rank(images, "input", windows)
        check_rank(weights, "filter", windows)
        images = channels_last(xp, images, windows).astype(inner, copy=False)
        weights = weights.astype(inner, copy=False)
        channels, multiplier = weights.shape[2:]
        if images.shape[3] != channels:
            raise errors.InvalidArgumentError(
                None, None, f"input and filter must have the same depth: {images.shape[3]} vs {channels}"
            )
        geometry = Geometry(windows, images.shape[1:3], weights.shape[:2])
        out = compiled_conv.depthwise(images, weights, geometry)
        if out is None:
            padded = geometry.padded(xp, images)[..., None]
            out = xp.zeros((len(images), *geometry.out, channels, multiplier), inner)
            for position in geometry.positions():
                out += padded[geometry.at(position)] * weights[position]
            out = out.reshape(*out.shape[:3], channels * multiplier)
        return as_formatted(xp, out, windows).astype(dtype, copy=False)

    return run


@kernel("DepthwiseConv2dNativeBackpropInput")
def depthwise_backprop_input(node: KernelNode) -> Kernel:
    xp, windows = node.xp, convolution_windows(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(input_sizes: Any, weights: Any, gradient: Any) -> Any:
        sizes = sizes_of(input_sizes, "input_sizes", windows)
        check_rank(weights, "filter", windows)
        gradient = channels_last(xp, gradient, windows).astype(inner, copy=False)
        weights = weights.astype(inner, copy=False)
        geometry = Geometry(windows, tuple(sizes[a] for a in windows.space_axes), weights.shape[:2])
        _check(sizes[0], sizes[windows.channel_axis], weights.shape, gradient, geometry)
        out = compiled_conv.depthwise_images_gradient(gradient, weights, geometry)
        if out is not None:
            return as_formatted(xp, out, windows).astype(dtype, copy=False)
        gradient = gradient.reshape(*gradient.shape[:3], *weights.shape[2:])
        padded = xp.zeros((len(gradient), *geometry.size, weights.shape[2]), inner)
        for position in geometry.positions():
            padded[geometry.at(position)] += (gradient * weights[position]).sum(axis=-1)
        out = as_formatted(xp, geometry.inner(padded), windows)
        return xp.ascontiguousarray(out).astype(dtype, copy=False)

    return run


@kernel("DepthwiseConv2dNativeBackpropFilter")
def depthwise_backprop_filter(node: KernelNode) -> Kernel:
    xp, windows = node.xp, convolution_windows(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(images: Any, filter_sizes: Any, gradient: Any) -> Any:
        shape = sizes_of(filter_sizes, "filter_sizes", windows)
        check_rank(images, "input", windows)
        images = channels_last(xp, images, windows).astype(inner, copy=False)
        gradient = channels_last(xp, gradient, windows).astype(inner, copy=False)
        geometry = Geometry(windows, images.shape[1:3], shape[:2])
        _check(len(images), images.shape[3], shape, gradient, geometry)
        out = compiled_conv.depthwise_weights_gradient(images, gradient, geometry)
        if out is not None:
            return out.astype(dtype, copy=False)
        gradient = gradient.reshape(*gradient.shape[:3], *shape[2:])
        padded = geometry.padded(xp, images)
        out = xp.empty(shape, inner)
        for position in geometry.positions():
            seen = padded[geometry.at(position)]
            out[position] = xp.einsum("nhwc,nhwcm->cm", seen, gradient)
        return out.astype(dtype, copy=False)

    return run
