"""The ops that resize images and their functions (`tf.image.resize_bilinear`, …)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import renamed_argument
from tensorfleet.ops.shape_rules import merge_dim, with_rank


def _two_sizes(tensor: RuleTensor) -> tuple[int | None, int | None]:
    """Height and width from the vector `size`, None where unknown."""
    merge_dim(with_rank(tensor.dims, 1)[0], 2)
    value = static_value(tensor)
    if value is not None and (value < 0).any():
        raise ValueError(f"Shape must be non-negative, got {value.tolist()}")
    sizes = static_dims(tensor)
    return (None, None) if sizes is None else (sizes[0], sizes[1])


def resized_shape(op: RuleNode) -> list[Dims]:
    """Shape rule: [batch, *size, channels]."""
    batch, _, _, channels = with_rank(op.inputs[0].dims, 4)
    return [(batch, *_two_sizes(op.inputs[1]), channels)]


def _like_second(op: RuleNode) -> list[Dims]:
    return [op.inputs[1].dims]


def _crops_shape(op: RuleNode) -> list[Dims]:
    image, boxes, indices = (with_rank(op.inputs[i].dims, rank) for i, rank in enumerate((4, 2, 1)))
    merge_dim(boxes[1], 4)
    count = merge_dim(boxes[0], indices[0])
    return [(count, *_two_sizes(op.inputs[3]), image[3])]


def _crops_image_shape(op: RuleNode) -> list[Dims]:
    dims = static_dims(op.inputs[3])
    return [(None,) * 4 if dims is None else dims]


_NUMBERS = "int8, uint8, int16, uint16, int32, int64, float16, float32, float64, bfloat16"
_CROPPED = "T: {uint8, uint16, int8, int16, int32, int64, float16, float32, float64}"
_CORNERS = ("align_corners: bool = false", "half_pixel_centers: bool = false")
_RESIZED = "(images: T, size: int32) -> (resized_images: float32)"

op(f"ResizeBilinear{_RESIZED}", f"T: {{{_NUMBERS}}}", *_CORNERS, shape=resized_shape)
op(f"ResizeBicubic{_RESIZED}", f"T: {{{_NUMBERS}}}", *_CORNERS, shape=resized_shape)
op(f"ResizeArea{_RESIZED}", f"T: {{{_NUMBERS}}}", _CORNERS[0], shape=resized_shape)
op(
    "ResizeNearestNeighbor(images: T, size: int32) -> (resized_images: T)",
    f"T: {{{_NUMBERS}}}",
    *_CORNERS,
    shape=resized_shape,
)
op(
    "ResizeBilinearGrad(grads: float32, original_image: T) -> (output: T)",
    "T: {float32, bfloat16, float16, float64}",
    *_CORNERS,
    shape=_like_second,
)
op(
    "ResizeBicubicGrad(grads: float32, original_image: T) -> (output: T)",
    "T: {float32, float64}",
    *_CORNERS,
    shape=_like_second,
)
op(
    "ResizeNearestNeighborGrad(grads: T, size: int32) -> (output: T)",
    "T: {uint8, int8, int32, float16, float32, float64, bfloat16}",
    *_CORNERS,
    shape=resized_shape,
)
op(
    "CropAndResize(image: T, boxes: float32, box_ind: int32, crop_size: int32) -> (crops: float32)",
    _CROPPED,
    'method: {"bilinear", "nearest"} = "bilinear"',
    "extrapolation_value: float = 0",
    shape=_crops_shape,
)
op(
    "CropAndResizeGradImage(grads: float32, boxes: float32, box_ind: int32, image_size: int32)"
    " -> (output: T)",
    "T: {float32, float16, float64}",
    'method: {"bilinear", "nearest"} = "bilinear"',
    shape=_crops_image_shape,
)
op(
    "CropAndResizeGradBoxes(grads: float32, image: T, boxes: float32, box_ind: int32) -> (output: float32)",
    _CROPPED,
    'method: {"bilinear"} = "bilinear"',
    shape=lambda op: [op.inputs[2].dims],
)

Sizes = Any
"""int32 [2]: the new height and width."""


def resize_bilinear(
    images: Any,
    size: Sizes,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images resized by linear interpolation (`tf.image.resize_bilinear`).

    Args:
        images: of shape [batch, height, width, channels].
        size: the new height and width.
        align_corners: the centres of the corner pixels stay where they are.
        half_pixel_centers: pixels lie at the centres of a grid, not at its corners.

    Returns:
        float32 of shape [batch, *size, channels].
    """
    return _resized("ResizeBilinear", images, size, align_corners, half_pixel_centers, name)


def resize_bicubic(
    images: Any,
    size: Sizes,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images resized by cubic interpolation (`tf.image.resize_bicubic`); see `resize_bilinear`."""
    return _resized("ResizeBicubic", images, size, align_corners, half_pixel_centers, name)


def resize_nearest_neighbor(
    images: Any,
    size: Sizes,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images resized by taking the nearest pixel, in their own dtype (`tf.image.resize_nearest_neighbor`);
    see `resize_bilinear`."""
    return _resized("ResizeNearestNeighbor", images, size, align_corners, half_pixel_centers, name)


def _resized(op_type: str, images: Any, size: Any, align: bool, centers: bool, name: str | None) -> Tensor:
    return apply_one(op_type, images, size, align_corners=align, half_pixel_centers=centers, name=name)


def resize_area(images: Any, size: Sizes, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Images resized by averaging the area that a new pixel covers (`tf.image.resize_area`);
    see `resize_bilinear`."""
    return apply_one("ResizeArea", images, size, align_corners=align_corners, name=name)


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Boxes cropped from images and resized to one size (`tf.image.crop_and_resize`).

    Args:
        image: of shape [batch, height, width, channels].
        boxes: float32 [boxes, 4]: y1, x1, y2, x2, as fractions of height - 1 and width - 1. Pixels outside
            of an image get `extrapolation_value`; y1 > y2 turns a box upside down.
        box_ind: int32 [boxes]: the number of each box's image. `box_indices` is its newer name.
        crop_size: int32 [2]: height and width of the results.
        method: "bilinear" or "nearest".

    Returns:
        float32 of shape [boxes, *crop_size, channels].
    """
    indices = renamed_argument("box_indices", box_indices, "box_ind", box_ind)
    return apply_one(
        "CropAndResize",
        image,
        boxes,
        indices,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )
