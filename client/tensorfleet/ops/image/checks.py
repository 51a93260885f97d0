"""Common parts of functions on images: checks of shapes, and single images as batches of one."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dimension import Dimension
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor, is_tensor
from tensorfleet.ops.array.joining import unstack
from tensorfleet.ops.array.shaping import expand_dims, rank, shape, squeeze
from tensorfleet.ops.control_flow.control import with_dependencies
from tensorfleet.ops.debugging.checks import assert_greater_equal, assert_positive
from tensorfleet.ops.io.logging import Assert


def require(condition: Any, message: str) -> list[Operation]:
    """Checks a condition: at once, with a ValueError, if its value is known; else in the run."""
    if is_tensor(condition):
        return [Assert(condition, [message])]
    if not condition:
        raise ValueError(message)
    return []


def shape_text(image: Tensor) -> str:
    return str(image.shape)


def check_image(image: Tensor) -> list[Any]:
    """The checks in the run that an image or a batch of images has height, width and channels.

    Raises:
        ValueError: the static shape lacks one of them.
    """
    dims = image.dims
    if dims is not None and len(dims) < 3:
        raise ValueError(f"'image' (shape {shape_text(image)}) must be at least three-dimensional.")
    last = (None,) * 3 if dims is None else dims[-3:]
    if 0 in last:
        text = shape_text(image) if dims is None or len(dims) == 3 else f"({', '.join(map(str, last))})"
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {text}")
    if None not in last:
        return []
    return [
        assert_positive(shape(image)[-3:], ["inner 3 dims of 'image.shape' must be > 0."]),
        assert_greater_equal(rank(image), 3, message="'image' must be at least three-dimensional."),
    ]


def checked(image: Any) -> Tensor:
    """An image or a batch of images, after the checks of `check_image`."""
    tensor = convert_to_tensor(image, name="image")
    return with_dependencies(check_image(tensor), tensor)


def as_batch(image: Any, name: str = "image") -> tuple[Tensor, bool]:
    """A batch of images, and whether `image` is one; an image of unknown rank is taken for a single one.

    Raises:
        ValueError: the rank is neither 3 nor 4.
    """
    tensor = convert_to_tensor(image, name=name)
    dims = tensor.dims
    if dims is not None and len(dims) == 4:
        return tensor, True
    if dims is not None and len(dims) != 3:
        raise ValueError(f"'image' (shape {shape_text(tensor)}) must have either 3 or 4 dimensions.")
    batch = expand_dims(tensor, 0)
    if dims is None:
        batch.set_shape([None] * 4)
    return batch, False


def as_before(batch: Tensor, is_batch: bool) -> Tensor:
    """The results for a batch, or the one result for a single image."""
    return batch if is_batch else squeeze(batch, axis=[0])


def sizes(batch: Tensor) -> list[Any]:
    """The sizes of a batch's dimensions: ints if known, else tensors."""
    dims = batch.dims or (None,) * 4
    if None not in dims:
        return list(dims)
    return [
        found if known is None else known for known, found in zip(dims, unstack(shape(batch), 4), strict=True)
    ]


def static(size: Any) -> int | None:
    """The size as an int if it is static, else None."""
    if isinstance(size, Dimension):
        return size.value
    return None if size is None or is_tensor(size) else int(size)
