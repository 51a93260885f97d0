"""Cropping and padding of images."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor, is_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.padding import pad
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.array.slicing import slice as sliced
from tensorfleet.ops.control_flow.control import with_dependencies
from tensorfleet.ops.image.checks import (
    as_batch,
    as_before,
    check_image,
    checked,
    require,
    sizes,
    static,
)
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.math.comparison import equal, logical_or


def central_crop(image: Any, central_fraction: Any) -> Any:
    """The central part of an image or of a batch of images (`tf.image.central_crop`).

    Args:
        central_fraction: the fraction of height and width to keep: a number in (0, 1], or a tensor.
    """
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        fraction = static_value(central_fraction) if is_tensor(central_fraction) else central_fraction
        if fraction is not None:
            fraction = float(fraction)
            if not 0.0 < fraction <= 1.0:
                raise ValueError("central_fraction must be within (0, 1]")
            if fraction == 1.0:
                return image
        else:
            within = logical_or(central_fraction > 0.0, central_fraction <= 1.0)
            image = with_dependencies(require(within, "central_fraction must be within (0, 1]"), image)
        checked(image)
        dims = image.dims
        if dims is None or len(dims) not in (3, 4):
            raise ValueError(
                "`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = "
                f"{None if dims is None else len(dims)}."
            )
        first = len(dims) - 3
        lengths = [
            shape(image)[axis] if dims[axis] is None else dims[axis] for axis in range(first, first + 2)
        ]
        starts = [_margin(length, central_fraction, fraction) for length in lengths]
        counts = [length - start * 2 for length, start in zip(lengths, starts, strict=True)]
        begin, size = stack([0] * first + [*starts, 0]), stack([-1] * first + [*counts, -1])
        cropped = sliced(image, begin, size)
        cropped.set_shape([*dims[:first], *(None if is_tensor(n) else n for n in counts), dims[-1]])
        return cropped


def _margin(length: Any, fraction: Any, known: float | None) -> Any:
    """The number of pixels to cut off on each side of a dimension."""
    if known is not None and not is_tensor(length):
        return int((float(length) - float(length) * known) / 2)
    wide = cast(length, dtypes.float64)
    return cast((wide - wide * cast(fraction, dtypes.float64)) / 2, dtypes.int32)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """An image or a batch of images padded with zeros (`tf.image.pad_to_bounding_box`).

    Args:
        offset_height, offset_width: the number of rows above the image and of columns on its left.
        target_height, target_width: the size of the result.

    Raises:
        ValueError: the image does not fit; InvalidArgumentError in a run, if not known before.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        images, is_batch = as_batch(image)
        batch, height, width, depth = sizes(images)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks = check_image(images)
        checks += require(offset_height >= 0, "offset_height must be >= 0")
        checks += require(offset_width >= 0, "offset_width must be >= 0")
        checks += require(right >= 0, "width must be <= target - offset")
        checks += require(below >= 0, "height must be <= target - offset")
        images = with_dependencies(checks, images)
        around = reshape(stack([0, 0, offset_height, below, offset_width, right, 0, 0]), [4, 2])
        padded = pad(images, around)
        padded.set_shape([static(n) for n in (batch, target_height, target_width, depth)])
        return as_before(padded, is_batch)


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """A part of an image or of a batch of images (`tf.image.crop_to_bounding_box`).

    Args:
        offset_height, offset_width: the row and the column of its first pixel.
        target_height, target_width: the size of the part.

    Raises:
        ValueError: the part is not within the image; InvalidArgumentError in a run, if not known before.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        images, is_batch = as_batch(image)
        checks = check_image(images)
        batch, height, width, depth = sizes(images)
        checks += require(offset_width >= 0, "offset_width must be >= 0.")
        checks += require(offset_height >= 0, "offset_height must be >= 0.")
        checks += require(target_width > 0, "target_width must be > 0.")
        checks += require(target_height > 0, "target_height must be > 0.")
        checks += require(width >= target_width + offset_width, "width must be >= target + offset.")
        checks += require(height >= target_height + offset_height, "height must be >= target + offset.")
        images = with_dependencies(checks, images)
        begin = stack([0, offset_height, offset_width, 0])
        size = stack([shape(images)[0], target_height, target_width, shape(images)[3]])
        cropped = sliced(images, begin, size)
        cropped.set_shape([static(n) for n in (batch, target_height, target_width, depth)])
        return as_before(cropped, is_batch)


def larger(x: Any, y: Any) -> Any:
    return maximum(x, y) if is_tensor(x) or is_tensor(y) else max(x, y)


def _smaller(x: Any, y: Any) -> Any:
    return minimum(x, y) if is_tensor(x) or is_tensor(y) else min(x, y)


def _equal(x: Any, y: Any) -> Any:
    return equal(x, y) if is_tensor(x) or is_tensor(y) else x == y


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """An image or a batch of images cropped, or padded with zeros, on both sides to the target size
    (`tf.image.resize_image_with_crop_or_pad`)."""
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        images, is_batch = as_batch(image)
        checks = check_image(images)
        checks += require(target_width > 0, "target_width must be > 0.")
        checks += require(target_height > 0, "target_height must be > 0.")
        images = with_dependencies(checks, images)
        if is_tensor(target_height):
            target_height = with_dependencies(checks, target_height)
        if is_tensor(target_width):
            target_width = with_dependencies(checks, target_width)
        _, height, width, _ = sizes(images)
        more = target_width - width
        crop_width, pad_width = larger(-more // 2, 0), larger(more // 2, 0)
        more = target_height - height
        crop_height, pad_height = larger(-more // 2, 0), larger(more // 2, 0)
        cropped = crop_to_bounding_box(
            images, crop_height, crop_width, _smaller(target_height, height), _smaller(target_width, width)
        )
        resized = pad_to_bounding_box(cropped, pad_height, pad_width, target_height, target_width)
        _, height, width, _ = sizes(resized)
        checks = require(_equal(height, target_height), "resized height is not correct.")
        checks += require(_equal(width, target_width), "resized width is not correct.")
        return as_before(with_dependencies(checks, resized), is_batch)


resize_with_crop_or_pad = resize_image_with_crop_or_pad
