"""Boxes in images: drawing, non-maximum suppression, and random boxes."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.functional.map_fn import map_fn
from tensorfleet.ops.shape_rules import merge_dim, with_rank


def _distorted_shape(op: RuleNode) -> list[Dims]:
    merge_dim(with_rank(op.inputs[0].dims, 1)[0], 3)
    merge_dim(with_rank(op.inputs[1].dims, 3)[2], 4)
    for tensor in op.inputs[2:3]:
        with_rank(tensor.dims, 0)
    return [(3,), (3,), (1, 1, 4)]


def _check_boxes(op: RuleNode) -> None:
    boxes, scores = with_rank(op.inputs[0].dims, 2), with_rank(op.inputs[1].dims, 1)
    merge_dim(boxes[0], scores[0])
    merge_dim(boxes[1], 4)
    for tensor in op.inputs[2:]:
        with_rank(tensor.dims, 0)


def _chosen_shape(op: RuleNode) -> list[Dims]:
    _check_boxes(op)
    return [(None,)]


def _count(tensor: RuleTensor) -> int | None:
    value = static_value(tensor)
    return None if value is None else int(value)


def _padded_shape(op: RuleNode) -> list[Dims]:
    _check_boxes(op)
    count = _count(op.inputs[2]) if op.attrs["pad_to_max_output_size"] else None
    return [(count,), *([(count,)] if len(op.outputs) == 3 else []), ()]


def _overlaps_shape(op: RuleNode) -> list[Dims]:
    overlaps, scores = with_rank(op.inputs[0].dims, 2), with_rank(op.inputs[1].dims, 1)
    merge_dim(merge_dim(overlaps[0], scores[0]), overlaps[1])
    for tensor in op.inputs[2:]:
        with_rank(tensor.dims, 0)
    return [(None,)]


def _combined_shape(op: RuleNode) -> list[Dims]:
    boxes, scores = with_rank(op.inputs[0].dims, 4), with_rank(op.inputs[1].dims, 3)
    merge_dim(boxes[3], 4)
    merge_dim(boxes[1], scores[1])
    if boxes[2] is not None and boxes[2] != 1 and scores[2] is not None and boxes[2] != scores[2]:
        raise ValueError(
            "third dimension of boxes must be either 1 or equal to the third dimension of scores"
        )
    for tensor in op.inputs[2:]:
        with_rank(tensor.dims, 0)
    size, batch = _count(op.inputs[3]), merge_dim(boxes[0], scores[0])
    if size is not None and size <= 0:
        raise ValueError("max_total_size should be > 0 ")
    per_class, classes = _count(op.inputs[2]), scores[2]
    if size is not None and op.attrs["pad_per_class"]:
        size = None if per_class is None or classes is None else min(size, per_class * classes)
    return [(batch, size, 4), (batch, size), (batch, size), (batch,)]


def _drawn_shape(op: RuleNode) -> list[Dims]:
    images, boxes = with_rank(op.inputs[0].dims, 4), with_rank(op.inputs[1].dims, 3)
    merge_dim(boxes[2], 4)
    for tensor in op.inputs[2:]:
        with_rank(tensor.dims, 2)
    return [images]


_HALF = "{float16, float32} = float32"
_DISTORTED = (
    "T: {uint8, int8, int16, int32, int64}",
    "seed: int = 0",
    "seed2: int = 0",
)
_RANGES = (
    "aspect_ratio_range: list(float) = [0.75, 1.33]",
    "area_range: list(float) = [0.05, 1]",
    "max_attempts: int = 100",
    "use_image_if_no_bounding_boxes: bool = false",
)
_WINDOW = "(begin: T, size: T, bboxes: float32)"

op(
    f"SampleDistortedBoundingBox(image_size: T, bounding_boxes: float32) -> {_WINDOW}",
    *_DISTORTED,
    "min_object_covered: float = 0.1",
    *_RANGES,
    shape=_distorted_shape,
    stateful=True,
)
op(
    "SampleDistortedBoundingBoxV2(image_size: T, bounding_boxes: float32, min_object_covered: float32)"
    f" -> {_WINDOW}",
    *_DISTORTED,
    *_RANGES,
    shape=_distorted_shape,
    stateful=True,
)
op(
    "NonMaxSuppression(boxes: float32, scores: float32, max_output_size: int32) -> (selected_indices: int32)",
    "iou_threshold: float = 0.5",
    shape=_chosen_shape,
)
op(
    "NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold)"
    " -> (selected_indices: int32)",
    f"T: {_HALF}",
    f"T_threshold: {_HALF}",
    shape=_chosen_shape,
)
op(
    "NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold,"
    " score_threshold: T_threshold) -> (selected_indices: int32)",
    f"T: {_HALF}",
    f"T_threshold: {_HALF}",
    shape=_chosen_shape,
)
op(
    "NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold,"
    " score_threshold: T_threshold) -> (selected_indices: int32, valid_outputs: int32)",
    f"T: {_HALF}",
    f"T_threshold: {_HALF}",
    "pad_to_max_output_size: bool = false",
    shape=_padded_shape,
)
op(
    "NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T,"
    " soft_nms_sigma: T) -> (selected_indices: int32, selected_scores: T, valid_outputs: int32)",
    f"T: {_HALF}",
    "pad_to_max_output_size: bool = false",
    shape=_padded_shape,
)
op(
    "NonMaxSuppressionWithOverlaps(overlaps: float32, scores: float32, max_output_size: int32,"
    " overlap_threshold: float32, score_threshold: float32) -> (selected_indices: int32)",
    shape=_overlaps_shape,
)
op(
    "CombinedNonMaxSuppression(boxes: float32, scores: float32, max_output_size_per_class: int32,"
    " max_total_size: int32, iou_threshold: float32, score_threshold: float32)"
    " -> (nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32)",
    "pad_per_class: bool = false",
    "clip_boxes: bool = true",
    shape=_combined_shape,
)
op("DrawBoundingBoxes(images: T, boxes: float32) -> (output: T)", f"T: {_HALF}", shape=_drawn_shape)
op(
    "DrawBoundingBoxesV2(images: T, boxes: float32, colors: float32) -> (output: T)",
    f"T: {_HALF}",
    shape=_drawn_shape,
)


def draw_bounding_boxes(images: Any, boxes: Any, name: str | None = None, colors: Any = None) -> Tensor:
    """Images with the outlines of boxes drawn into them (`tf.image.draw_bounding_boxes`).

    Args:
        images: float32 or float16 of shape [batch, height, width, channels], 0 to 1.
        boxes: float32 [batch, boxes, 4]: y1, x1, y2, x2, as fractions of height and width.
        colors: [colors, channels], used in turn; by default ten colours.
    """
    if colors is None:
        return apply_one("DrawBoundingBoxes", images, boxes, name=name)
    return apply_one("DrawBoundingBoxesV2", images, boxes, colors, name=name)


_NO_THRESHOLD = float("-inf")


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NO_THRESHOLD,
    name: str | None = None,
) -> Tensor:
    """The indices of the boxes with the highest scores, of which no two overlap much
    (`tf.image.non_max_suppression`).

    Args:
        boxes: [boxes, 4]: y1, x1, y2, x2.
        scores: [boxes].
        max_output_size: the greatest number of boxes to choose.
        iou_threshold: the greatest allowed overlap of two boxes, as their intersection over their union.
        score_threshold: the least score of chosen boxes.

    Returns:
        int32, ordered by descending score.
    """
    with name_scope(name, "non_max_suppression"):
        overlap = convert_to_tensor(iou_threshold, name="iou_threshold")
        lowest = convert_to_tensor(score_threshold, name="score_threshold")
        return apply_one("NonMaxSuppressionV3", boxes, scores, max_output_size, overlap, lowest)


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NO_THRESHOLD,
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression` that also gives the scores (`tf.image.non_max_suppression_with_scores`).

    Args:
        soft_nms_sigma: if positive, overlap lowers the score of a box instead of removing it.
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        overlap = convert_to_tensor(iou_threshold, name="iou_threshold")
        lowest = convert_to_tensor(score_threshold, name="score_threshold")
        sigma = convert_to_tensor(soft_nms_sigma, name="soft_nms_sigma")
        made = apply_op("NonMaxSuppressionV5", boxes, scores, max_output_size, overlap, lowest, sigma)
        return made[0], made[1]


class NonMaxSuppressionV4(NamedTuple):
    """What `tf.image.non_max_suppression_padded` returns for boxes without a batch."""

    selected_indices: Tensor
    """[chosen] or [max_output_size], int32."""
    valid_outputs: Tensor
    """A scalar, int32: how many of them are chosen."""


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NO_THRESHOLD,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression` that also gives the number of chosen boxes
    (`tf.image.non_max_suppression_padded`).

    Args:
        boxes, scores: [..., boxes, 4] and [..., boxes]; leading dimensions require padded results.
        pad_to_max_output_size: pad the indices with zeros to the length `max_output_size`.
        sorted_input, canonicalized_coordinates, tile_size: hints that are not used.
    """
    with name_scope(name, "non_max_suppression_padded"):
        overlap = convert_to_tensor(iou_threshold, name="iou_threshold")
        lowest = convert_to_tensor(score_threshold, name="score_threshold")
        limit = convert_to_tensor(max_output_size, dtypes.int32)
        boxes, scores = convert_to_tensor(boxes), convert_to_tensor(scores)

        def choose(of: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            made = apply_op(
                "NonMaxSuppressionV4",
                *of,
                limit,
                overlap,
                lowest,
                pad_to_max_output_size=pad_to_max_output_size,
            )
            return made[0], made[1]

        if boxes.dims is None or len(boxes.dims) <= 2:
            return NonMaxSuppressionV4(*choose((boxes, scores)))
        if not pad_to_max_output_size:
            raise ValueError("'pad_to_max_output_size' (value False) must be True for batched input")
        batch = shape(boxes)[:-2]
        rows = reshape(boxes, concat([[-1], shape(boxes)[-2:]], 0))
        flat = reshape(scores, concat([[-1], shape(scores)[-1:]], 0))
        chosen, counts = map_fn(choose, (rows, flat), dtype=(dtypes.int32, dtypes.int32))
        chosen = reshape(chosen, concat([batch, expand_dims(limit, 0)], 0))
        return chosen, reshape(counts, batch)


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = _NO_THRESHOLD,
    name: str | None = None,
) -> Tensor:
    """`non_max_suppression` with given overlaps, [boxes, boxes]
    (`tf.image.non_max_suppression_overlaps`)."""
    with name_scope(name, "non_max_suppression_overlaps"):
        limit = convert_to_tensor(overlap_threshold, name="overlap_threshold")
        return apply_one(
            "NonMaxSuppressionWithOverlaps", overlaps, scores, max_output_size, limit, score_threshold
        )


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NO_THRESHOLD,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """`non_max_suppression` for each class of each image (`tf.image.combined_non_max_suppression`).

    Args:
        boxes: [batch, boxes, q, 4], where q is 1 or the number of classes.
        scores: [batch, boxes, classes].
        max_output_size_per_class, max_total_size: the greatest number of boxes of a class, and of an image.
        pad_per_class: pad the results only to the sum of the classes' limits, if that is less than
            `max_total_size`.
        clip_boxes: clip the boxes to [0, 1].

    Returns:
        nmsed_boxes [batch, size, 4], nmsed_scores and nmsed_classes [batch, size], all float32, and
        valid_detections, int32 [batch].
    """
    with name_scope(name, "combined_non_max_suppression"):
        overlap = convert_to_tensor(iou_threshold, dtypes.float32, name="iou_threshold")
        lowest = convert_to_tensor(score_threshold, dtypes.float32, name="score_threshold")
        total = convert_to_tensor(max_total_size)
        return apply_op(
            "CombinedNonMaxSuppression",
            boxes,
            scores,
            max_output_size_per_class,
            total,
            overlap,
            lowest,
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """A random part of an image that shows enough of an object (`tf.image.sample_distorted_bounding_box`).

    Args:
        image_size: integers [3]: height, width, channels.
        bounding_boxes: float32 [batch, boxes, 4]: y1, x1, y2, x2 of the objects, 0 to 1.
        seed, seed2: seeds, for the same random numbers in each session.
        min_object_covered: the least fraction of one of the objects that the part has to show.
        aspect_ratio_range: the least and the greatest ratio of width to height.
        area_range: the least and the greatest area, as fractions of the image.
        max_attempts: the number of failed attempts after which the whole image is given.
        use_image_if_no_bounding_boxes: if there are no objects, take the whole image as one.

    Returns:
        begin and size, for `tf.slice`, and bboxes, float32 [1, 1, 4], for `draw_bounding_boxes`.
    """
    with name_scope(name, "sample_distorted_bounding_box"):
        return apply_op(
            "SampleDistortedBoundingBoxV2",
            image_size,
            bounding_boxes,
            min_object_covered,
            seed=seed,
            seed2=seed2,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            max_attempts=max_attempts,
            use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes,
            name=name,
        )
