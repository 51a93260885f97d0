"""Kernels of three-dimensional convolution, a matrix product per position of the window."""

from __future__ import annotations

from typing import Any

from tensorfleet import errors
from tensorfleet.dims import format_dims
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


def _check_depth(channels: int, weights: tuple[int, ...]) -> None:
    if channels != weights[3]:
        raise errors.InvalidArgumentError(
            None, None, f"Input depth must be equal to filter depth: {channels} vs {weights[3]}"
        )


def _check_gradient(gradient: Any, geometry: VolumeGeometry, filters: int) -> None:
    if gradient.shape[1:] != (*geometry.out, filters):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Conv3D gradient: out_backprop has windows and filters {format_dims(gradient.shape[1:])}, "
            f"expected {format_dims((*geometry.out, filters))}",
        )


@kernel("Conv3D")
def conv3d(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_volumes(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(volumes: Any, weights: Any) -> Any:
        check_rank_5(volumes, "input")
        check_rank_5(weights, "filter")
        volumes = volumes_last(xp, volumes, windows).astype(inner, copy=False)
        weights = weights.astype(inner, copy=False)
        _check_depth(volumes.shape[4], weights.shape)
        geometry = VolumeGeometry(windows, volumes.shape[1:4], weights.shape[:3])
        padded = geometry.padded(xp, volumes)
        channels, filters = weights.shape[3:]
        total = xp.zeros((len(volumes), *geometry.out, filters), inner)
        rows = total.reshape(-1, filters)
        for position in geometry.positions():
            rows += padded[geometry.at(position)].reshape(-1, channels) @ weights[position]
        return volumes_formatted(xp, total, windows).astype(dtype, copy=False)

    return run


@kernel("Conv3DBackpropInputV2")
def conv3d_backprop_input(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_volumes(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(input_sizes: Any, weights: Any, gradient: Any) -> Any:
        sizes = sizes_5(input_sizes, "input_sizes")
        check_rank_5(weights, "filter")
        weights = weights.astype(inner, copy=False)
        gradient = volumes_last(xp, gradient, windows).astype(inner, copy=False)
        space, channels = tuple(sizes[a] for a in windows.space_axes), sizes[windows.channel_axis]
        _check_depth(channels, weights.shape)
        geometry = VolumeGeometry(windows, space, weights.shape[:3])
        _check_gradient(gradient, geometry, weights.shape[4])
        rows = gradient.reshape(-1, gradient.shape[4])
        padded = xp.zeros((len(gradient), *geometry.size, channels), inner)
        for position in geometry.positions():
            part = rows @ weights[position].T
            padded[geometry.at(position)] += part.reshape(*gradient.shape[:4], channels)
        out = volumes_formatted(xp, geometry.inner(padded), windows)
        return xp.ascontiguousarray(out).astype(dtype, copy=False)

    return run


@kernel("Conv3DBackpropFilterV2")
def conv3d_backprop_filter(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_volumes(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(volumes: Any, filter_sizes: Any, gradient: Any) -> Any:
        shape = sizes_5(filter_sizes, "filter_sizes")
        check_rank_5(volumes, "input")
        volumes = volumes_last(xp, volumes, windows).astype(inner, copy=False)
        gradient = volumes_last(xp, gradient, windows).astype(inner, copy=False)
        _check_depth(volumes.shape[4], shape)
        geometry = VolumeGeometry(windows, volumes.shape[1:4], shape[:3])
        _check_gradient(gradient, geometry, shape[4])
        padded = geometry.padded(xp, volumes)
        rows = gradient.reshape(-1, shape[4])
        out = xp.empty(shape, inner)
        for position in geometry.positions():
            out[position] = padded[geometry.at(position)].reshape(-1, shape[3]).T @ rows
        return out.astype(dtype, copy=False)

    return run
