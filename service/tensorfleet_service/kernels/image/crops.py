"""Crops of images at boxes, resized: CropAndResize and its gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.image.common import Array, check_memory, check_rank, positive_size
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import host_kernel, invalid, shape_text
from tensorfleet_service.threads import unlocked

_F = np.float32


@dataclass(slots=True)
class Axis:
    """Positions of the pixels of all boxes along one axis of their images: [boxes, crop size] each."""

    positions: Array
    inside: Array
    lower: Array
    upper: Array
    share: Array
    """The weight of the upper pixel."""
    nearest: Array


def _axis(begin: Array, end: Array, size: int, crop: int) -> Axis:
    begin, end, last = begin[:, None], end[:, None], _F(size - 1)
    if crop > 1:
        scale = (end - begin) * last / _F(crop - 1)
        positions = begin * last + np.arange(crop, dtype=_F) * scale
    else:
        positions = _F(0.5) * (begin + end) * last
    # False for NaN as well.
    inside = (positions >= 0) & (positions <= last)
    safe = np.where(inside, positions, _F(0))
    floor = np.floor(safe)
    nearest = np.floor(safe.astype(np.float64) + 0.5).astype(np.intp)
    lower, upper = floor.astype(np.intp), np.ceil(safe).astype(np.intp)
    return Axis(positions, inside, lower, upper, safe - floor, nearest)


def _axes(boxes: Array, image_size: tuple[int, int], crop: tuple[int, int]) -> tuple[Axis, Axis]:
    y1, x1, y2, x2 = boxes.T
    return _axis(y1, y2, image_size[0], crop[0]), _axis(x1, x2, image_size[1], crop[1])


def _check(boxes: Array, indices: Array, batch: int) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise invalid(f"boxes must have shape [boxes, 4], got {shape_text(boxes.shape)}")
    if indices.shape != boxes.shape[:1]:
        raise invalid(f"box_index has incompatible shape {shape_text(indices.shape)} with {len(boxes)} boxes")
    if indices.size and (indices.min() < 0 or indices.max() >= batch):
        raise errors.OutOfRangeError(None, None, "box_index has values outside [0, batch_size)")


def _check_image(image: Array) -> None:
    check_rank(image, 4, "input image")
    if 0 in image.shape[1:3]:
        raise invalid("image dimensions must be positive")


def _at(image: Array, indices: Array, rows: Array, columns: Array) -> Array:
    """The pixels [boxes, rows, columns, channels] as float32."""
    found = image[indices[:, None, None], rows[:, :, None], columns[:, None, :]]
    return found.astype(_F, copy=False)


@host_kernel("CropAndResize")
def crop_and_resize(node: KernelNode) -> Kernel:
    outside, is_nearest = _F(node.attrs["extrapolation_value"]), node.attrs["method"] == b"nearest"

    def run(image: Array, boxes: Array, indices: Array, crop_size: Array) -> Array:
        _check_image(image)
        _check(boxes, indices, len(image))
        size = positive_size(crop_size, "crop_size")
        check_memory((len(boxes), *size, image.shape[3]), _F)
        y, x = _axes(boxes, image.shape[1:3], size)
        if is_nearest:
            crops = _at(image, indices, y.nearest, x.nearest)
        else:
            x_share, y_share = x.share[:, None, :, None], y.share[:, :, None, None]
            top = _linear(image, indices, y.lower, x, x_share)
            crops = top + (_linear(image, indices, y.upper, x, x_share) - top) * y_share
        inside = y.inside[:, :, None] & x.inside[:, None, :]
        return np.where(inside[..., None], crops, outside)

    return run


def _linear(image: Array, indices: Array, rows: Array, x: Axis, share: Array) -> Array:
    left, right = _at(image, indices, rows, x.lower), _at(image, indices, rows, x.upper)
    made: Array = left + (right - left) * share
    return made


@host_kernel("CropAndResizeGradImage")
def crop_and_resize_grad_image(node: KernelNode) -> Kernel:
    wanted, is_nearest = node.attrs["T"].as_numpy_dtype, node.attrs["method"] == b"nearest"

    def run(grads: Array, boxes: Array, indices: Array, image_size: Array) -> Array:
        check_rank(grads, 4, "grads image")
        if image_size.shape != (4,):
            raise invalid(f"image_size must have 4 elements, got shape {shape_text(image_size.shape)}")
        shape = tuple(map(int, image_size))
        if min(shape[1:3]) <= 0:
            raise invalid("image dimensions must be positive")
        _check(boxes, indices, shape[0])
        if len(grads) != len(boxes) or grads.shape[3] != shape[3]:
            raise invalid(f"grads have shape {shape_text(grads.shape)}, for {len(boxes)} boxes")
        y, x = _axes(boxes, (shape[1], shape[2]), (grads.shape[1], grads.shape[2]))
        result = np.zeros(shape, _F)
        inside = y.inside[:, :, None] & x.inside[:, None, :]
        grads = np.where(inside[..., None], grads, _F(0))

        def add(rows: Array, columns: Array, values: Array) -> None:
            unlocked.at(
                np.add, result, (indices[:, None, None], rows[:, :, None], columns[:, None, :]), values
            )

        if is_nearest:
            add(y.nearest, x.nearest, grads)
            return result.astype(wanted, copy=False)
        for rows, y_share in ((y.lower, 1 - y.share), (y.upper, y.share)):
            by_row = grads * y_share[:, :, None, None]
            for columns, x_share in ((x.lower, 1 - x.share), (x.upper, x.share)):
                add(rows, columns, by_row * x_share[:, None, :, None])
        return result.astype(wanted, copy=False)

    return run


@host_kernel("CropAndResizeGradBoxes")
def crop_and_resize_grad_boxes(node: KernelNode) -> Kernel:
    def run(grads: Array, image: Array, boxes: Array, indices: Array) -> Array:
        check_rank(grads, 4, "grads image")
        _check_image(image)
        _check(boxes, indices, len(image))
        size, crop = image.shape[1:3], grads.shape[1:3]
        y, x = _axes(boxes, size, crop)
        x_share, y_share = x.share[:, None, :, None], y.share[:, :, None, None]
        top_left, top_right, bottom_left, bottom_right = (
            _at(image, indices, rows, columns)
            for rows in (y.lower, y.upper)
            for columns in (x.lower, x.upper)
        )
        by_y = (1 - x_share) * (bottom_left - top_left) + x_share * (bottom_right - top_right)
        by_x = (1 - y_share) * (top_right - top_left) + y_share * (bottom_right - bottom_left)
        inside = y.inside[:, :, None] & x.inside[:, None, :]
        weights = np.where(inside[..., None], grads, _F(0))
        y_grads, x_grads = (weights * by_y).sum(axis=(2, 3)), (weights * by_x).sum(axis=(1, 3))
        y1, y2 = _ends(y_grads, size[0], crop[0])
        x1, x2 = _ends(x_grads, size[1], crop[1])
        return np.stack([y1, x1, y2, x2], axis=1).astype(_F, copy=False)

    return run


def _ends(grads: Array, size: int, crop: int) -> tuple[Any, Any]:
    """The gradients of a box's two ends, from those of its pixels' positions [boxes, crop size]."""
    last = _F(size - 1)
    if crop == 1:
        half = grads[:, 0] * _F(0.5) * last
        return half, half
    by_end = np.arange(crop, dtype=_F) * (last / _F(crop - 1))
    return (grads * (last - by_end)).sum(axis=1), (grads * by_end).sum(axis=1)
