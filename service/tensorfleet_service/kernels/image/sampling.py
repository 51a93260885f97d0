"""A random part of an image that shows enough of an object: SampleDistortedBoundingBox.

With seeds it draws TensorFlow's numbers, in its order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet_service.kernels.image.common import Array
from tensorfleet_service.kernels.image.limits import MAX_ATTEMPTS
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import host_kernel, invalid, shape_text
from tensorfleet_service.state import philox

_F = np.float32
Rectangle = tuple[int, int, int, int]
"""First column and row, and the columns and rows after the last."""


class _Draws:
    """Single random numbers of a stream."""

    def __init__(self, stream: philox.Stream) -> None:
        self._numbers = self._all(stream)

    def _all(self, stream: philox.Stream) -> Iterator[int]:
        while True:
            yield from stream.numbers(64).reshape(-1).tolist()
            stream = stream.skip(64)

    def unit(self) -> np.float32:
        """A float in [0, 1)."""
        mantissa = np.uint32((next(self._numbers) & 0x7FFFFF) | 127 << 23)
        return mantissa.view(_F) - _F(1)

    def below(self, limit: int) -> int:
        """An integer in [0, limit), each equally likely."""
        if limit & (limit - 1) == 0:
            return next(self._numbers) & (limit - 1)
        accepted = 0xFFFFFFFF - (0xFFFFFFFF % limit + 1)
        while (number := next(self._numbers)) > accepted:
            pass
        return number % limit


def _rounded(value: np.float32) -> int:
    """The nearest integer, halves to even, as by C's lrintf."""
    return int(np.rint(value))


def _random_part(
    width: int, height: int, area_range: tuple[float, float], ratio: np.float32, draws: _Draws
) -> Rectangle | None:
    """A part of the image whose width is `ratio` times its height; None where none fits."""
    lowest, highest = _F(area_range[0]), _F(area_range[1])
    if highest <= 0 or ratio <= 0 or width <= 0 or height <= 0 or lowest > highest:
        return None
    least, most = lowest * _F(width) * _F(height), highest * _F(width) * _F(height)
    rows = _rounded(np.sqrt(least / ratio))
    max_rows = _rounded(np.sqrt(most / ratio))
    if _rounded(_F(max_rows) * ratio) > width:
        max_rows = int((width + 0.5 - 1e-7) / float(ratio))
        if _rounded(_F(max_rows) * ratio) > width:
            max_rows -= 1
    max_rows = min(max_rows, height)
    rows = min(rows, max_rows)
    if rows < max_rows:
        rows += draws.below(max_rows - rows + 1)
    columns = _rounded(_F(rows) * ratio)
    if columns * rows < least:
        rows += 1
        columns = _rounded(_F(rows) * ratio)
    if columns * rows > most:
        rows -= 1
        columns = _rounded(_F(rows) * ratio)
    area = columns * rows
    if not (least <= area <= most and 0 < columns <= width and 0 < rows <= height):
        return None
    y = draws.below(height - rows) if rows < height else 0
    x = draws.below(width - columns) if columns < width else 0
    return x, y, x + columns, y + rows


def _area(x1: int, y1: int, x2: int, y2: int) -> int:
    return max(0, x2 - x1) * max(0, y2 - y1)


def _shows_enough(part: Rectangle, objects: list[Rectangle], wanted: np.float32) -> bool:
    if _area(*part) < 1:
        return False
    for found in objects:
        own = _area(*found)
        if own < 1:
            continue
        common = _area(*(max(a, b) for a, b in zip(part[:2], found[:2], strict=True)),
                       *(min(a, b) for a, b in zip(part[2:], found[2:], strict=True)))  # fmt: skip
        if _F(common) / _F(own) >= wanted:
            return True
    return False


def _objects(boxes: Array, width: int, height: int, whole_if_none: bool) -> list[Rectangle]:
    found: list[Rectangle] = []
    for y1, x1, y2, x2 in boxes.reshape(-1, 4):
        for low, high, name in ((y1, y2, "y"), (x1, x2, "x")):
            if not (0 <= low <= 1 and 0 <= high <= 1):
                raise invalid(f"All bounding box coordinates must be in [0.0, 1.0]: {low}, {high}")
            if not low < high:
                raise invalid(f"{name}_min of bounding box must be less than {name}_max: {low}, {high}")
        ends = _F(width), _F(height)
        found.append((int(x1 * ends[0]), int(y1 * ends[1]), int(x2 * ends[0]), int(y2 * ends[1])))
    if not found:
        if not whole_if_none:
            raise invalid(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if "
                "you wish to not provide any bounding boxes."
            )
        found.append((0, 0, width, height))
    return found


def _check_attrs(attrs: dict[str, Any]) -> None:
    for name, upper in (("aspect_ratio_range", math.inf), ("area_range", 1.0)):
        values = attrs[name]
        if len(values) != 2:
            raise invalid(f"{name.replace('_range', ' range')} field must specify 2 dimensions")
        if not values[0] > 0 or not values[0] <= values[1] <= upper:
            raise invalid(
                f"{name.replace('_range', ' range')} must be positive, and ascending: {list(values)}"
            )
    if attrs["max_attempts"] <= 0:
        raise invalid(f"Max attempts must be positive: {attrs['max_attempts']}")
    if attrs["max_attempts"] > MAX_ATTEMPTS:
        raise invalid(f"max_attempts is {attrs['max_attempts']}, at most {MAX_ATTEMPTS} are allowed")


@host_kernel("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2")
def sample_distorted_bounding_box(node: KernelNode) -> Kernel:
    attrs = node.attrs
    _check_attrs(attrs)
    seeds = attrs["seed"], attrs["seed2"]
    if not any(seeds):
        seeds = tuple(np.random.Generator(np.random.SFC64()).integers(1, 2**63, 2).tolist())
    stream = philox.seeded_stream(*seeds)
    ratios = attrs["aspect_ratio_range"]
    least_ratio, most_ratio = _F(ratios[0]), _F(ratios[1])
    attempts = attrs["max_attempts"]

    def run(image_size: Array, boxes: Array, covered: Any = None) -> tuple[Array, Array, Array]:
        if image_size.shape != (3,):
            raise invalid(f"image_size must contain 3 elements, got shape {shape_text(image_size.shape)}")
        if boxes.ndim != 3 or boxes.shape[2] != 4:
            raise invalid(f"input boxes must be [batch, num_boxes, 4], got shape {shape_text(boxes.shape)}")
        height, width = int(image_size[0]), int(image_size[1])
        if height <= 0 or width <= 0:
            raise invalid(f"image height and width must be positive, got {height} x {width}")
        wanted = _F(attrs["min_object_covered"] if covered is None else covered)
        if not wanted >= 0:
            raise invalid(f"Min object covered must be non-negative: {wanted}")
        objects = _objects(boxes, width, height, attrs["use_image_if_no_bounding_boxes"])
        draws = _Draws(stream.reserve(attempts))
        part: Rectangle = (0, 0, width, height)
        for _ in range(attempts):
            ratio = draws.unit() * (most_ratio - least_ratio) + least_ratio
            found = _random_part(width, height, attrs["area_range"], ratio, draws)
            if found is not None and _shows_enough(found, objects, wanted):
                part = found
                break
        x1, y1, x2, y2 = part
        kind = image_size.dtype
        bounds = np.array([y1, x1, y2, x2], _F) / np.array([height, width, height, width], _F)
        size = np.array([y2 - y1, x2 - x1, -1]).astype(kind)
        return np.array([y1, x1, 0]).astype(kind), size, bounds.reshape(1, 1, 4)

    return run
