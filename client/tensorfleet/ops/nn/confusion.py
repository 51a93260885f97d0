"""The confusion matrix."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.shaping import rank, squeeze
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import with_dependencies
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.debugging.checks import assert_less, assert_non_negative
from tensorfleet.ops.math.reduction import reduce_max


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Labels and predictions as tensors, without a last dimension of size 1 that one of them has too many.

    Args:
        expected_rank_diff: the rank of the predictions less that of the labels, once both are as they should
            be. Where a rank is unknown, the run decides.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        more, less = expected_rank_diff + 1, expected_rank_diff - 1
        if predictions.ndim is not None and labels.ndim is not None:
            rank_diff = predictions.ndim - labels.ndim
            if rank_diff == more and _may_be_squeezed(predictions):
                predictions = squeeze(predictions, [-1])
            elif rank_diff == less and _may_be_squeezed(labels):
                labels = squeeze(labels, [-1])
            return labels, predictions
        ranks_differ_by = rank(predictions) - rank(labels)
        # As TensorFlow does, of tensors as they came: a branch sees what was, not what the other made.
        if _may_be_squeezed(predictions):
            predictions = _squeezed_if(apply_one("Equal", more, ranks_differ_by), predictions)
        if _may_be_squeezed(labels):
            labels = _squeezed_if(apply_one("Equal", less, ranks_differ_by), labels)
        return labels, predictions


def _may_be_squeezed(tensor: Tensor) -> bool:
    """Whether the last dimension may be of size 1, as far as static shapes tell."""
    return tensor.dims is None or (len(tensor.dims) > 0 and tensor.dims[-1] in (1, None))


def _squeezed_if(pred: Tensor, tensor: Tensor) -> Tensor:
    chosen: Tensor = cond(pred, lambda: squeeze(tensor, [-1]), lambda: tensor)
    return chosen


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """The number of times that each class was predicted for each label (`tf.math.confusion_matrix`).

    Args:
        labels, predictions: integers [n], 0 to num_classes - 1.
        num_classes: by default one more than the largest of both.
        dtype: the dtype of the result.
        weights: the weight of each prediction, [n]; by default 1.

    Returns:
        [num_classes, num_classes]: rows are labels, columns predictions.

    Raises:
        ValueError: incompatible shapes.
        InvalidArgumentError: in a run, for a class that is negative or too large.
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]):
        labels, predictions = remove_squeezable_dimensions(
            convert_to_tensor(labels, name="labels"), convert_to_tensor(predictions, name="predictions")
        )
        predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
        predictions.shape.assert_is_compatible_with(labels.shape)
        labels = with_dependencies(
            [assert_non_negative(labels, message="`labels` contains negative values")], labels
        )
        predictions = with_dependencies(
            [assert_non_negative(predictions, message="`predictions` contains negative values")], predictions
        )
        if num_classes is None:
            size = num_classes = apply_one("Maximum", reduce_max(predictions), reduce_max(labels)) + 1
        else:
            size = cast(num_classes, dtypes.int64)
            labels = with_dependencies([assert_less(labels, size, message="`labels` out of bound")], labels)
            predictions = with_dependencies(
                [assert_less(predictions, size, message="`predictions` out of bound")], predictions
            )
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            predictions.shape.assert_is_compatible_with(weights.shape)
            weights = cast(weights, dtype)
        shape = cast(stack([num_classes, num_classes]), dtypes.int64)
        places = stack([labels, predictions], 1)
        counted = ones_like(predictions, dtype) if weights is None else weights
        return apply_one("ScatterNd", places, counted, shape)
