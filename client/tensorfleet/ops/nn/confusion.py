"""The confusion matrix."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import control_dependencies, name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging.checks import assert_less, assert_non_negative
from tensorfleet.ops.math.reduction import reduce_max


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
        dtype: of the result.
        weights: what each prediction counts, [n]; by default 1.

    Returns:
        [num_classes, num_classes]: rows are labels, columns predictions.

    Raises:
        ValueError: shapes that do not go together.
        InvalidArgumentError: in a run, for a class that is negative or too large.
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]):
        labels, predictions = (cast(convert_to_tensor(t), dtypes.int64) for t in (labels, predictions))
        predictions.shape.assert_is_compatible_with(labels.shape)
        if num_classes is None:
            size = apply_one("Maximum", reduce_max(predictions), reduce_max(labels)) + 1
        else:
            size = cast(convert_to_tensor(num_classes), dtypes.int64)
        checks = []
        for values, what in ((labels, "labels"), (predictions, "predictions")):
            checks.append(assert_non_negative(values, message=f"`{what}` contains negative values"))
            if num_classes is not None:
                checks.append(assert_less(values, size, message=f"`{what}` out of bound"))
        with control_dependencies(checks):
            labels = apply_one("Identity", labels)
        if weights is None:
            counted = apply_one("OnesLike", cast(predictions, dtype))
        else:
            weights = convert_to_tensor(weights)
            predictions.shape.assert_is_compatible_with(weights.shape)
            counted = cast(weights, dtype)
        return apply_one("ScatterNd", stack([labels, predictions], 1), counted, stack([size, size]))
