"""Colours and brightness of images: conversions, adjustments, and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor, is_tensor
from tensorfleet.ops.array.casting import cast, saturate_cast
from tensorfleet.ops.array.constants import ones
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.padding import tile
from tensorfleet.ops.array.shaping import expand_dims, rank, shape
from tensorfleet.ops.control_flow.control import with_dependencies
from tensorfleet.ops.debugging.checks import assert_equal, assert_greater_equal
from tensorfleet.ops.image.checks import checked, require
from tensorfleet.ops.math.arithmetic import add, divide, floordiv, maximum, multiply
from tensorfleet.ops.math.elementwise import rsqrt
from tensorfleet.ops.math.matmul import tensordot
from tensorfleet.ops.math.reduction import reduce_mean, reduce_prod, reduce_std
from tensorfleet.ops.random.random_ops import random_uniform
from tensorfleet.ops.shape_rules import merge_dim, with_rank, with_rank_at_least


def _of_colours(op: RuleNode) -> list[Dims]:
    """Shape rule: the input's shape, whose last dimension must be three channels."""
    dims = with_rank_at_least(op.inputs[0].dims, 1)
    return [None if dims is None else (*dims[:-1], merge_dim(dims[-1], 3))]


def _of_images(op: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(op.inputs[0].dims, 3)
    for tensor in op.inputs[1:]:
        with_rank(tensor.dims, 0)
    return [dims]


_HALF = "T: {float16, float32} = float32"
_FLOATS = "T: {float16, bfloat16, float32, float64} = float32"
op("RGBToHSV(images: T) -> (output: T)", _FLOATS, shape=_of_colours)
op("HSVToRGB(images: T) -> (output: T)", _FLOATS, shape=_of_colours)
op("AdjustContrastv2(images: T, contrast_factor: float32) -> (output: T)", _HALF, shape=_of_images)
op("AdjustHue(images: T, delta: float32) -> (output: T)", _HALF, shape=_of_images)
op("AdjustSaturation(images: T, scale: float32) -> (output: T)", _HALF, shape=_of_images)
op(
    "AdjustContrast(images: T, contrast_factor: float32, min_value: float32, max_value: float32)"
    " -> (output: float32)",
    "T: {uint8, int8, int16, int32, int64, float32, float64}",
    shape=_of_images,
)


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """An image in another dtype, scaled to its range (`tf.image.convert_image_dtype`).

    The range of integers is from 0 to their dtype's maximum, that of floats from 0 to 1.

    Args:
        saturate: clip values to the range of the dtype.
    """
    pixels = convert_to_tensor(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    source = pixels.dtype.base
    for kind, text in ((dtype, "dtype"), (source, "image dtype")):
        if not kind.is_floating and not kind.is_integer:
            raise AttributeError(f"{text} must be either floating point or integer")
    if dtype == source:
        return identity(pixels, name=name)
    with name_scope(name, "convert_image", [pixels]) as scope:
        if source.is_integer and dtype.is_integer:
            return _between_integers(pixels, source, dtype, saturate, scope)
        if source.is_floating and dtype.is_floating:
            return cast(pixels, dtype, name=scope)
        if source.is_integer:
            return multiply(cast(pixels, dtype), 1.0 / source.max, name=scope)
        # The additional half gives every integer an equal share of [0, 1].
        scaled = multiply(pixels, dtype.max + 0.5)
        return (saturate_cast if saturate else cast)(scaled, dtype, name=scope)


def _between_integers(image: Tensor, source: DType, dtype: DType, saturate: bool, scope: str) -> Tensor:
    convert = saturate_cast if saturate else cast
    if source.max > dtype.max:
        scaled = floordiv(image, (source.max + 1) // (dtype.max + 1))
        return convert(scaled, dtype, name=scope)
    return multiply(convert(image, dtype), (dtype.max + 1) // (source.max + 1), name=scope)


def _floats(image: Tensor) -> Tensor:
    """The image in a floating point dtype that the ops on colours take."""
    if image.dtype.base in (dtypes.float16, dtypes.float32):
        return image
    return convert_image_dtype(image, dtypes.float32)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """An image with `delta` added, in the range 0 to 1 of floats (`tf.image.adjust_brightness`)."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = convert_to_tensor(image, name="image")
        floats = _floats(image)
        adjusted = add(floats, cast(delta, floats.dtype), name=scope)
        return convert_image_dtype(adjusted, image.dtype.base, saturate=True)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Images with each channel's difference from its mean multiplied by `contrast_factor`
    (`tf.image.adjust_contrast`)."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = convert_to_tensor(images, name="images")
        adjusted = apply_one("AdjustContrastv2", _floats(images), contrast_factor, name=scope)
        return convert_image_dtype(adjusted, images.dtype.base, saturate=True)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """`gain * image ** gamma`, for floats from 0 to 1 (`tf.image.adjust_gamma`)."""
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        floats = _floats(image)
        checks = require(gamma >= 0, "Gamma should be a non-negative real number.")
        if checks:
            gamma = with_dependencies(checks, gamma)
        return convert_image_dtype(gain * floats**gamma, image.dtype.base, saturate=True)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """RGB images with their hue shifted by `delta`, from -1 to 1 (`tf.image.adjust_hue`)."""
    with name_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        return convert_image_dtype(apply_one("AdjustHue", _floats(image), delta), image.dtype.base)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """RGB images with their saturation multiplied by `saturation_factor` (`tf.image.adjust_saturation`)."""
    with name_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        adjusted = apply_one("AdjustSaturation", _floats(image), saturation_factor)
        return convert_image_dtype(adjusted, image.dtype.base)


def adjust_jpeg_quality(
    image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
) -> Tensor:
    """An image encoded as JPEG of a quality from 0 to 100 and decoded again
    (`tf.image.adjust_jpeg_quality`)."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        channels = None if image.dims is None else image.dims[-1]
        pixels = convert_image_dtype(image, dtypes.uint8, saturate=True)
        if not is_tensor(jpeg_quality):
            jpeg_quality = convert_to_tensor(jpeg_quality, dtypes.int32)
        encoded = apply_one("EncodeJpegVariableQuality", pixels, jpeg_quality)
        decoded = apply_one("DecodeJpeg", encoded, channels=channels or 0, dct_method=dct_method)
        return convert_image_dtype(decoded, image.dtype.base, saturate=True)


def _check_range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a random delta in [-max_delta, max_delta) (`tf.image.random_brightness`)."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a random factor in [lower, upper) (`tf.image.random_contrast`)."""
    _check_range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a random delta in [-max_delta, max_delta) (`tf.image.random_hue`).

    `max_delta` is at most 0.5.
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a random factor in [lower, upper) (`tf.image.random_saturation`)."""
    _check_range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """`adjust_jpeg_quality` by a random quality in [min_jpeg_quality, max_jpeg_quality)
    (`tf.image.random_jpeg_quality`)."""
    if not (0 <= min_jpeg_quality <= 100 and 0 <= max_jpeg_quality <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, dtype=dtypes.int32, seed=seed)
    return adjust_jpeg_quality(image, quality)


def per_image_standardization(image: Any) -> Tensor:
    """Each image shifted and scaled to mean 0 and variance 1, float32 (`tf.image.per_image_standardization`).

    The divisor is at least 1 / sqrt(number of values), for nearly uniform images.
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = cast(checked(image), dtypes.float32)
        count = reduce_prod(shape(image)[-3:])
        axes = [-1, -2, -3]
        mean = reduce_mean(image, axis=axes, keepdims=True)
        deviation = reduce_std(image, axis=axes, keepdims=True)
        divisor = maximum(deviation, rsqrt(cast(count, dtypes.float32)))
        return divide(image - mean, divisor, name=scope)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """RGB images as grey ones, with one channel (`tf.image.rgb_to_grayscale`)."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        floats = convert_image_dtype(images, dtypes.float32)
        grey = expand_dims(tensordot(floats, [0.2989, 0.587, 0.114], [-1, -1]), -1)
        return convert_image_dtype(grey, images.dtype.base, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Grey images, with one channel, as RGB ones (`tf.image.grayscale_to_rgb`)."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        images = with_dependencies(_check_grey(images), images)
        ones_before = ones(expand_dims(rank(images) - 1, 0), dtype=dtypes.int32)
        rgb = tile(images, concat([ones_before, expand_dims(3, 0)], 0), name=scope)
        if images.dims is not None:
            rgb.set_shape([*images.dims[:-1], 3])
        return rgb


def _check_grey(images: Tensor) -> list[Any]:
    dims = images.dims
    if dims is not None and len(dims) < 2:
        raise ValueError(f"A grayscale image (shape {images.shape}) must be at least two-dimensional.")
    if dims is None or None in dims:
        return [
            assert_equal(
                shape(images)[-1], 1, message="Last dimension of a grayscale image should be size 1."
            ),
            assert_greater_equal(
                rank(images), 3, message="A grayscale image must be at least two-dimensional."
            ),
        ]
    if dims[-1] != 1:
        raise ValueError("Last dimension of a grayscale image should be size 1.")
    return []


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """RGB images, floats from 0 to 1, as hue, saturation and value (`tf.image.rgb_to_hsv`)."""
    return apply_one("RGBToHSV", images, name=name)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The reverse of `rgb_to_hsv` (`tf.image.hsv_to_rgb`)."""
    return apply_one("HSVToRGB", images, name=name)


_Weights = list[list[float]]
# The matrices of the standards; each column is a channel of the result.
_TO_YIQ: _Weights = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_FROM_YIQ: _Weights = [
    [1, 1, 1],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_TO_YUV: _Weights = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_FROM_YUV: _Weights = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _mixed(images: Any, weights: _Weights) -> Tensor:
    images = convert_to_tensor(images, name="images")
    kernel = convert_to_tensor(np.array(weights), images.dtype.base, name="kernel")
    return tensordot(images, kernel, axes=[[len(images.dims or ()) - 1], [0]])


def rgb_to_yiq(images: Any) -> Tensor:
    """RGB images in the colours of NTSC (`tf.image.rgb_to_yiq`)."""
    return _mixed(images, _TO_YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """The reverse of `rgb_to_yiq` (`tf.image.yiq_to_rgb`)."""
    return _mixed(images, _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """RGB images in the colours of PAL (`tf.image.rgb_to_yuv`)."""
    return _mixed(images, _TO_YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """The reverse of `rgb_to_yuv` (`tf.image.yuv_to_rgb`)."""
    return _mixed(images, _FROM_YUV)
