"""Metrics with the predictions before the labels: `tf.contrib.metrics.streaming_accuracy`, …"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.metrics import confusion, means, ranking, thresholds
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.selection import in_top_k
from tensorfleet.ops.math.comparison import equal
from tensorfleet.ops.math.reduction import reduce_mean, reduce_sum
from tensorfleet.ops.nn.confusion import confusion_matrix as _confusion_matrix

Metric = tuple[Any, Any]


def _predictions_first(metric: Callable[..., Metric], prefix: str = "streaming_") -> Callable[..., Metric]:
    """The metric with its first two arguments exchanged."""

    def streaming(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> Metric:
        return metric(labels, predictions, *args, **kwargs)

    streaming.__name__ = streaming.__qualname__ = f"{prefix}{metric.__name__}"
    streaming.__doc__ = f"`tf.metrics.{metric.__name__}`, with the predictions before the labels."
    first, second, *others = inspect.signature(metric).parameters.values()
    streaming.__signature__ = inspect.Signature([second, first, *others])  # type: ignore[attr-defined]
    return streaming


streaming_mean = means.mean
streaming_mean_tensor = means.mean_tensor
streaming_percentage_less = means.percentage_below
streaming_accuracy = _predictions_first(means.accuracy)
streaming_mean_absolute_error = _predictions_first(means.mean_absolute_error)
streaming_mean_relative_error = _predictions_first(means.mean_relative_error)
streaming_mean_squared_error = _predictions_first(means.mean_squared_error)
streaming_root_mean_squared_error = _predictions_first(means.root_mean_squared_error)
streaming_mean_cosine_distance = _predictions_first(means.mean_cosine_distance)
streaming_mean_iou = _predictions_first(confusion.mean_iou)
streaming_precision = _predictions_first(confusion.precision)
streaming_recall = _predictions_first(confusion.recall)
streaming_true_positives = _predictions_first(confusion.true_positives)
streaming_true_negatives = _predictions_first(confusion.true_negatives)
streaming_false_positives = _predictions_first(confusion.false_positives)
streaming_false_negatives = _predictions_first(confusion.false_negatives)
streaming_precision_at_thresholds = _predictions_first(thresholds.precision_at_thresholds)
streaming_recall_at_thresholds = _predictions_first(thresholds.recall_at_thresholds)
streaming_sensitivity_at_specificity = _predictions_first(thresholds.sensitivity_at_specificity)
streaming_specificity_at_sensitivity = _predictions_first(thresholds.specificity_at_sensitivity)
streaming_sparse_precision_at_k = _predictions_first(ranking.precision_at_k, "streaming_sparse_")
streaming_sparse_recall_at_k = _predictions_first(ranking.recall_at_k, "streaming_sparse_")
streaming_sparse_average_precision_at_k = _predictions_first(
    ranking.average_precision_at_k, "streaming_sparse_"
)


def streaming_sparse_precision_at_top_k(
    top_k_predictions: Any,
    labels: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """`tf.metrics.precision_at_top_k`, with the predicted classes before the labels, and without `k`."""
    collections = metrics_collections, updates_collections
    return ranking.precision_at_top_k(labels, top_k_predictions, None, class_id, weights, *collections, name)


def sparse_recall_at_top_k(
    labels: Any,
    top_k_predictions: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """`tf.metrics.recall_at_top_k` without `k` (`tf.contrib.metrics.sparse_recall_at_top_k`)."""
    collections = metrics_collections, updates_collections
    return ranking.recall_at_top_k(labels, top_k_predictions, None, class_id, weights, *collections, name)


def streaming_sparse_average_precision_at_top_k(
    top_k_predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """`tf.metrics.average_precision_at_top_k`, with the predicted classes before the labels."""
    collections = metrics_collections, updates_collections
    return ranking.average_precision_at_top_k(labels, top_k_predictions, weights, *collections, name)


def streaming_recall_at_k(
    predictions: Any,
    labels: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The share of examples whose class is among the `k` classes of the highest predictions.

    Args:
        predictions: a score for each class, float32 of shape [batch, classes].
        labels: the class of each example, int32 or int64 of shape [batch].
        k: how many classes of an example may be right.
        weights: of the examples.
    """
    found = cast(in_top_k(predictions, labels, k), dtypes.float32)
    name = name or f"recall_at_{k}"
    return means.mean(found, weights, metrics_collections, updates_collections, name)


def streaming_auc(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
) -> Metric:
    """`tf.metrics.auc`, with the predictions before the labels."""
    return thresholds.auc(
        labels, predictions, weights, num_thresholds, metrics_collections, updates_collections, curve, name
    )


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """The fraction of correct predictions in one batch (`tf.contrib.metrics.accuracy`).

    Raises:
        ValueError: the dtypes differ.
    """
    if not labels.dtype.is_compatible_with(predictions.dtype):
        raise ValueError(
            f"dtype of predictions and labels should match. Given: predictions ({predictions.dtype}) and "
            f"labels ({labels.dtype})"
        )
    right = cast(equal(predictions, labels), dtypes.float32)
    if weights is None:
        return reduce_mean(right)
    factors = cast(weights, dtypes.float32)
    return reduce_sum(right * factors) / reduce_sum(factors * (right * 0.0 + 1.0))


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: int | None = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Any:
    """`tf.math.confusion_matrix` (`tf.contrib.metrics.confusion_matrix`)."""
    return _confusion_matrix(labels, predictions, num_classes, dtype=dtype, name=name, weights=weights)


def aggregate_metrics(*value_update_tuples: Metric) -> tuple[list[Any], list[Any]]:
    """The lists of all values and of all updates. Raises ValueError without arguments."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: dict[str, Metric]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The dicts of all values and of all updates, by their names."""
    values = {name: pair[0] for name, pair in names_to_tuples.items()}
    return values, {name: pair[1] for name, pair in names_to_tuples.items()}
