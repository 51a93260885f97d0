"""Metrics of how two values go together: covariance, correlation, agreement, F1 (`tf.contrib.metrics`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.metrics.streaming import add_to, aligned, collected, metric_variable, quotient, spread
from tensorfleet.metrics.thresholds import threshold_counts
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.linalg.matrix_parts import diag_part
from tensorfleet.ops.math.comparison import greater
from tensorfleet.ops.math.elementwise import sqrt
from tensorfleet.ops.math.reduction import reduce_max, reduce_sum
from tensorfleet.ops.nn.confusion import confusion_matrix
from tensorfleet.ops.state.variable_scope import variable_scope

Metric = tuple[Any, Any]


def count(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """How many values there were, or the sum of their weights (`tf.contrib.metrics.count`)."""
    with variable_scope(name, "count", (values, weights)):
        held = metric_variable([], dtypes.float32, "count")
        values, _, weights = aligned(values, None, weights)
        ones = ones_like(values, dtypes.float32)
        update = add_to(held, reduce_sum(ones if weights is None else spread(weights, values)))
        return collected(held.value(), update, metrics_collections, updates_collections)


def _covariance(comoment: Any, total: Any, name: str) -> Any:
    """That of a sample, which is not defined for one example: NaN."""
    is_defined = greater(total, 1.0)
    divisor = where_v2(is_defined, total - 1.0, ones_like(total))
    return where_v2(is_defined, comoment / divisor, float("nan") * ones_like(total), name=name)


def streaming_covariance(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The covariance of all examples (`tf.contrib.metrics.streaming_covariance`).

    Batches are joined by their means and comoments, without a loss of precision (Chan et al., 1979).

    Args:
        predictions, labels: of one shape.
        weights: of a shape that broadcasts to theirs.

    Returns:
        (value, update), NaN for less than two examples.
    """
    with variable_scope(name, "covariance", (predictions, labels, weights)):
        predictions, labels, weights = aligned(predictions, labels, weights)
        both = [cast(each, dtypes.float32) for each in (predictions, labels)]
        factors = ones_like(both[0]) if weights is None else spread(weights, both[0])
        names = ("count", "mean_prediction", "mean_label", "comoment")
        held = [metric_variable([], dtypes.float32, each) for each in names]
        before = [variable.value() for variable in held]
        total = reduce_sum(factors)
        means = [quotient(reduce_sum(each * factors), total) for each in both]
        inner = reduce_sum((both[0] - means[0]) * (both[1] - means[1]) * factors)
        whole = before[0] + total
        share = quotient(total, whole)
        moved = [mean - old for mean, old in zip(means, before[1:3], strict=True)]
        after = [
            whole,
            before[1] + moved[0] * share,
            before[2] + moved[1] * share,
            before[3] + inner + moved[0] * moved[1] * before[0] * share,
        ]
        # Each new value is made of all old ones.
        with framework.control_dependencies(after):
            kept = group(*(variable.assign(new) for variable, new in zip(held, after, strict=True)))
        with framework.control_dependencies([kept]):
            update = _covariance(after[3], after[0], "update_op")
        value = _covariance(before[3], before[0], "covariance")
        return collected(value, update, metrics_collections, updates_collections)


def streaming_pearson_correlation(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Pearson's coefficient of correlation of all examples
    (`tf.contrib.metrics.streaming_pearson_correlation`).

    The arguments are those of `streaming_covariance`.
    """
    with variable_scope(name, "pearson_r", (predictions, labels, weights)):
        predictions, labels, weights = aligned(predictions, labels, weights)
        if weights is not None:
            weights = spread(weights, predictions)
        together = streaming_covariance(predictions, labels, weights, name="covariance")
        of_predictions = streaming_covariance(predictions, predictions, weights, name="variance_predictions")
        of_labels = streaming_covariance(labels, labels, weights, name="variance_labels")
        value, update = (
            quotient(both, sqrt(first * second), name)
            for both, first, second, name in zip(
                together, of_predictions, of_labels, ("pearson_r", "update_op"), strict=True
            )
        )
        return collected(value, update, metrics_collections, updates_collections)


def cohen_kappa(
    labels: Any,
    predictions_idx: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Cohen's kappa, the agreement beyond that of chance (`tf.contrib.metrics.cohen_kappa`).

    Args:
        labels, predictions_idx: classes, `[batch]` or `[batch, 1]`.
        weights: of the examples, of the same shape.
    """
    with variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        held = [metric_variable([num_classes], dtypes.float32, each) for each in ("po", "pe_row", "pe_col")]
        predictions, labels, weights = aligned(predictions_idx, labels, weights)
        actual, found = (reshape(each, [-1]) for each in (labels, predictions))
        flat_weights = None if weights is None else reshape(spread(weights, predictions), [-1])
        matrix = confusion_matrix(actual, found, num_classes, dtype=dtypes.float32, weights=flat_weights)
        counts = diag_part(matrix), reduce_sum(matrix, 0), reduce_sum(matrix, 1)
        updated = [add_to(variable, value) for variable, value in zip(held, counts, strict=True)]

        def kappa(counts: list[Any], name: str) -> Any:
            agreed, rows, columns = counts
            total = reduce_sum(rows)
            chance = reduce_sum(quotient(rows * columns, total))
            return quotient(reduce_sum(agreed) - chance, total - chance, name)

        value = kappa([variable.value() for variable in held], "value")
        update = kappa(updated, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def f1_score(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The best F1 score of all thresholds (`tf.contrib.metrics.f1_score`).

    Args:
        labels: bool, or of a dtype that can be cast to it.
        predictions: probabilities, 0 to 1.
        num_thresholds: the number of evenly spaced thresholds.
    """
    with variable_scope(name, "f1", (labels, predictions, weights)):
        counts = threshold_counts(labels, predictions, num_thresholds, weights)
        # The least number in place of a division by 0.
        tiny = 1e-8

        def best(found: dict[str, Any], name: str) -> Any:
            precision = (found["tp"] + tiny) / (found["tp"] + found["fp"] + tiny)
            recall = (found["tp"] + tiny) / (found["tp"] + found["fn"] + tiny)
            return reduce_max(2.0 * precision * recall / (precision + recall + tiny), name=name)

        value, update = best(counts.now, "value"), best(counts.after, "update_op")
        return collected(value, update, metrics_collections, updates_collections)
