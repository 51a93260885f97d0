"""Kernels of max and average pooling of volumes, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet import errors
from tensorfleet.dims import format_dims
from tensorfleet.ops.nn_volumes import Volumes
from tensorfleet_service.kernels.nn_conv import compute_dtype
from tensorfleet_service.kernels.nn_volumes import (
    VolumeGeometry,
    check_rank_5,
    node_volumes,
    sizes_5,
    volumes_formatted,
    volumes_last,
)
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel


def _window(node: KernelNode, windows: Volumes) -> tuple[int, ...]:
    """Depth, height and width of the windows of a node.

    Raises:
        UnimplementedError: windows over the batch or over channels.
    """
    ksize, strides = node.attrs["ksize"], node.attrs["strides"]
    if len(ksize) != 5 or min(ksize) <= 0:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Sliding window ksize field must specify 5 dimensions greater than 0, but got: {ksize}",
        )
    if any(numbers[a] != 1 for numbers in (ksize, strides) for a in (0, windows.channel_axis)):
        raise errors.UnimplementedError(
            None, None, "Pooling is not yet supported on the batch and channel dimensions."
        )
    return tuple(ksize[a] for a in windows.space_axes)


@kernel("MaxPool3D")
def max_pool3d(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_volumes(node.attrs)
    window = _window(node, windows)

    def run(volumes: Any) -> Any:
        check_rank_5(volumes, "tensor_in")
        volumes = volumes_last(xp, volumes, windows)
        geometry = VolumeGeometry(windows, volumes.shape[1:4], window)
        padded = geometry.padded(xp, volumes, -np.inf)
        first, *others = geometry.positions()
        out = padded[geometry.at(first)].copy()
        for position in others:
            xp.maximum(out, padded[geometry.at(position)], out=out)
        return volumes_formatted(xp, out, windows)

    return run


@kernel("MaxPool3DGrad")
def max_pool3d_grad(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_volumes(node.attrs)
    window = _window(node, windows)

    def run(volumes: Any, pooled: Any, gradient: Any) -> Any:
        check_rank_5(volumes, "orig_input")
        if pooled.shape != gradient.shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected grad shape to be {format_dims(pooled.shape)}, but got "
                f"{format_dims(gradient.shape)}",
            )
        volumes, pooled, gradient = (volumes_last(xp, a, windows) for a in (volumes, pooled, gradient))
        geometry = VolumeGeometry(windows, volumes.shape[1:4], window)
        padded = geometry.padded(xp, volumes, -np.inf)
        result = xp.zeros(padded.shape, gradient.dtype)
        # The first maximum of a window, by planes and rows, gets all of its gradient.
        left = xp.ones(gradient.shape, bool)
        for position in geometry.positions():
            at = geometry.at(position)
            chosen = padded[at] == pooled
            chosen &= left
            left ^= chosen
            result[at] += gradient * chosen
        return xp.ascontiguousarray(volumes_formatted(xp, geometry.inner(result), windows))

    return run


def _divided(xp: Any, sums: Any, geometry: VolumeGeometry) -> Any:
    """Sums of windows by how many elements, padding aside, each window sees."""
    if not geometry.is_padded:
        return sums / sums.dtype.type(np.prod(geometry.window))
    ones = xp.ones(
        (1, *(n - sum(pair) for n, pair in zip(geometry.size, geometry.pad, strict=True)), 1), sums.dtype
    )
    inside = geometry.padded(xp, ones)
    return sums / sum(inside[geometry.at(position)] for position in geometry.positions())


@kernel("AvgPool3D")
def avg_pool3d(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_volumes(node.attrs)
    window = _window(node, windows)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(volumes: Any) -> Any:
        check_rank_5(volumes, "tensor_in")
        volumes = volumes_last(xp, volumes, windows).astype(inner, copy=False)
        geometry = VolumeGeometry(windows, volumes.shape[1:4], window)
        padded = geometry.padded(xp, volumes)
        out = xp.zeros((len(volumes), *geometry.out, volumes.shape[4]), inner)
        for position in geometry.positions():
            out += padded[geometry.at(position)]
        return volumes_formatted(xp, _divided(xp, out, geometry), windows).astype(dtype, copy=False)

    return run


@kernel("AvgPool3DGrad")
def avg_pool3d_grad(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_volumes(node.attrs)
    window = _window(node, windows)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(sizes: Any, gradient: Any) -> Any:
        shape = sizes_5(sizes, "orig_input_shape")
        check_rank_5(gradient, "out_backprop")
        gradient = volumes_last(xp, gradient, windows).astype(inner, copy=False)
        geometry = VolumeGeometry(windows, tuple(shape[a] for a in windows.space_axes), window)
        share = _divided(xp, gradient, geometry)
        result = xp.zeros((len(gradient), *geometry.size, gradient.shape[4]), inner)
        for position in geometry.positions():
            result[geometry.at(position)] += share
        out = volumes_formatted(xp, geometry.inner(result), windows)
        return xp.ascontiguousarray(out).astype(dtype, copy=False)

    return run
