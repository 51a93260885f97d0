"""Metrics that count correct and wrong predictions of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.metrics.means import Metric
from tensorfleet.metrics.streaming import add_to, aligned, collected, metric_variable, safe_quotient, spread
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, ones_like
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import rank as rank_of, size
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging.checks import assert_rank_in
from tensorfleet.ops.debugging.type_checks import assert_type
from tensorfleet.ops.math.comparison import equal
from tensorfleet.ops.math.reduction import reduce_mean, reduce_sum
from tensorfleet.ops.nn.confusion import confusion_matrix
from tensorfleet.ops.state.variable_ops import scatter_add
from tensorfleet.ops.state.variable_scope import variable_scope


def _counter(kind: str, meaning: str) -> Callable[..., Metric]:
    """The metric that counts one of the four outcomes of a binary prediction: `true_positives`, …"""
    outcome, said = kind.split("_")

    def metric(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, kind, (predictions, labels, weights)):
            predictions, labels, weights = aligned(
                cast(predictions, dtypes.bool), cast(labels, dtypes.bool), weights
            )
            is_true = (outcome == "true") == (said == "positives")
            wanted = equal(labels, is_true)
            counted = apply_one("LogicalAnd", wanted, equal(predictions, said == "positives"))
            assert_type(counted, dtypes.bool)
            count = metric_variable([], dtypes.float32, "count")
            values = cast(counted, dtypes.float32)
            if weights is not None:
                with framework.control_dependencies([assert_rank_in(weights, (0, rank_of(values)))]):
                    values = apply_one("Mul", values, cast(weights, dtypes.float32))
            value = apply_one("Identity", count)
            update = add_to(count, reduce_sum(values))
            return collected(value, update, metrics_collections, updates_collections)

    return _named(metric, kind, f"The weighted number of predictions that are {meaning}")


def _named(metric: Callable[..., Metric], name: str, what: str) -> Callable[..., Metric]:
    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = f"{what} (`tf.metrics.{name}`)."
    return metric


true_positives = _counter("true_positives", "true, rightly")
true_negatives = _counter("true_negatives", "false, rightly")
false_positives = _counter("false_positives", "true, wrongly")
false_negatives = _counter("false_negatives", "false, wrongly")


def _share(name_of_metric: str, others: Callable[..., Metric], meaning: str) -> Callable[..., Metric]:
    """The metric true positives / (true positives + `others`)."""

    def metric(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, name_of_metric, (predictions, labels, weights)):
            predictions, labels, weights = aligned(
                cast(predictions, dtypes.bool), cast(labels, dtypes.bool), weights
            )
            right, add_right = true_positives(labels, predictions, weights)
            other, add_other = others(labels, predictions, weights)

            def share(right: Any, other: Any, name: str) -> Any:
                some = apply_one("Greater", right + other, 0.0)
                return apply_one("Select", some, right / (right + other), 0.0, name=name)

            value, update = share(right, other, "value"), share(add_right, add_other, "update_op")
            return collected(value, update, metrics_collections, updates_collections)

    return _named(metric, name_of_metric, f"The share of {meaning}")


precision = _share("precision", false_positives, "the positive predictions that are correct")
recall = _share("recall", false_negatives, "the true labels that were found")


def streaming_confusion_matrix(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None
) -> Metric:
    """The confusion matrix of all batches until now and the op that adds one to it, both float64
    [num_classes, num_classes] (`tensorflow.python.ops.metrics_impl._streaming_confusion_matrix`).

    Args:
        labels: integers of any shape.
        predictions: integers of the labels' shape.
        num_classes: the number of classes.
        weights: None for 1, else numbers or bools that broadcast to the predictions.
    """
    total = metric_variable([num_classes, num_classes], dtypes.float64, "total_confusion_matrix")
    predictions, labels = (cast(classes, dtypes.int64) for classes in (predictions, labels))
    number = cast(num_classes, dtypes.int64)
    if weights is not None:
        weights = _each(weights, predictions)
    batch = confusion_matrix(_flat(labels), _flat(predictions), number, dtypes.float64, weights=weights)
    return total, add_to(total, batch)


def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean over classes of the intersection over union of labels and predictions (`tf.metrics.mean_iou`).

    `update_op` gives the confusion matrix, float64 [num_classes, num_classes].
    """
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions, labels, weights = aligned(predictions, labels, weights)
        total, update = streaming_confusion_matrix(labels, predictions, num_classes, weights)
        columns, rows = (cast(reduce_sum(total, axis), dtypes.float32) for axis in (0, 1))
        both = cast(apply_one("DiagPart", total), dtypes.float32)
        union = columns + rows - both
        seen = reduce_sum(cast(apply_one("NotEqual", union, 0.0), dtypes.float32))
        union = where(apply_one("Greater", union, 0.0), union, ones_like(union))
        shares = both / union
        some = apply_one("Greater", seen, 0.0)
        value = where(some, reduce_sum(shares, name="mean_iou") / seen, 0.0)
        return collected(value, update, metrics_collections, updates_collections)


def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean over classes of the fraction of a class's labels that were predicted
    (`tf.metrics.mean_per_class_accuracy`).

    `update_op` gives the accuracy of each class, float32 [num_classes].
    """
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        predictions, labels, weights = aligned(predictions, labels, weights)
        labels = _flat(cast(labels, dtypes.int64))
        total = metric_variable([num_classes], dtypes.float32, "total")
        count = metric_variable([num_classes], dtypes.float32, "count")
        number: Any = ones([size(labels)], dtypes.float32)
        right: Any = cast(apply_one("Equal", _flat(cast(predictions, dtypes.int64)), labels), dtypes.float32)
        if weights is not None:
            weights = cast(_each(weights, predictions), dtypes.float32)
            right, number = right * weights, number * weights
        new_total, new_count = scatter_add(total, labels, number), scatter_add(count, labels, right)
        shares = safe_quotient(count, total, "div_no_nan")
        value = reduce_mean(shares, name="mean_accuracy")
        update = safe_quotient(new_count, new_total, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _each(weights: Any, predictions: Any) -> Any:
    """A vector of the weights of all predictions, or one weight of rank 0."""
    if weights.ndim is not None and weights.ndim < 2:
        return weights
    if weights.dims is None or weights.dims != predictions.dims or None in weights.dims:
        weights = spread(weights, cast(predictions, dtypes.float32))
    return _flat(weights)


def _flat(tensor: Any) -> Any:
    return tensor if tensor.ndim == 1 else apply_one("Reshape", tensor, [-1])
