"""The choice among boxes that overlap: the NonMaxSuppression ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.kernels.image.common import Array, check_rank
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import host_kernel, invalid, shape_text
from tensorfleet_service.threads.running import check as check_step

_NO_THRESHOLD = -np.inf
Overlap = Callable[[int], Array]
"""A function from the index of a box to the overlap of each box with it."""


def overlap_of(boxes: Array) -> Overlap:
    """The intersection over union of boxes [n, 4]."""
    boxes = boxes.astype(np.float32, copy=False)
    top, bottom = np.minimum(boxes[:, 0], boxes[:, 2]), np.maximum(boxes[:, 0], boxes[:, 2])
    left, right = np.minimum(boxes[:, 1], boxes[:, 3]), np.maximum(boxes[:, 1], boxes[:, 3])
    area = (bottom - top) * (right - left)

    def overlap(i: int) -> Array:
        height = np.minimum(bottom, bottom[i]) - np.maximum(top, top[i])
        width = np.minimum(right, right[i]) - np.maximum(left, left[i])
        common = np.maximum(height, 0) * np.maximum(width, 0)
        some = (area > 0) & (area[i] > 0)
        return np.where(some, common / np.where(some, area + area[i] - common, 1), 0)

    return overlap


def choose(
    scores: Array, overlap: Overlap, limit: int, threshold: float, lowest: float, sigma: float = 0.0
) -> tuple[Array, Array]:
    """The indices of the chosen boxes, by descending score, and their scores.

    Of equal scores the first box comes first. With `sigma`, overlap lowers the scores of the other boxes,
    and no threshold of the overlap rules any out.
    """
    left = scores.astype(np.float32)
    # NaN is above no threshold.
    alive = left > lowest
    chosen: list[int] = []
    found: list[np.float32] = []
    while len(chosen) < limit and alive.any():
        check_step()
        best = int(np.argmax(np.where(alive, left, -np.inf)))
        if not alive[best]:
            best = int(np.flatnonzero(alive)[0])  # all that remain are -inf
        chosen.append(best)
        found.append(left[best])
        alive[best] = False
        shared = overlap(best)
        if sigma > 0:
            left *= np.exp(np.float32(-0.5 / sigma) * shared * shared)
            alive &= left > lowest
        else:
            alive &= ~(shared > threshold)
    return np.array(chosen, np.int32), np.array(found, np.float32)


def _checked(boxes: Array, scores: Array, size: Any, threshold: float) -> int:
    check_rank(boxes, 2, "boxes")
    if boxes.shape[1] != 4:
        raise invalid(f"boxes must have 4 columns, got shape {shape_text(boxes.shape)}")
    return _checked_scores(len(boxes), scores, size, threshold)


def _checked_scores(count: int, scores: Array, size: Any, threshold: float | None) -> int:
    if scores.shape != (count,):
        raise invalid(f"scores has incompatible shape {shape_text(scores.shape)} with {count} boxes")
    if size.ndim:
        raise invalid(f"max_output_size must be 0-D, got shape {shape_text(size.shape)}")
    if threshold is not None and not 0 <= threshold <= 1:
        raise invalid("iou_threshold must be in [0, 1]")
    return int(size)


def _non_negative(size: int) -> int:
    if size < 0:
        raise invalid(f"max_output_size must be non-negative, got {size}")
    return size


@host_kernel("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", lasting=True)
def non_max_suppression(node: KernelNode) -> Kernel:
    given = node.attrs.get("iou_threshold", 0.5)

    def run(boxes: Array, scores: Array, size: Array, *limits: Array) -> Array:
        threshold = float(limits[0]) if limits else given
        lowest = float(limits[1]) if len(limits) > 1 else _NO_THRESHOLD
        limit = _non_negative(_checked(boxes, scores, size, threshold))
        return choose(scores, overlap_of(boxes), limit, threshold, lowest)[0]

    return run


@host_kernel("NonMaxSuppressionV4", "NonMaxSuppressionV5", lasting=True)
def non_max_suppression_padded(node: KernelNode) -> Kernel:
    is_padded, with_scores = node.attrs["pad_to_max_output_size"], node.op.endswith("V5")

    def run(boxes: Array, scores: Array, size: Array, *limits: Array) -> tuple[Any, ...]:
        threshold, lowest, *sigma = map(float, limits)
        if sigma and sigma[0] < 0:
            raise invalid("soft_nms_sigma must be non-negative")
        limit = _non_negative(_checked(boxes, scores, size, threshold))
        chosen, found = choose(scores, overlap_of(boxes), limit, threshold, lowest, *sigma)
        count = np.int32(len(chosen))
        if is_padded:
            chosen, found = (np.pad(values, (0, limit - len(values))) for values in (chosen, found))
        return (chosen, found.astype(scores.dtype), count) if with_scores else (chosen, count)

    return run


@host_kernel("NonMaxSuppressionWithOverlaps", lasting=True)
def non_max_suppression_overlaps(node: KernelNode) -> Kernel:
    def run(overlaps: Array, scores: Array, size: Array, threshold: Array, lowest: Array) -> Array:
        if overlaps.ndim != 2 or overlaps.shape[0] != overlaps.shape[1]:
            raise invalid(f"overlaps must be square, got shape {shape_text(overlaps.shape)}")
        limit = _non_negative(_checked_scores(len(overlaps), scores, size, None))
        return choose(scores, lambda i: overlaps[:, i], limit, float(threshold), float(lowest))[0]

    return run


@host_kernel("CombinedNonMaxSuppression", lasting=True)
def combined_non_max_suppression(node: KernelNode) -> Kernel:
    pad_per_class, clip = node.attrs["pad_per_class"], node.attrs["clip_boxes"]

    def run(
        boxes: Array, scores: Array, per_class: Array, total: Array, threshold: Array, lowest: Array
    ) -> tuple[Array, ...]:
        check_rank(boxes, 4, "boxes")
        check_rank(scores, 3, "scores")
        batch, count, classes = scores.shape
        if boxes.shape[:2] != (batch, count) or boxes.shape[3] != 4 or boxes.shape[2] not in (1, classes):
            raise invalid(f"boxes {shape_text(boxes.shape)} do not fit scores {shape_text(scores.shape)}")
        if total.ndim or per_class.ndim or threshold.ndim or lowest.ndim:
            raise invalid("sizes and thresholds must be 0-D")
        if int(per_class) <= 0:
            raise invalid("max_size_per_class must be positive")
        if int(total) <= 0:
            raise invalid("max_total_size should be > 0")
        if not 0 <= float(threshold) <= 1:
            raise invalid("iou_threshold must be in [0, 1]")
        size = min(int(total), int(per_class) * classes) if pad_per_class else int(total)
        results = (
            np.zeros((batch, size, 4), np.float32),
            np.zeros((batch, size), np.float32),
            np.zeros((batch, size), np.float32),
            np.zeros(batch, np.int32),
        )
        for i in range(batch):
            found = _of_all_classes(boxes[i], scores[i], int(per_class), float(threshold), float(lowest))
            n = min(size, len(found[0]))
            for result, values in zip(results[:3], found, strict=True):
                result[i, :n] = values[:n]
            results[3][i] = n
        if clip:
            np.clip(results[0], 0, 1, out=results[0])
        return results

    return run


def _of_all_classes(
    boxes: Array, scores: Array, limit: int, threshold: float, lowest: float
) -> tuple[Array, Array, Array]:
    """The boxes of one image, with their scores and classes, by descending score."""
    parts = []
    for number in range(scores.shape[1]):
        own = boxes[:, min(number, boxes.shape[1] - 1)]
        chosen, found = choose(scores[:, number], overlap_of(own), limit, threshold, lowest)
        parts.append((own[chosen], found, np.full(len(chosen), number, np.float32)))
    chosen_boxes, found, numbers = (np.concatenate(values) for values in zip(*parts, strict=True))
    order = np.argsort(-found, kind="stable")
    return chosen_boxes[order], found[order], numbers[order]
