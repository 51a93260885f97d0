"""Projective transforms of images: `tf.contrib.image.transform`, `rotate`, `translate`, ….

A transform is eight numbers (a0, a1, a2, b0, b1, b2, c0, c1): the output's pixel (x, y) is the input's at
((a0·x + a1·y + a2) / k, (b0·x + b1·y + b2) / k), where k = c0·x + c1·y + 1. What lies outside is zero.
"""

from __future__ import annotations

import functools
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, zeros
from tensorfleet.ops.array.indexing import gather_nd
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.matmul import matmul

_IMAGE_DTYPES = frozenset(
    (dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64)
)


def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Applies projective transforms to images (`tf.contrib.image.transform`).

    Args:
        images: `[height, width]`, `[height, width, channels]` or `[batch, height, width, channels]`.
        transforms: eight numbers, or `[batch, 8]`: where the output's pixels come from.
        interpolation: "NEAREST" or "BILINEAR".
        output_shape: (height, width) of the results, by default as before.

    Raises:
        TypeError: the dtype is none of images, or a rank does not fit.
        ValueError: an unknown interpolation.
    """
    with name_scope(name, "transform"):
        given = convert_to_tensor(images, name="images")
        if given.dtype.base not in _IMAGE_DTYPES:
            raise TypeError(f"Invalid dtype {given.dtype}.")
        if interpolation.upper() not in ("NEAREST", "BILINEAR"):
            raise ValueError(f'interpolation must be "NEAREST" or "BILINEAR", not {interpolation!r}.')
        rank = given.ndim
        if rank not in (2, 3, 4):
            raise TypeError(f"Images should have rank between 2 and 4, not shape {given.get_shape()}.")
        batch = given if rank == 4 else expand_dims(given, 0)
        batch = expand_dims(batch, -1) if rank == 2 else batch
        rows = _as_rows(transforms)
        lengths = shape(batch)
        size = lengths[1:3] if output_shape is None else convert_to_tensor(output_shape, dtypes.int32)
        result = _sampled(batch, rows, size, interpolation.upper() == "BILINEAR")
        static = static_value(size)
        dims = batch.dims or (None,) * 4
        fixed = dims[1:3] if static is None else [int(length) for length in static]
        result.set_shape([dims[0], *fixed, dims[3]])
        if rank == 4:
            return result
        return result[0] if rank == 3 else result[0, :, :, 0]


def _as_rows(transforms: Any) -> Tensor:
    tensor = convert_to_tensor(transforms, name="transforms", dtype=dtypes.float32)
    if tensor.ndim == 1:
        return expand_dims(tensor, 0)
    if tensor.ndim == 2:
        return tensor
    raise TypeError(f"Transforms should have rank 1 or 2, but got rank {tensor.ndim}")


def _sampled(images: Tensor, rows: Tensor, size: Tensor, bilinear: bool) -> Tensor:
    lengths = shape(images)
    x = cast(apply_one("Range", 0, size[1], 1), dtypes.float32)[None, None, :]
    y = cast(apply_one("Range", 0, size[0], 1), dtypes.float32)[None, :, None]
    t = [rows[:, i, None, None] for i in range(8)]
    scale = t[6] * x + t[7] * y + 1.0
    # One transform serves all images of a batch.
    blank = zeros([lengths[0], size[0], size[1]])
    source_x = (t[0] * x + t[1] * y + t[2]) / scale + blank
    source_y = (t[3] * x + t[4] * y + t[5]) / scale + blank
    read = functools.partial(_pixels, images)
    if not bilinear:
        return read(_rounded(source_y), _rounded(source_x))
    top, left = apply_one("Floor", source_y), apply_one("Floor", source_x)
    down, right = (source_y - top)[..., None], (source_x - left)[..., None]

    def row(at: Tensor) -> Tensor:
        values = [cast(read(at, column), dtypes.float32) for column in (left, left + 1.0)]
        return values[0] * (1.0 - right) + values[1] * right

    return cast(row(top) * (1.0 - down) + row(top + 1.0) * down, images.dtype.base)


def _rounded(x: Tensor) -> Tensor:
    """The nearest whole numbers, halves away from zero."""
    return apply_one("Sign", x) * apply_one("Floor", apply_one("Abs", x) + 0.5)


def _pixels(images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """The pixels at whole coordinates `[batch, height, width]`, zero where there are none."""
    lengths = shape(images)
    height, width = (cast(lengths[i], dtypes.float32) for i in (1, 2))
    zero = apply_one("ZerosLike", y)
    inside = apply_one(
        "LogicalAnd",
        apply_one("LogicalAnd", y >= 0.0, y < height),
        apply_one("LogicalAnd", x >= 0.0, x < width),
    )
    at = [cast(apply_one("SelectV2", inside, value, zero), dtypes.int32) for value in (y, x)]
    image = apply_one("Range", 0, lengths[0], 1)[:, None, None] + at[0] * 0
    found = gather_nd(images, stack([image, *at], axis=-1))
    return apply_one("SelectV2", inside[..., None], found, cast(0, images.dtype.base))


def rotate(images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Rotates images counterclockwise (`tf.contrib.image.rotate`).

    Args:
        images: as in `transform`.
        angles: in radians: a number, or one for each image.
        interpolation: "NEAREST" or "BILINEAR".
    """
    with name_scope(name, "rotate"):
        images = convert_to_tensor(images, name="images")
        lengths = shape(images)
        height, width = (lengths[0], lengths[1]) if images.ndim in (2, 3) else (lengths[1], lengths[2])
        sizes = cast(height, dtypes.float32), cast(width, dtypes.float32)
        return transform(images, angles_to_projective_transforms(angles, *sizes), interpolation)


def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Moves images by (dx, dy) pixels: a pair, or one for each image (`tf.contrib.image.translate`)."""
    with name_scope(name, "translate"):
        moves = translations_to_projective_transforms(translations)
        return transform(images, moves, interpolation)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Tensor:
    """The transforms `[count, 8]` that rotate around the middle of images
    (`tf.contrib.image.angles_to_projective_transforms`).

    Args:
        angles: in radians, a number or a vector.
    """
    with name_scope(name, "angles_to_projective_transforms"):
        given = convert_to_tensor(angles, name="angles", dtype=dtypes.float32)
        if given.ndim not in (0, 1):
            raise TypeError("Angles should have rank 0 or 1.")
        angle = reshape(given, [-1])
        cos, sin = apply_one("Cos", angle), apply_one("Sin", angle)
        w, h = cast(image_width, dtypes.float32) - 1.0, cast(image_height, dtypes.float32) - 1.0
        x = (w - (cos * w - sin * h)) / 2.0
        y = (h - (sin * w + cos * h)) / 2.0
        zero = angle * 0.0
        return stack([cos, -sin, x, sin, cos, y, zero, zero], axis=1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Tensor:
    """The transforms `[count, 8]` of moves (dx, dy), `[2]` or `[count, 2]`
    (`tf.contrib.image.translations_to_projective_transforms`)."""
    with name_scope(name, "translations_to_projective_transforms"):
        given = convert_to_tensor(translations, name="translations", dtype=dtypes.float32)
        if given.ndim not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        moves = reshape(given, [-1, 2])
        one = ones([shape(moves)[0]])
        zero = one * 0.0
        return stack([one, zero, -moves[:, 0], zero, one, -moves[:, 1], zero, zero], axis=1)


def compose_transforms(*transforms: Any) -> Tensor:
    """The transform that applies these one after another to the coordinates
    (`tf.contrib.image.compose_transforms`)."""
    if not transforms:
        raise ValueError("There are no transforms to compose.")
    matrices = [flat_transforms_to_matrices(item) for item in transforms]
    return matrices_to_flat_transforms(functools.reduce(matmul, matrices))


def flat_transforms_to_matrices(transforms: Any) -> Tensor:
    """Transforms of eight numbers as matrices `[count, 3, 3]`
    (`tf.contrib.image.flat_transforms_to_matrices`)."""
    rows = _as_rows(transforms)
    return reshape(concat([rows, ones([shape(rows)[0], 1])], axis=1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Tensor:
    """Matrices `[3, 3]` or `[count, 3, 3]` as transforms of eight numbers
    (`tf.contrib.image.matrices_to_flat_transforms`)."""
    given = convert_to_tensor(transform_matrices, dtype=dtypes.float32)
    if given.ndim not in (2, 3):
        raise ValueError(f"Matrices should be 2D or 3D, got: {given}")
    rows = reshape(given, [-1, 9])
    return (rows / rows[:, 8:9])[:, :8]
