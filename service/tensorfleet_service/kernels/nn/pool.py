"""Kernels of max and average pooling of images and volumes, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet.ops.nn.windows import Windows
from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import MOST_AT_ONCE, thread_count
from tensorfleet_service.devices.native import native, takes
from tensorfleet_service.kernels.nn.conv import compute_dtype
from tensorfleet_service.kernels.nn.patches import (
    Geometry,
    as_formatted,
    channels_last,
    check_rank,
    node_windows,
    rank_of,
    sizes_of,
)
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import ints


def _check_images(attrs: Mapping[str, Any], windows: Windows) -> None:
    """Raises TensorFlow's errors for windows over images, which are more precise than those for volumes."""
    ksize, strides = attrs["ksize"], attrs["strides"]
    if len(ksize) != 4:
        raise errors.InvalidArgumentError(None, None, "Sliding window ksize field must specify 4 dimensions")
    if ksize[0] != 1 or strides[0] != 1:
        raise errors.UnimplementedError(None, None, "Pooling is not yet supported on the batch dimension.")
    if ksize[windows.channel_axis] != 1 or strides[windows.channel_axis] != 1:
        raise errors.UnimplementedError(
            None, None, "Pooling is not supported on the channel dimension: ksize and strides there must be 1"
        )
    if min(ksize) <= 0:
        raise errors.InvalidArgumentError(None, None, "Sliding window ksize must be greater than 0")


def window_size(attrs: Mapping[str, Any], windows: Windows) -> tuple[int, ...]:
    """(Depth,) height and width of the windows of a node with these attributes.

    Raises:
        InvalidArgumentError: not a positive number for each dimension.
        UnimplementedError: windows over the batch or over channels.
    """
    ksize, strides, rank = attrs["ksize"], attrs["strides"], rank_of(windows)
    if len(ksize) != rank or min(ksize) <= 0:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Sliding window ksize field must specify {rank} dimensions greater than 0, but got: {ksize}",
        )
    if any(numbers[a] != 1 for numbers in (ksize, strides) for a in (0, windows.channel_axis)):
        raise errors.UnimplementedError(
            None, None, "Pooling is not yet supported on the batch and channel dimensions."
        )
    return tuple(ksize[a] for a in windows.space_axes)


def _sliding(attrs: dict[str, Any]) -> tuple[Windows, tuple[int, ...]]:
    """The windows of a node with these attributes: how they slide, and how large they are."""
    windows = node_windows(attrs)
    if rank_of(windows) == 4:
        _check_images(attrs, windows)
    return windows, window_size(attrs, windows)


def lowest(dtype: Any) -> Any:
    """The value of padding: never the maximum of a window, as no window lies in the padding alone."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@kernel("MaxPool", "MaxPool3D")
def max_pool(node: KernelNode) -> Kernel:
    if node.op == "MaxPool" and _depth(node) > 1:
        return _max_over_depth(node)
    xp, (windows, window) = node.xp, _sliding(node.attrs)
    dtype = node.attrs["T"].as_numpy_dtype
    least = node.attrs["T"].min if rank_of(windows) == 4 else -np.inf

    def run(images: Any) -> Any:
        check_rank(images, "tensor_in", windows)
        images = channels_last(xp, images, windows)
        geometry = Geometry(windows, images.shape[1:-1], window)
        if rank_of(windows) == 4 and takes(images) and _is_short(geometry, images):
            pooled = empty((len(images), *geometry.out, images.shape[-1]), np.float32)
            native.max_pool(images, pooled, *_plane(geometry, images.shape), thread_count())
            return as_formatted(xp, pooled, windows)
        padded = geometry.padded(xp, images, lowest(images.dtype))
        first, *others = geometry.positions()
        out = _highest(xp, padded[geometry.at(first)], xp.full((), least, dtype))
        for position in others:
            out = _highest(xp, padded[geometry.at(position)], out)
        return as_formatted(xp, out, windows)

    return run


def _highest(xp: Any, values: Any, others: Any) -> Any:
    """The greater of two arrays; what is not a number counts as less than all numbers."""
    return xp.where(values > others, values, others)


def _depth(node: KernelNode) -> int:
    """The number of channels in a window over images."""
    ksize = node.attrs["ksize"]
    return int(ksize[node_windows(node.attrs).channel_axis]) if len(ksize) == 4 else 1


def _max_over_depth(node: KernelNode) -> Kernel:
    """Windows over neighbouring channels of one place."""
    windows, ksize, strides = node_windows(node.attrs), node.attrs["ksize"], node.attrs["strides"]
    depth = _depth(node)
    text = ""
    if any(ksize[axis] != 1 for axis in (0, *windows.space_axes)):
        text = "MaxPooling supports exactly one of pooling across depth or pooling across width/height."
    elif strides[windows.channel_axis] != depth:
        text = "Depthwise max pooling requires the depth window to equal the depth stride"
    if text:
        raise errors.UnimplementedError(None, None, text)
    xp = node.xp

    def run(images: Any) -> Any:
        check_rank(images, "tensor_in", windows)
        images = channels_last(xp, images, windows)[:, :: windows.strides[0], :: windows.strides[1]]
        channels = images.shape[-1]
        if channels % depth:
            raise errors.UnimplementedError(
                None,
                None,
                "Depthwise max pooling requires the depth window to evenly divide the input depth",
            )
        pooled = images.reshape(*images.shape[:-1], channels // depth, depth).max(-1)
        return as_formatted(xp, pooled, windows)

    return run


def _plane(geometry: Geometry, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The sizes of images and windows in the form of the compiled kernels."""
    before = tuple(pad for pad, _ in geometry.pad)
    return shape, geometry.out, geometry.window, geometry.strides, before


def _check_gradient(gradient: Any, like: Any) -> None:
    if gradient.shape != like.shape:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Expected grad shape to be {format_dims(like.shape)}, but got {format_dims(gradient.shape)}",
        )


def _greatest(xp: Any, geometry: Geometry, images: Any) -> Iterator[tuple[tuple[slice, ...], Any]]:
    """Each position of the windows, as an index, and which windows have their greatest element there.

    As in TensorFlow that is the first one, until another is greater: no later NaN is, and nothing is greater
    than a NaN that comes first.
    """
    padded = geometry.padded(xp, images, lowest(images.dtype))
    inside = None
    if geometry.is_padded:
        inside = xp.zeros((1, *geometry.size, 1), bool)
        geometry.inner(inside)[...] = True
    shape = (len(images), *geometry.out, images.shape[-1])
    highest, place = xp.zeros(shape, images.dtype), xp.full(shape, -1, np.int32)
    positions = [geometry.at(position) for position in geometry.positions()]
    for i, at in enumerate(positions):
        values = padded[at]
        chosen = place < 0
        if inside is not None:
            chosen &= inside[at]
        chosen |= (values > highest) & (place >= 0)
        highest, place = xp.where(chosen, values, highest), xp.where(chosen, np.int32(i), place)
    for i, at in enumerate(positions):
        yield at, place == i


def _close(xp: Any, geometry: Geometry, images: Any, pooled: Any) -> Iterator[tuple[tuple[slice, ...], Any]]:
    """Each position of the windows, as an index, and which windows have their maximum or nearly that there.

    Volumes' gradients go to all of these in TensorFlow, and to none where the maximum is infinite.
    """
    padded = geometry.padded(xp, images, lowest(images.dtype))
    limit = images.dtype.type(1e-5)
    for position in geometry.positions():
        at = geometry.at(position)
        yield at, abs(padded[at] - pooled) < limit


def _maxima(xp: Any, geometry: Geometry, images: Any, pooled: Any) -> Iterator[tuple[tuple[slice, ...], Any]]:
    """Each position of the windows, as an index, and which windows have their first maximum there."""
    padded = geometry.padded(xp, images, lowest(images.dtype))
    left = xp.ones(pooled.shape, bool)
    for position in geometry.positions():
        at = geometry.at(position)
        chosen = padded[at] == pooled
        chosen &= left
        left ^= chosen
        yield at, chosen


@kernel("MaxPoolGrad", "MaxPool3DGrad")
def max_pool_grad(node: KernelNode) -> Kernel:
    return max_pool_gradient(node.xp, node.attrs)


def max_pool_gradient(xp: Any, attrs: dict[str, Any], rectified: bool = False) -> Kernel:
    """The kernel of MaxPoolGrad and MaxPool3DGrad with these attributes.

    Args:
        rectified: whether what goes to a NaN is multiplied by zero, as by the gradient of a rectifier.
    """
    windows, window = _sliding(attrs)
    of_images = rank_of(windows) == 4

    def run(images: Any, pooled: Any, gradient: Any) -> Any:
        check_rank(images, "orig_input", windows)
        _check_gradient(gradient, pooled)
        images, pooled, gradient = (channels_last(xp, a, windows) for a in (images, pooled, gradient))
        geometry = Geometry(windows, images.shape[1:-1], window)
        expected = (len(images), *geometry.out, images.shape[-1])
        if pooled.shape != expected:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected orig_output shape to be {format_dims(expected)}, "
                f"but got {format_dims(pooled.shape)}",
            )
        if of_images and takes(images, gradient) and _is_short(geometry, images):
            own = empty(images.shape, np.float32)
            to_nan = native.max_pool_grad(
                images, own, gradient, *_plane(geometry, images.shape), thread_count()
            )
            if not (rectified and to_nan):
                return as_formatted(xp, own, windows)
        result = xp.zeros((len(images), *geometry.size, images.shape[-1]), gradient.dtype)
        nothing = xp.zeros((), gradient.dtype)
        places = _greatest(xp, geometry, images) if of_images else _close(xp, geometry, images, pooled)
        for at, chosen in places:
            result[at] += xp.where(chosen, gradient, nothing)  # an infinite gradient times 0 would be NaN
        inner = geometry.inner(result)
        if rectified:
            inner = xp.where(xp.isnan(images), inner * nothing, inner)  # NaN stays, as there
        return xp.ascontiguousarray(as_formatted(xp, inner, windows))

    return run


@kernel("MaxPoolGradGrad", "MaxPool3DGradGrad")
def max_pool_grad_grad(node: KernelNode) -> Kernel:
    xp, (windows, window) = node.xp, _sliding(node.attrs)

    def run(images: Any, pooled: Any, gradient: Any) -> Any:
        check_rank(images, "orig_input", windows)
        _check_gradient(gradient, images)
        images, pooled, gradient = (channels_last(xp, a, windows) for a in (images, pooled, gradient))
        geometry = Geometry(windows, images.shape[1:-1], window)
        given = geometry.padded(xp, gradient)
        result = xp.zeros(pooled.shape, gradient.dtype)
        for at, chosen in _maxima(xp, geometry, images, pooled):
            result += given[at] * chosen
        return xp.ascontiguousarray(as_formatted(xp, result, windows))

    return run


def _is_short(geometry: Geometry, images: Any) -> bool:
    """Whether the compiled kernels, which do not look at their step, are done soon."""
    work: int = len(images) * prod(geometry.out) * images.shape[-1] * prod(geometry.window)
    return work <= MOST_AT_ONCE


def _counts(xp: Any, geometry: Geometry, dtype: Any) -> Any:
    """The number of elements of the images, without padding, in each window: a number, or [1, *out, 1]."""
    if not geometry.is_padded:
        return prod(geometry.window)
    inside = xp.zeros((1, *geometry.size, 1), dtype)
    geometry.inner(inside)[...] = 1
    return sum(inside[geometry.at(position)] for position in geometry.positions())


@kernel("AvgPool", "AvgPool3D")
def avg_pool(node: KernelNode) -> Kernel:
    xp, (windows, window) = node.xp, _sliding(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(images: Any) -> Any:
        check_rank(images, "tensor_in", windows)
        images = channels_last(xp, images, windows).astype(inner, copy=False)
        geometry = Geometry(windows, images.shape[1:-1], window)
        if rank_of(windows) == 4 and takes(images) and _is_short(geometry, images):
            pooled = empty((len(images), *geometry.out, images.shape[-1]), np.float32)
            native.average_pool(images, pooled, *_plane(geometry, images.shape), thread_count())
            return as_formatted(xp, pooled, windows).astype(dtype, copy=False)
        padded = geometry.padded(xp, images)
        out = xp.zeros((len(images), *geometry.out, images.shape[-1]), inner)
        for position in geometry.positions():
            out += padded[geometry.at(position)]
        out /= _counts(xp, geometry, inner)
        return as_formatted(xp, out, windows).astype(dtype, copy=False)

    return run


@kernel("AvgPoolGrad", "AvgPool3DGrad")
def avg_pool_grad(node: KernelNode) -> Kernel:
    xp, (windows, window) = node.xp, _sliding(node.attrs)
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])

    def run(sizes: Any, gradient: Any) -> Any:
        if rank_of(windows) == 4 and sizes.shape != (4,):
            raise errors.InvalidArgumentError(
                None, None, "out_backprop and orig_input_shape must describe 4-dimensional images"
            )
        shape = sizes_of(sizes, "orig_input_shape", windows)
        check_rank(gradient, "out_backprop", windows)
        gradient = channels_last(xp, gradient, windows).astype(inner, copy=False)
        geometry = Geometry(windows, tuple(shape[a] for a in windows.space_axes), window)
        expected = (shape[0], *geometry.out, shape[windows.channel_axis])
        if gradient.shape != expected:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"out_backprop has shape {format_dims(gradient.shape)}, but orig_input_shape asks for "
                f"{format_dims(expected)}",
            )
        if rank_of(windows) == 4 and takes(gradient) and _is_short(geometry, gradient):
            own = empty((shape[0], *(shape[a] for a in windows.space_axes), expected[-1]), np.float32)
            native.average_pool_grad(gradient, own, *_plane(geometry, own.shape), thread_count())
            return as_formatted(xp, own, windows).astype(dtype, copy=False)
        share = gradient / _counts(xp, geometry, inner)
        result = xp.zeros((len(gradient), *geometry.size, gradient.shape[-1]), inner)
        for position in geometry.positions():
            result[geometry.at(position)] += share
        out = as_formatted(xp, geometry.inner(result), windows)
        return xp.ascontiguousarray(out).astype(dtype, copy=False)

    return run


_WITH_SIZES: dict[str, tuple[str, Callable[[KernelNode], Any]]] = {
    "MaxPoolV2": ("MaxPool", max_pool),
    "MaxPoolGradV2": ("MaxPoolGrad", max_pool_grad),
    "MaxPoolGradGradV2": ("MaxPoolGradGrad", max_pool_grad_grad),
}


@kernel(*_WITH_SIZES)
def pool_by_sizes(node: KernelNode) -> Kernel:
    """Pooling whose sizes of windows are the last two inputs."""
    op, factory = _WITH_SIZES[node.op]
    last: list[tuple[tuple[int, ...], tuple[int, ...], Any]] = []

    def run(*inputs: Any) -> Any:
        *values, ksize, strides = inputs
        if ksize.shape != (4,):
            raise errors.InvalidArgumentError(
                None, None, "Sliding window ksize field must specify 4 dimensions"
            )
        if strides.shape != (4,):
            raise errors.InvalidArgumentError(
                None, None, "Sliding window strides field must specify 4 dimensions"
            )
        sizes = tuple(ints(ksize)), tuple(ints(strides))
        found = last[0] if last else None
        if found is None or found[:2] != sizes:
            attrs = {**node.attrs, "ksize": list(sizes[0]), "strides": list(sizes[1])}
            found = (*sizes, factory(replace(node, op=op, attrs=attrs)))
            last[:] = [found]
        return found[2](*values)

    return run
