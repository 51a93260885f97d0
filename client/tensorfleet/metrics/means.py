"""Metrics that are means of values, of errors or of correct predictions."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.metrics.streaming import add_to, aligned, collected, metric_variable, safe_quotient, spread
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import size
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.comparison import equal
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.state.variable_scope import variable_scope

Metric = tuple[Any, Any]
"""(value, update_op)"""


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The weighted mean of all values (`tf.metrics.mean`), float32; 0 before the first value.

    Args:
        values: of any shape and number type.
        weights: of a shape that broadcasts to the values'; by default all are 1.
        metrics_collections, updates_collections: the collections to add the value and the update to.

    Raises:
        ValueError: the weights have an incompatible shape.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(convert_to_tensor(values), dtypes.float32)
        total = metric_variable([], dtypes.float32, "total")
        count = metric_variable([], dtypes.float32, "count")
        if weights is None:
            number = cast(size(values), dtypes.float32)
        else:
            values, _, weights = aligned(values, None, weights)
            weights = spread(weights, values)
            values = apply_one("Mul", values, weights)
            number = reduce_sum(weights)
        new_total = add_to(total, reduce_sum(values))
        with framework.control_dependencies([values]):
            new_count = add_to(count, number)
        value = safe_quotient(total, count, "value")
        update = safe_quotient(new_total, new_count, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The weighted mean of each element over all batches, of the values' shape (`tf.metrics.mean_tensor`)."""
    with variable_scope(name, "mean", (values, weights)):
        values = cast(convert_to_tensor(values), dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, "total_tensor")
        count = metric_variable(values.shape, dtypes.float32, "count_tensor")
        number = ones_like(values)
        if weights is not None:
            values, _, weights = aligned(values, None, weights)
            weights = spread(weights, values)
            values, number = (apply_one("Mul", tensor, weights) for tensor in (values, number))
        new_total = add_to(total, values)
        with framework.control_dependencies([values]):
            new_count = add_to(count, number)
        value = safe_quotient(total, count, "value")
        update = safe_quotient(new_total, new_count, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The fraction of predictions that equal their labels (`tf.metrics.accuracy`)."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    if labels.dtype is not predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    right = cast(apply_one("Equal", predictions, labels), dtypes.float32)
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean of |prediction - label| (`tf.metrics.mean_absolute_error`)."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = apply_one("Abs", predictions - labels)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean of |label - prediction| / normalizer, 0 where that is 0 (`tf.metrics.mean_relative_error`)."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    predictions, normalizer, _ = aligned(predictions, normalizer, None)
    zero = equal(normalizer, 0.0), zeros_like(labels)
    errors = where(*zero, abs(labels - predictions) / normalizer)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean of (prediction - label)^2 (`tf.metrics.mean_squared_error`)."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = apply_one("SquaredDifference", predictions, labels)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The root of `mean_squared_error` (`tf.metrics.root_mean_squared_error`)."""
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    value, update = (apply_one("Sqrt", tensor) for tensor in (value, update))
    return collected(value, update, metrics_collections, updates_collections)


def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """One minus the mean product of vectors of norm 1 along `dim` (`tf.metrics.mean_cosine_distance`)."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    products = reduce_sum(apply_one("Mul", predictions, labels), [dim], keepdims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    value, update = (apply_one("Sub", 1.0, tensor) for tensor in (value, update))
    return collected(value, update, metrics_collections, updates_collections)


def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The fraction of values below a threshold, 0 to 1 (`tf.metrics.percentage_below`)."""
    below = cast(apply_one("Less", values, threshold), dtypes.float32)
    return mean(
        below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold"
    )
