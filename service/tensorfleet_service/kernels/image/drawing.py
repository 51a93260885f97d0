"""Outlines of boxes, drawn into images: DrawBoundingBoxes, DrawBoundingBoxesV2."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.image.common import Array, check_rank
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import host_kernel, invalid, shape_text

# Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
_COLOURS = np.array(
    [
        *([1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1]),
        *([0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]),
    ],
    np.float32,
)


@host_kernel("DrawBoundingBoxes", "DrawBoundingBoxesV2")
def draw_bounding_boxes(node: KernelNode) -> Kernel:
    def run(images: Array, boxes: Array, *colours: Array) -> Array:
        check_rank(images, 4, "The rank of the images")
        check_rank(boxes, 3, "The rank of the boxes tensor")
        if len(images) != len(boxes) or boxes.shape[2] != 4:
            raise invalid(f"boxes {shape_text(boxes.shape)} do not fit images {shape_text(images.shape)}")
        depth = images.shape[3]
        if depth not in (1, 3, 4):
            raise invalid(f"Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got {depth}")
        table = _table(depth, *colours)
        result = images.copy()
        for image, own in zip(result, boxes, strict=True):
            for number, box in enumerate(own):
                _draw(image, box, table[number % len(table)])
        return result

    return run


def _table(depth: int, colours: Array | None = None) -> Array:
    table = _COLOURS if colours is None or not colours.size else colours
    if table.ndim != 2 or table.shape[1] < depth:
        raise invalid(f"colors have shape {shape_text(table.shape)}, for images of {depth} channels")
    # Grey images get white boxes.
    return np.ones((1, 1), np.float32) if depth == 1 and table is _COLOURS else table[:, :depth]


def _draw(image: Any, box: Array, colour: Array) -> None:
    height, width = image.shape[:2]
    scaled = box * np.array([height - 1, width - 1, height - 1, width - 1], np.float32)
    if not np.isfinite(scaled).all():
        return
    top, left, bottom, right = (int(n) for n in scaled.clip(-(2.0**62), 2.0**62))
    if top > bottom or left > right or top >= height or left >= width or bottom < 0 or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    if top >= 0:
        image[top, columns] = colour
    if bottom < height:
        image[bottom, columns] = colour
    if left >= 0:
        image[rows, left] = colour
    if right < width:
        image[rows, right] = colour
