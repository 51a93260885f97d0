"""Resizing of images: ResizeBilinear, ResizeBicubic, ResizeNearestNeighbor, ResizeArea, and gradients.

All methods treat rows and columns separately. Positions and weights are computed in float32 by TensorFlow's
steps, so the same pixels are read, and results agree to the last bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blas import batch_product
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.devices.native import native, takes
from tensorfleet_service.kernels.image.common import Array, check_memory, check_rank, positive_size
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import host_kernel, invalid
from tensorfleet_service.threads import unlocked

_F = np.float32
_ROWS, _COLUMNS = 1, 2


@dataclass(slots=True)
class Taps:
    """The pixels that make up each new one along an axis, and their weights: [new size] each."""

    places: list[Array]
    weights: list[Array]


@dataclass(slots=True)
class Grid:
    """The positions of the pixels of a resized image among those of the image."""

    align_corners: bool
    half_pixel_centers: bool

    def scale(self, size: int, new_size: int) -> np.float32:
        if self.align_corners and new_size > 1:
            return _F(size - 1) / _F(new_size - 1)
        return _F(size) / _F(new_size)

    def positions(self, size: int, new_size: int, shift: bool = True) -> Array:
        """The positions of new pixels; `shift` moves them by half a pixel, from corners to centres."""
        scale, numbers = self.scale(size, new_size), np.arange(new_size, dtype=_F)
        if not self.half_pixel_centers:
            return numbers * scale
        positions: Array = (numbers + _F(0.5)) * scale
        return positions - _F(0.5) if shift else positions


def _grid(node: KernelNode) -> Grid:
    made = Grid(node.attrs["align_corners"], node.attrs.get("half_pixel_centers", False))
    if made.align_corners and made.half_pixel_centers:
        raise invalid("If half_pixel_centers is True, align_corners must be False.")
    return made


def linear_taps(grid: Grid, size: int, new_size: int) -> Taps:
    positions = grid.positions(size, new_size)
    floor = np.floor(positions)
    lower = np.maximum(floor, 0).astype(np.intp)
    upper = np.minimum(np.ceil(positions), size - 1).astype(np.intp)
    share = positions - floor
    return Taps([lower, upper], [_F(1) - share, share])


_STEPS = 1024
"""Number of positions between two pixels in the table of cubic weights."""


def _cubic_table(a: float) -> Array:
    """The weights of pixels at a distance from 0 to 1, and from 1 to 2: [steps + 1, 2]."""
    a32 = _F(a)
    near = np.arange(_STEPS + 1, dtype=np.float64) / _STEPS
    near = near.astype(_F)
    far = near + _F(1)
    return np.stack(
        [
            ((a32 + 2) * near - (a32 + 3)) * near * near + 1,
            ((a32 * far - 5 * a32) * far + 8 * a32) * far - 4 * a32,
        ],
        axis=1,
    ).astype(_F)


_CUBIC = {False: _cubic_table(-0.75), True: _cubic_table(-0.5)}


def cubic_taps(grid: Grid, size: int, new_size: int) -> Taps:
    positions = grid.positions(size, new_size)
    floor = np.floor(positions)
    step = np.rint((positions - floor) * _F(_STEPS)).astype(np.intp)
    table = _CUBIC[grid.half_pixel_centers]
    weights = [table[step, 1], table[step, 0], table[_STEPS - step, 0], table[_STEPS - step, 1]]
    wanted = [floor.astype(np.intp) + offset for offset in (-1, 0, 1, 2)]
    places = [place.clip(0, size - 1) for place in wanted]
    if grid.half_pixel_centers:
        # Pixels outside of the image have no weight in this mode; in the other, the edge is repeated.
        weights = [np.where(a == b, w, _F(0)) for a, b, w in zip(places, wanted, weights, strict=True)]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        large = np.abs(total) >= _F(1000) * np.finfo(_F).tiny
        one_over = np.where(large, _F(1) / np.where(large, total, _F(1)), _F(1))
        weights = [w * one_over for w in weights]
    return Taps(places, weights)


def nearest_places(grid: Grid, size: int, new_size: int) -> Array:
    """The index of the pixel that each new one copies."""
    positions = grid.positions(size, new_size, shift=False)
    # Halves are rounded up; in float64, where adding a half is exact.
    whole = np.floor(positions.astype(np.float64) + 0.5) if grid.align_corners else np.floor(positions)
    return np.clip(whole, 0, size - 1).astype(np.intp)


def area_weights(grid: Grid, size: int, new_size: int) -> Array:
    """The share of each pixel that each new one covers: [new size, size]; the last pixel is repeated."""
    scale = grid.scale(size, new_size)
    begin, end = (np.arange(n, n + new_size, dtype=_F) * scale for n in (0, 1))
    extra = max(0, int(np.ceil(end[-1])) - size)
    edges = np.arange(size + extra, dtype=_F)
    covered = np.minimum(end[:, None], edges + _F(1)) - np.maximum(begin[:, None], edges)
    weights: Array = np.maximum(covered, _F(0))
    if extra:
        weights[:, size - 1] += weights[:, size:].sum(axis=1)
        weights = weights[:, :size]
    return weights / scale


def _shaped(weights: Array, axis: int) -> Array:
    return weights.reshape([-1 if i == axis else 1 for i in range(4)])


def _mixed(images: Array, taps: Taps, axis: int) -> Array:
    """The weighted sums along an axis."""
    parts = [
        images.take(places, axis) * _shaped(weights, axis)
        for places, weights in zip(taps.places, taps.weights, strict=True)
    ]
    result = parts[0]
    for part in parts[1:]:
        result += part
    return result


def _spread(grads: Array, taps: Taps, axis: int, size: int) -> Array:
    """The transpose of `_mixed`: each new pixel's gradient, added to the pixels that it was made of."""
    shape = list(grads.shape)
    shape[axis] = size
    result = np.zeros(shape, grads.dtype)
    for places, weights in zip(taps.places, taps.weights, strict=True):
        add_at_places(result, places, grads * _shaped(weights.astype(grads.dtype), axis), axis)
    return result


def add_at_places(result: Array, places: Array, values: Array, axis: int) -> None:
    """Adds `values` to `result` at places along an axis that never descend."""
    if not places.size:
        return
    begin = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    where: list[Any] = [slice(None)] * result.ndim
    where[axis] = places[begin]
    sums = unlocked.reduceat(np.add, np.moveaxis(values, axis, 0), begin, result.dtype)
    result[tuple(where)] += np.moveaxis(sums, 0, axis)


def _checked(images: Array, size: Array) -> tuple[int, int]:
    check_rank(images, 4, "input")
    wanted = positive_size(size)
    if 0 in images.shape[1:3]:
        raise invalid(f"input image must be of non-zero size, got {images.shape[1]} x {images.shape[2]}")
    check_memory((len(images), *wanted, images.shape[3]), _F)
    return wanted


def _linear(images: Array, taps: Taps, axis: int) -> Array:
    lower, upper = (images.take(places, axis) for places in taps.places)
    upper -= lower
    upper *= _shaped(taps.weights[1], axis)
    upper += lower
    return upper


def _resize_compiled(images: Array, grid: Grid, height: int, width: int) -> Array:
    count, old_height, old_width, depth = images.shape
    rows, columns = linear_taps(grid, old_height, height), linear_taps(grid, old_width, width)
    out = empty((count, height, width, depth), _F)
    native.resize_linear(
        images,
        out,
        images.shape,
        (height, width),
        np.stack(rows.places),
        rows.weights[1],
        np.stack(columns.places),
        columns.weights[1],
        thread_count(),
    )
    return out


@host_kernel("ResizeBilinear")
def resize_bilinear(node: KernelNode) -> Kernel:
    grid = _grid(node)

    def run(images: Array, size: Array) -> Array:
        height, width = _checked(images, size)
        floats = images.astype(_F, copy=False)
        if takes(floats):
            return _resize_compiled(floats, grid, height, width)
        # Beginning with the axis that shrinks would be cheaper, but would not give the same bits.
        rows = _linear(floats, linear_taps(grid, images.shape[2], width), _COLUMNS)
        return _linear(rows, linear_taps(grid, images.shape[1], height), _ROWS)

    return run


@host_kernel("ResizeBicubic")
def resize_bicubic(node: KernelNode) -> Kernel:
    grid = _grid(node)

    def run(images: Array, size: Array) -> Array:
        height, width = _checked(images, size)
        floats = images.astype(_F, copy=False)
        columns = _mixed(floats, cubic_taps(grid, images.shape[1], height), _ROWS)
        return _mixed(columns, cubic_taps(grid, images.shape[2], width), _COLUMNS)

    return run


def _covered_product(weights: Array, values: Array) -> Array:
    """`weights @ values`, in which NaN and infinity count only where they have a weight."""
    result = np.empty((*values.shape[:-2], len(weights), values.shape[-1]), values.dtype)
    for number, row in enumerate(weights):
        covered = np.flatnonzero(row)
        result[..., number, :] = np.einsum("p,...pc->...c", row[covered], values[..., covered, :])
    return result


@host_kernel("ResizeArea")
def resize_area(node: KernelNode) -> Kernel:
    grid = _grid(node)

    def run(images: Array, size: Array) -> Array:
        height, width = _checked(images, size)
        batch, rows, columns, channels = images.shape
        floats = images.astype(_F, copy=False)
        weighted = batch_product if np.isfinite(floats).all() else _covered_product
        by_rows = weighted(area_weights(grid, rows, height), floats.reshape(batch, rows, columns * channels))
        by_rows = by_rows.reshape(batch, height, columns, channels)
        return np.ascontiguousarray(weighted(area_weights(grid, columns, width), by_rows))

    return run


@host_kernel("ResizeNearestNeighbor")
def resize_nearest(node: KernelNode) -> Kernel:
    grid = _grid(node)

    def run(images: Array, size: Array) -> Array:
        height, width = _checked(images, size)
        rows = images.take(nearest_places(grid, images.shape[1], height), _ROWS)
        return rows.take(nearest_places(grid, images.shape[2], width), _COLUMNS)

    return run


@host_kernel("ResizeNearestNeighborGrad")
def resize_nearest_grad(node: KernelNode) -> Kernel:
    grid = _grid(node)

    def run(grads: Array, size: Array) -> Array:
        height, width = _checked(grads, size)
        batch, rows, columns, channels = grads.shape
        by_rows = np.zeros((batch, height, columns, channels), grads.dtype)
        add_at_places(by_rows, nearest_places(grid, height, rows), grads, _ROWS)
        result = np.zeros((batch, height, width, channels), grads.dtype)
        add_at_places(result, nearest_places(grid, width, columns), by_rows, _COLUMNS)
        return result

    return run


def _interpolated_grad(node: KernelNode, taps: Callable[[Grid, int, int], Taps]) -> Kernel:
    grid = _grid(node)
    wanted = node.input_types[1].base.as_numpy_dtype

    def run(grads: Array, images: Array) -> Array:
        check_rank(grads, 4, "grads")
        check_rank(images, 4, "original_image")
        height, width = images.shape[1:3]
        by_rows = _spread(grads, taps(grid, height, grads.shape[1]), _ROWS, height)
        return _spread(by_rows, taps(grid, width, grads.shape[2]), _COLUMNS, width).astype(wanted, copy=False)

    return run


@host_kernel("ResizeBilinearGrad")
def resize_bilinear_grad(node: KernelNode) -> Kernel:
    return _interpolated_grad(node, linear_taps)


@host_kernel("ResizeBicubicGrad")
def resize_bicubic_grad(node: KernelNode) -> Kernel:
    return _interpolated_grad(node, cubic_taps)
