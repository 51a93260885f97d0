"""Resizing by a given method: `tf.image.resize_images`, `tf.image.resize_image_with_pad`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.static_value import static_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.shaping import expand_dims
from tensorfleet.ops.control_flow.control import with_dependencies
from tensorfleet.ops.image.checks import as_batch, as_before, check_image, require, sizes
from tensorfleet.ops.image.cropping import larger, pad_to_bounding_box
from tensorfleet.ops.image.resize_ops import (
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_nearest_neighbor,
)
from tensorfleet.ops.math.arithmetic import minimum
from tensorfleet.ops.math.elementwise import floor, round


class ResizeMethod:
    """The methods of `tf.image.resize_images` (`tf.image.ResizeMethod`)."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}
_NAMES = {"bilinear": 0, "nearest": 1, "bicubic": 2, "area": 3}


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images resized to `size` (`tf.image.resize_images`).

    Args:
        images: of shape [batch, height, width, channels] or [height, width, channels].
        size: int32 [2]: the new height and width.
        method: a `ResizeMethod`, or its name in lower case.
        align_corners: the centres of the corner pixels stay where they are.
        preserve_aspect_ratio: keep the ratio of height to width, within `size`.

    Returns:
        float32 images, of their own dtype for the nearest neighbour; the images themselves if they are
        known to have this size.
    """
    with name_scope(name, "resize", [images, size]):
        batch, is_batch = _images(images)
        size = _size(size)
        _, height, width, _ = batch.dims or (None,) * 4
        if preserve_aspect_ratio:
            size = _largest_within(batch, size)
        new_height, new_width = static_dims(size) or (None, None)
        known = None not in (height, width, new_height, new_width)
        if known and (height, width) == (new_height, new_width):
            return as_before(batch, is_batch)
        resize = _METHODS.get(_NAMES.get(method, -1) if isinstance(method, str) else method)
        if resize is None:
            raise ValueError(f"Resize method is not implemented: {method}")
        resized = resize(batch, size, align_corners=align_corners)
        resized.set_shape([None, new_height, new_width, None])
        return as_before(resized, is_batch)


resize = resize_images


def _images(images: Any) -> tuple[Tensor, bool]:
    tensor = convert_to_tensor(images, name="images")
    if tensor.dims is None:
        raise ValueError("'images' contains no shape.")
    if len(tensor.dims) not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    is_batch = len(tensor.dims) == 4
    return (tensor if is_batch else expand_dims(tensor, 0)), is_batch


def _size(size: Any) -> Tensor:
    try:
        tensor = convert_to_tensor(size, dtypes.int32, "size")
    except (TypeError, ValueError):
        raise ValueError("'size' must be a 1-D int32 Tensor") from None
    if tensor.dims is not None and (len(tensor.dims) != 1 or tensor.dims[0] not in (2, None)):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    return tensor


def _largest_within(batch: Tensor, size: Tensor) -> Tensor:
    """The largest size within `size` that keeps the images' aspect ratio."""
    _, height, width, _ = sizes(batch)
    by_height = cast(size[0], dtypes.float32) / cast(height, dtypes.float32)
    by_width = cast(size[1], dtypes.float32) / cast(width, dtypes.float32)
    factor = minimum(by_height, by_width)
    new_height = cast(round(factor * cast(height, dtypes.float32)), dtypes.int32)
    new_width = cast(round(factor * cast(width, dtypes.float32)), dtypes.int32)
    return convert_to_tensor([new_height, new_width], dtypes.int32, "size")


def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Images resized with their aspect ratio kept and padded with zeros to the target size
    (`tf.image.resize_image_with_pad`); see `resize_images`."""
    with name_scope(None, "resize_image_with_pad", [image]):
        images, is_batch = as_batch(image)
        checks = check_image(images)
        checks += require(target_width > 0, "target_width must be > 0.")
        checks += require(target_height > 0, "target_height must be > 0.")
        images = with_dependencies(checks, images)
        _, height, width, _ = sizes(images)
        # In float64, as TensorFlow 1 does: float32, which 2 takes, gives some sizes that are larger by one.
        height, width, wanted_height, wanted_width = (
            cast(n, dtypes.float64) for n in (height, width, target_height, target_width)
        )
        ratio = larger(width / wanted_width, height / wanted_height)
        height, width = height / ratio, width / ratio
        size = [cast(floor(n), dtypes.int32) for n in (height, width)]
        above, left = (floor(n) for n in ((wanted_height - height) / 2, (wanted_width - width) / 2))
        above, left = (larger(0, cast(n, dtypes.int32)) for n in (above, left))
        resized = resize_images(images, size, method, align_corners=align_corners)
        return as_before(pad_to_bounding_box(resized, above, left, target_height, target_width), is_batch)
