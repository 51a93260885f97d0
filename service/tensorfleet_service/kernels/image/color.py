"""Colours: RGBToHSV, HSVToRGB, and the adjustments of contrast, hue and saturation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.image.common import Array
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import host_kernel, invalid, shape_text


def _check_colours(images: Any) -> None:
    if images.ndim < 1 or images.shape[-1] != 3:
        raise invalid(f"input must have 3 channels, got shape {shape_text(images.shape)}")


def _check_images(images: Any, colours: bool = True) -> None:
    if images.ndim < 3:
        raise invalid(f"input must be at least 3-D, got shape {shape_text(images.shape)}")
    if colours:
        _check_colours(images)


def rgb_to_hsv(images: Array) -> Array:
    """Hue, saturation and value, from 0 to 1, of floats from 0 to 1."""
    kind = images.dtype.type
    red, green, blue = (images[..., i] for i in range(3))
    value = images.max(axis=-1)
    spread = value - images.min(axis=-1)
    saturation = np.where(value > 0, spread / np.where(value > 0, value, kind(1)), kind(0))
    some = spread > 0
    sixth = kind(1) / (kind(6) * np.where(some, spread, kind(1)))
    hue = np.where(
        red == value,
        sixth * (green - blue),
        np.where(green == value, sixth * (blue - red) + kind(2 / 6), sixth * (red - green) + kind(4 / 6)),
    )
    hue = np.where(some, hue, kind(0))
    hue = np.where(hue < 0, hue + kind(1), hue)
    return np.stack([hue, saturation, value], axis=-1)


def hsv_to_rgb(images: Array) -> Array:
    kind = images.dtype.type
    hue, saturation, value = (images[..., i] for i in range(3))
    sixths = hue * kind(6)
    zero, one, two = kind(0), kind(1), kind(2)
    channels = (
        (np.abs(sixths - kind(3)) - one),
        (two - np.abs(sixths - two)),
        (two - np.abs(sixths - kind(4))),
    )
    grey = one - saturation
    return np.stack([(grey + saturation * c.clip(zero, one)) * value for c in channels], axis=-1)


@host_kernel("RGBToHSV")
def to_hsv(node: KernelNode) -> Kernel:
    def run(images: Array) -> Array:
        _check_colours(images)
        return rgb_to_hsv(images)

    return run


@host_kernel("HSVToRGB")
def to_rgb(node: KernelNode) -> Kernel:
    def run(images: Array) -> Array:
        _check_colours(images)
        return hsv_to_rgb(images)

    return run


def _number(value: Any, name: str) -> np.float32:
    if value.ndim:
        raise invalid(f"{name} must be scalar: {shape_text(value.shape)}")
    return np.float32(value)


@host_kernel("AdjustHue")
def adjust_hue(node: KernelNode) -> Kernel:
    def run(images: Array, delta: Array) -> Array:
        _check_images(images)
        turned = rgb_to_hsv(images.astype(np.float32, copy=False))
        hue = turned[..., 0] + _number(delta, "delta")
        turned[..., 0] = hue - np.floor(hue)
        return hsv_to_rgb(turned).astype(images.dtype, copy=False)

    return run


@host_kernel("AdjustSaturation")
def adjust_saturation(node: KernelNode) -> Kernel:
    def run(images: Array, scale: Array) -> Array:
        _check_images(images)
        made = rgb_to_hsv(images.astype(np.float32, copy=False))
        made[..., 1] = (made[..., 1] * _number(scale, "scale")).clip(0, 1)
        return hsv_to_rgb(made).astype(images.dtype, copy=False)

    return run


def _contrast(images: Array, factor: np.float32) -> Array:
    floats = images.astype(np.float32, copy=False)
    mean = floats.mean(axis=(-3, -2), keepdims=True)
    made: Array = (floats - mean) * factor + mean
    return made


@host_kernel("AdjustContrastv2")
def adjust_contrast(node: KernelNode) -> Kernel:
    def run(images: Array, factor: Array) -> Array:
        _check_images(images, colours=False)
        return _contrast(images, _number(factor, "contrast_factor")).astype(images.dtype, copy=False)

    return run


@host_kernel("AdjustContrast")
def adjust_contrast_within(node: KernelNode) -> Kernel:
    """The older op, which clips its results to a range."""

    def run(images: Array, factor: Array, lowest: Array, highest: Array) -> Array:
        _check_images(images, colours=False)
        made = _contrast(images, _number(factor, "contrast_factor"))
        return made.clip(_number(lowest, "min_value"), _number(highest, "max_value"))

    return run
