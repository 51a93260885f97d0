"""Gradients of the ops on images."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import constant_node
from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.joining import stack, unstack
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, shape_of

_FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64)


def _corners(op: Operation) -> dict[str, Any]:
    return {name: op.attrs[name] for name in ("align_corners", "half_pixel_centers")}


@gradient("ResizeNearestNeighbor")
def _nearest(op: Operation, grad: Tensor) -> list[Tensor | None]:
    image = op.inputs[0]
    size = (image.dims or (None,) * 4)[1:3]
    wanted = apply_one("Shape", image)[1:3] if None in size else ints(size)
    return [apply_one("ResizeNearestNeighborGrad", grad, wanted, **_corners(op)), None]


@gradient("ResizeBilinear")
def _bilinear(op: Operation, grad: Tensor) -> list[Tensor | None]:
    image = op.inputs[0]
    if image.dtype.base not in (*_FLOATS, dtypes.bfloat16):
        return [None, None]
    return [apply_one("ResizeBilinearGrad", grad, image, **_corners(op)), None]


@gradient("ResizeBicubic")
def _bicubic(op: Operation, grad: Tensor) -> list[Tensor | None]:
    image = op.inputs[0]
    if image.dtype.base not in (dtypes.float32, dtypes.float64):
        return [None, None]
    return [apply_one("ResizeBicubicGrad", grad, image, **_corners(op)), None]


@gradient("CropAndResize")
def _crop_and_resize(op: Operation, grad: Tensor) -> list[Tensor | None]:
    image, boxes, indices, _ = op.inputs
    by_image = None
    if image.dtype.base in _FLOATS:
        by_image = apply_one(
            "CropAndResizeGradImage",
            grad,
            boxes,
            indices,
            shape_of(image),
            T=image.dtype.base,
            method=op.attrs["method"],
        )
    # The nearest pixel is constant in the box; as in TensorFlow, the gradient is that of interpolation.
    by_boxes = apply_one("CropAndResizeGradBoxes", grad, image, boxes, indices)
    return [by_image, by_boxes, None, None]


@gradient("ExtractImagePatches")
def _image_patches(op: Operation, grad: Tensor) -> Tensor:
    return _summed_patches(op, grad, 2, {"rates": op.attrs["rates"]})


@gradient("ExtractVolumePatches")
def _volume_patches(op: Operation, grad: Tensor) -> Tensor:
    return _summed_patches(op, grad, 3, {})


def _summed_patches(op: Operation, grad: Tensor, rank: int, rates: dict[str, Any]) -> Tensor:
    """The gradients of all patches, summed at the pixels that they show.

    Patches of an image of pixel numbers tell which pixels these are; 0 stands for the padding.
    """
    attrs = {name: op.attrs[name] for name in ("ksizes", "strides", "padding")} | rates
    window = op.attrs["ksizes"][1:-1]
    batch, *sizes, channels = unstack(shape_of(op.inputs[0], np.int64), rank + 2)
    counts = unstack(shape_of(op.outputs[0], np.int64), rank + 2)[1:-1]
    total = sizes[0]
    for extent in sizes[1:]:
        total = total * extent
    one = constant_node(np.int64(1), "Const")
    numbers = apply_one("Range", one, total + one, one)
    # float64 represents all pixel numbers exactly, and both ops take it.
    image = apply_one("Reshape", apply_one("Cast", numbers, DstT=dtypes.float64), stack([one, *sizes, one]))
    seen = apply_one("Cast", apply_one(op.type, image, **attrs), DstT=dtypes.int64)
    window_sizes = [constant_node(np.int64(extent), "Const") for extent in window]
    apart = apply_one("Reshape", grad, stack([batch, *counts, *window_sizes, channels]))
    inner = list(range(1, 1 + 2 * rank))
    rows = apply_one("Transpose", apart, ints([*inner, 0, 1 + 2 * rank]))
    rows = apply_one("Reshape", rows, stack([constant_node(np.int64(-1), "Const"), batch * channels]))
    places = apply_one("Reshape", seen, ints([-1])) - one
    summed = apply_one("UnsortedSegmentSum", rows, places, total)
    summed = apply_one("Reshape", summed, stack([*sizes, batch, channels]))
    return apply_one("Transpose", summed, ints([rank, *range(rank), rank + 1]))


@gradient("RGBToHSV")
def _rgb_to_hsv(op: Operation, grad: Tensor) -> Tensor:
    """The gradient by the formulas of hue, saturation and value. Of equal channels one counts as the largest;
    the gradient of hue is 0 where the image is grey."""
    image = op.inputs[0]
    dtype = image.dtype.base
    red, green, blue = unstack(image, 3, axis=-1)
    by_hue, by_saturation, by_value = unstack(grad, 3, axis=-1)
    zero, one = (constant_node(np.array(n, dtype.as_numpy_dtype)[()], "Const") for n in (0, 1))

    def flag(condition: Tensor) -> Tensor:
        return apply_one("Cast", condition, DstT=dtype)

    def at_least(x: Tensor, *others: Tensor) -> Tensor:
        met = [apply_one("GreaterEqual", x, other) for other in others]
        return apply_one("LogicalAnd", *met)

    def above(x: Tensor, *others: Tensor) -> Tensor:
        met = [apply_one("Greater", x, other) for other in others]
        return apply_one("LogicalAnd", *met)

    red_largest = at_least(red, green, blue)
    green_largest = apply_one(
        "LogicalAnd", apply_one("LogicalNot", red_largest), apply_one("GreaterEqual", green, blue)
    )
    largest = [flag(red_largest), flag(green_largest)]
    largest.append(one - largest[0] - largest[1])
    red_least = apply_one("LogicalAnd", apply_one("Less", red, green), apply_one("Less", red, blue))
    blue_least = apply_one("LogicalAnd", apply_one("LogicalNot", red_least), apply_one("Less", blue, green))
    least = [flag(red_least), zero, flag(blue_least)]
    least[1] = one - least[0] - least[2]
    channels = [red, green, blue]
    value = apply_one("Maximum", apply_one("Maximum", red, green), blue)
    lowest = apply_one("Minimum", apply_one("Minimum", red, green), blue)
    spread = value - lowest
    # s = (max - min) / max
    saturated = apply_one("DivNoNan", lowest, value * value)
    inverse = apply_one("DivNoNan", one, value)
    sixth = apply_one("DivNoNan", one, spread * like6(dtype))
    # With the largest channel i, hue is (next - following) / spread / 6, plus i / 3.
    result = []
    for i in range(3):
        by = by_value * largest[i] + by_saturation * (saturated * largest[i] - inverse * least[i])
        hue = zero
        for top in range(3):
            upper, lower = channels[(top + 1) % 3], channels[(top + 2) % 3]
            direct = {(top + 1) % 3: one, (top + 2) % 3: zero - one}.get(i, zero)
            through = apply_one("DivNoNan", upper - lower, spread)
            hue = hue + largest[top] * (direct - through * (largest[i] - least[i]))
        result.append(by + by_hue * hue * sixth)
    return stack(result, axis=-1)


def like6(dtype: dtypes.DType) -> Tensor:
    return constant_node(np.array(6, dtype.as_numpy_dtype)[()], "Const")


not_differentiable("ResizeBilinearGrad", "DrawBoundingBoxes", "DrawBoundingBoxesV2")
not_differentiable("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2")
not_differentiable("ExtractGlimpse")
not_differentiable("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3")
not_differentiable("NonMaxSuppressionV4", "NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps")
no_rule("AdjustContrast", "AdjustContrastv2", "AdjustHue", "AdjustSaturation")
not_differentiable("HSVToRGB")
no_rule("CombinedNonMaxSuppression", "ResizeArea", "ResizeBicubicGrad", "ResizeNearestNeighborGrad")
no_rule("CropAndResizeGradBoxes", "CropAndResizeGradImage")
no_rule("DecodeAndCropJpeg", "DecodeBmp", "DecodeGif", "DecodeImage", "DecodeJpeg", "DecodePng")
no_rule("EncodeJpeg", "EncodeJpegVariableQuality", "EncodePng", "ExtractJpegShape")
