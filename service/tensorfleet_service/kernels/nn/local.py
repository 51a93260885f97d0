"""Kernels of local response normalization, and of max pooling that says where the maxima were."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices import native
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.kernels.math.compiled import Step, elementwise
from tensorfleet_service.kernels.nn.patches import Geometry, check_rank, node_windows
from tensorfleet_service.kernels.nn.pool import lowest, window_size
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

_MAX_REACH = 64
"""The widest sums that the compiled kernels make: they do not look whether the step has ended."""


def _near(xp: Any, values: Any, radius: int) -> Any:
    """The sum, for each channel, over the channels at most `radius` away."""
    depth = values.shape[-1]
    padded = xp.zeros((*values.shape[:-1], depth + 2 * radius), values.dtype)
    padded[..., radius : radius + depth] = values
    total = padded[..., :depth].copy()
    for offset in range(1, 2 * radius + 1):
        check_step()
        total += padded[..., offset : offset + depth]
    return total


def _settings(node: KernelNode) -> tuple[int, Any, Any, Any]:
    attrs = node.attrs
    radius = attrs["depth_radius"]
    if radius < 0:
        raise errors.InvalidArgumentError(None, None, f"depth_radius = {radius} must not be negative")
    return radius, *(np.float32(attrs[name]) for name in ("bias", "alpha", "beta"))


def _near_squares(x: Any, reach: int) -> Any:
    """`_near` of the squares, by the compiled kernels."""
    out, depth = empty(x.shape, np.float32), x.shape[3]
    native.native.near_squares(x, out, x.size // depth, depth, reach, thread_count())
    return out


@kernel("LRN", lasting=True)
def lrn(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0].np
    radius, bias, alpha, beta = _settings(node)
    # With its own logarithm and exponential in place of a power, of numbers that are positive.
    steps: list[Step] = [
        ("multiply", "t0", ("x1", repr(float(alpha)))),
        ("add", "t0", ("t0", repr(float(bias)))),
        ("log", "t0", ("t0",)),
        ("multiply", "t0", ("t0", repr(-float(beta)))),
        ("exp", "t0", ("t0",)),
        ("multiply", "out", ("x0", "t0")),
    ]
    compiled = elementwise(steps, 2, 1)

    def run(images: Any) -> Any:
        if images.ndim != 4:
            raise errors.InvalidArgumentError(None, None, "in must be 4-dimensional")
        x = images.astype(np.float32, copy=False)
        reach = min(radius, x.shape[3])
        if compiled is not None and reach <= _MAX_REACH and native.takes(x) and bias > 0 and alpha >= 0:
            return compiled(x, _near_squares(x, reach)).astype(dtype, copy=False)
        norm = bias + alpha * _near(xp, xp.square(x), reach)
        return (x * norm**-beta).astype(dtype, copy=False)

    return run


@kernel("LRNGrad", lasting=True)
def lrn_grad(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0].np
    radius, bias, alpha, beta = _settings(node)

    def run(gradient: Any, images: Any, output: Any) -> Any:
        if not gradient.shape == images.shape == output.shape or images.ndim != 4:
            raise errors.InvalidArgumentError(
                None,
                None,
                "input_grads, input_image, and out_image should be 4-dimensional and have the same shape, "
                "got " + ", ".join(format_dims(a.shape) for a in (gradient, images, output)),
            )
        x, y, g = (a.astype(np.float32, copy=False) for a in (images, output, gradient))
        reach = min(radius, x.shape[3])
        norm = bias + alpha * _near(xp, xp.square(x), reach)
        # Channel i is in the sums of all channels near it.
        others = _near(xp, g * y / norm, reach)
        return (g * norm**-beta - 2 * alpha * beta * x * others).astype(dtype, copy=False)

    return run


@kernel("MaxPoolWithArgmax")
def max_pool_with_argmax(node: KernelNode) -> Kernel:
    xp, windows = node.xp, node_windows(node.attrs)
    window = window_size(node.attrs, windows)
    counts_batch, places_dtype = node.attrs["include_batch_in_index"], node.output_types[1].np

    def run(images: Any) -> Any:
        check_rank(images, "tensor_in", windows)
        batch, high, wide, deep = images.shape
        geometry = Geometry(windows, images.shape[1:3], window)
        fill = lowest(images.dtype)
        padded = geometry.padded(xp, images, fill)
        (top, _), (left, _) = geometry.pad
        rows = xp.arange(geometry.out[0])[:, None] * geometry.strides[0] - top
        columns = xp.arange(geometry.out[1])[None, :] * geometry.strides[1] - left
        best = xp.full((batch, *geometry.out, deep), fill, images.dtype)
        places = xp.full(best.shape, -1, np.int64)
        for row, column in geometry.positions():
            seen = padded[geometry.at((row, column))]
            y, x = rows + row, columns + column
            inside = ((y >= 0) & (y < high) & (x >= 0) & (x < wide))[None, :, :, None]
            better = inside & ((seen > best) | (places < 0))
            place = (y * wide + x)[None, :, :, None] * deep + xp.arange(deep)
            best = xp.where(better, seen, best)
            places = xp.where(better, place, places)
        if counts_batch:
            places += xp.arange(batch)[:, None, None, None] * (high * wide * deep)
        return best, places.astype(places_dtype)

    return run


@kernel("MaxPoolGradWithArgmax")
def max_pool_grad_with_argmax(node: KernelNode) -> Kernel:
    xp, windows, counts_batch = node.xp, node_windows(node.attrs), node.attrs["include_batch_in_index"]

    def run(images: Any, gradient: Any, places: Any) -> Any:
        check_rank(images, "orig_input", windows)
        if gradient.shape != places.shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected argmax shape to be {format_dims(gradient.shape)}, but got "
                f"{format_dims(places.shape)}",
            )
        flat = places.reshape(-1).astype(np.int64)
        if not counts_batch and flat.size:
            image = images.size // len(images)
            flat = (flat.reshape(len(images), -1) + xp.arange(len(images))[:, None] * image).reshape(-1)
        if flat.size and (flat.min() < 0 or flat.max() >= images.size):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Invalid input index: argmax must be within the {images.size} elements of the input",
            )
        result = xp.zeros(images.size, gradient.dtype)
        unlocked.at(xp.add, result, flat, gradient.reshape(-1))
        return result.reshape(images.shape)

    return run
