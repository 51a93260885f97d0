"""Flips, rotations and transposition of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.rearranging import reverse, transpose as transposed
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.control_flow.control_flow import case, cond
from tensorfleet.ops.image.checks import checked, shape_text
from tensorfleet.ops.math.arithmetic import mod
from tensorfleet.ops.math.comparison import equal, less
from tensorfleet.ops.math.elementwise import round
from tensorfleet.ops.random.random_ops import random_uniform


def _by_rank(image: Tensor, single: Callable[[], Tensor], batch: Callable[[], Tensor]) -> Tensor:
    """`single` or `batch` applied to the image, by its rank; one of unknown rank is a single one, so that the
    rank of the result is known, which `tf.image.resize_images` and others ask for."""
    dims = image.dims
    if dims is None:
        return single()
    if len(dims) not in (3, 4):
        raise ValueError(f"'image' (shape {shape_text(image)}) must have either 3 or 4 dimensions.")
    return single() if len(dims) == 3 else batch()


def _of_shape(result: Tensor, image: Tensor) -> Tensor:
    result.set_shape([None] * 3 if image.dims is None else list(image.dims))
    return result


def flip_left_right(image: Any) -> Tensor:
    """An image or a batch of images mirrored: the first column becomes the last (`tf.image.flip_left_right`).

    Example:
        >>> tf.Session().run(tf.image.flip_left_right([[[1], [2]]])).tolist()
        [[[2], [1]]]
    """
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """An image or a batch of images upside down (`tf.image.flip_up_down`)."""
    return _flip(image, 0, "flip_up_down")


def _flip(image: Any, axis: int, scope: str) -> Tensor:
    with name_scope(None, scope, [image]):
        image = checked(image)
        return _by_rank(
            image, lambda: _of_shape(reverse(image, [axis]), image), lambda: reverse(image, [axis + 1])
        )


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """An image, or each image of a batch, flipped left to right with probability 0.5
    (`tf.image.random_flip_left_right`)."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """An image, or each image of a batch, flipped upside down with probability 0.5
    (`tf.image.random_flip_up_down`)."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def _random_flip(image: Any, axis: int, seed: int | None, name: str) -> Tensor:
    with name_scope(None, name, [image]) as scope:
        image = checked(image)

        def single() -> Tensor:
            mirrored = less(random_uniform([], 0, 1.0, seed=seed), 0.5)
            return _of_shape(cond(mirrored, lambda: reverse(image, [axis]), lambda: image, name=scope), image)

        def batch() -> Tensor:
            count = shape(image)[0]
            drawn = random_uniform([count], 0, 1.0, seed=seed)
            flips = cast(round(reshape(drawn, [count, 1, 1, 1])), image.dtype)
            flipped = reverse(image, [axis + 1])
            result: Tensor = flips * flipped + (1 - flips) * image
            return result

        return _by_rank(image, single, batch)


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """An image or a batch of images rotated counter-clockwise by `k` times 90 degrees (`tf.image.rot90`)."""
    with name_scope(name, "rot90", [image, k]) as scope:
        image = checked(image)
        k = convert_to_tensor(k, dtypes.int32, "k")
        if k.dims is not None and k.dims != ():
            raise ValueError(f"Shape {k.shape} must have rank 0")
        k = mod(k, 4, name="mod")
        return _by_rank(image, lambda: _turned(image, k, 0, scope), lambda: _turned(image, k, 1, scope))


def _turned(image: Tensor, k: Tensor, rows: int, scope: str) -> Tensor:
    """The image rotated `k` times; `rows` is the axis of rows, the next one that of columns."""
    columns = rows + 1
    order = [0, 2, 1, 3] if rows else [1, 0, 2]
    cases = [
        (equal(k, 1), lambda: transposed(reverse(image, [columns]), order)),
        (equal(k, 2), lambda: reverse(image, [rows, columns])),
        (equal(k, 3), lambda: reverse(transposed(image, order), [columns])),
    ]
    result: Tensor = case(cases, default=lambda: image, exclusive=True, name=scope)
    if rows:
        dims = result.dims or (None,) * 4
        result.set_shape([dims[0], None, None, dims[3]])
    else:
        result.set_shape([None, None, None if image.dims is None else image.dims[2]])
    return result


def transpose(image: Any, name: str | None = None) -> Tensor:
    """An image or a batch of images with rows and columns exchanged (`tf.image.transpose_image`)."""
    with name_scope(name, "transpose", [image]):
        image = checked(image)
        given = name or "transpose"
        return _by_rank(
            image,
            lambda: transposed(image, [1, 0, 2], name=given),
            lambda: transposed(image, [0, 2, 1, 3], name=given),
        )


transpose_image = transpose
