"""Metrics at thresholds that only tf.contrib.metrics has: rates of errors, points of curves, one rate at a
given value of another, and all rates at evenly spaced thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.metrics.confusion import false_negatives, false_positives, true_negatives, true_positives
from tensorfleet.metrics.means import Metric
from tensorfleet.metrics.streaming import aligned, collected, metric_variable
from tensorfleet.metrics.thresholds import Counts, checks_of_unit, grid
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.linspace import linspace
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.debugging.type_checks import assert_type
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.math.scan import cumsum
from tensorfleet.ops.state.variable_ops import scatter_add
from tensorfleet.ops.state.variable_scope import variable_scope

_EPSILON = 1e-7
_ALL = ("tp", "fn", "tn", "fp")


def _error_rate(
    scope: str, wrong: Callable[..., Metric], right: Callable[..., Metric]
) -> Callable[..., Metric]:
    """The metric wrong / (wrong + right), 0 where there is neither."""

    def metric(
        predictions: Any,
        labels: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, scope, (predictions, labels, weights)):
            predictions, labels, weights = aligned(
                cast(predictions, dtypes.bool), cast(labels, dtypes.bool), weights
            )
            pairs = zip(wrong(labels, predictions, weights), right(labels, predictions, weights), strict=True)
            value, update = (
                apply_one("Select", apply_one("Greater", bad + good, 0.0), bad / (bad + good), 0.0, name=name)
                for (bad, good), name in zip(pairs, ("value", "update_op"), strict=True)
            )
            return collected(value, update, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = f"streaming_{scope}"
    metric.__doc__ = f"The {scope.replace('_', ' ')} of all batches (`tf.contrib.metrics.{metric.__name__}`)."
    return metric


streaming_false_positive_rate = _error_rate("false_positive_rate", false_positives, true_negatives)
streaming_false_negative_rate = _error_rate("false_negative_rate", false_negatives, true_positives)


def _error_rate_at_thresholds(scope: str, wrong: str, right: str) -> Callable[..., Metric]:
    """The metric wrong / (wrong + right) at each threshold."""

    def metric(
        predictions: Any,
        labels: Any,
        thresholds: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, scope, (predictions, labels, weights)):
            counts = Counts(labels, predictions, thresholds, weights, (wrong, right), in_unit=False)

            def rate(found: dict[str, Any], name: str) -> Any:
                return apply_one("RealDiv", found[wrong], found[wrong] + found[right] + _EPSILON, name=name)

            short = f"{wrong}r"
            value, update = rate(counts.now, f"{short}_value"), rate(counts.after, f"{short}_update_op")
            return collected(value, update, metrics_collections, updates_collections)

    name = f"streaming_{scope}"
    metric.__name__ = metric.__qualname__ = name
    meaning = scope.removesuffix("_at_thresholds").replace("_", " ")
    metric.__doc__ = f"The {meaning} at each threshold, float32 [thresholds] (`tf.contrib.metrics.{name}`)."
    return metric


streaming_false_positive_rate_at_thresholds = _error_rate_at_thresholds(
    "false_positive_rate_at_thresholds", "fp", "tn"
)
streaming_false_negative_rate_at_thresholds = _error_rate_at_thresholds(
    "false_negative_rate_at_thresholds", "fn", "tp"
)


def _count_at_thresholds(kind: str, outcome: str) -> Callable[..., Metric]:
    """The metric that counts one outcome at each threshold; its variable lies in the scope at hand."""

    def metric(predictions: Any, labels: Any, thresholds: Any, weights: Any = None) -> Metric:
        counts = Counts(labels, predictions, thresholds, weights, (kind,), in_unit=False)
        return counts.now[kind], counts.after[kind]

    name = f"streaming_{outcome}_at_thresholds"
    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = (
        f"The weighted number of {outcome.replace('_', ' ')} at each threshold, float32 [thresholds] "
        f"(`tf.contrib.metrics.{name}`)."
    )
    return metric


streaming_true_positives_at_thresholds = _count_at_thresholds("tp", "true_positives")
streaming_true_negatives_at_thresholds = _count_at_thresholds("tn", "true_negatives")
streaming_false_positives_at_thresholds = _count_at_thresholds("fp", "false_positives")
streaming_false_negatives_at_thresholds = _count_at_thresholds("fn", "false_negatives")


def streaming_curve_points(
    labels: Any = None,
    predictions: Any = None,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
) -> Metric:
    """The points of a curve at evenly spaced thresholds (`tf.contrib.metrics.streaming_curve_points`).

    Args:
        labels: bool, or of a dtype that can be cast to it.
        predictions: numbers of the shape of the labels, between 0 and 1.
        weights: of a shape that broadcasts to theirs.
        curve: "ROC": (false positive rate, recall); "PR": (recall, precision).

    Returns:
        (points, update): float32 [num_thresholds, 2]; and the op that counts a batch.

    Raises:
        ValueError: an unknown curve.
    """
    with variable_scope(name, "curve_points", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        counts = Counts(labels, predictions, grid(num_thresholds), weights, _ALL, in_unit=False)
        now = counts.now
        tiny = 1e-6
        recall = (now["tp"] + tiny) / (now["tp"] + now["fn"] + tiny)
        if curve == "ROC":
            x, y = now["fp"] / (now["fp"] + now["tn"] + tiny), recall
        else:
            x, y = recall, (now["tp"] + tiny) / (now["tp"] + now["fp"] + tiny)
        points = stack([x, y], axis=1)
        return collected(points, group(*counts.after.values()), metrics_collections, updates_collections)


def recall_at_precision(
    labels: Any,
    predictions: Any,
    precision: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
    strict_mode: bool = False,
) -> Metric:
    """The recall at the threshold whose precision is nearest to `precision`
    (`tf.contrib.metrics.recall_at_precision`).

    Args:
        labels: bool, or of a dtype that can be cast to it.
        predictions: numbers of the shape of the labels, between 0 and 1.
        precision: between 0 and 1.
        weights: of a shape that broadcasts to theirs.
        num_thresholds: the number of evenly spaced thresholds.
        strict_mode: whether only thresholds whose precision is not below count; 0 without one.

    Raises:
        ValueError: `precision` is not between 0 and 1.
    """
    if not 0 <= precision <= 1:
        raise ValueError("`precision` must be in the range [0, 1].")

    def found(counts: dict[str, Any], name: str) -> Any:
        tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
        beyond = tp / (tp + fp + _EPSILON) - precision

        def recall_at(index: Any) -> Any:
            return apply_one("RealDiv", tp[index], tp[index] + fn[index] + _EPSILON, name=name)

        if not strict_mode:
            return recall_at(apply_one("ArgMin", abs(beyond), 0, output_type=dtypes.int32))
        # The inverse is largest for the least excess, and negative for what falls short.
        best: Any = apply_one("ArgMax", 1.0 / (beyond + _EPSILON), 0, output_type=dtypes.int32)
        return cond(
            apply_one("GreaterEqual", beyond[best], 0.0), lambda: recall_at(best), lambda: constant(0.0)
        )

    with variable_scope(name, "recall_at_precision", (predictions, labels, weights)):
        counts = Counts(labels, predictions, grid(num_thresholds), weights, _ALL, in_unit=False)
        value, update = found(counts.now, "value"), found(counts.after, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def precision_at_recall(
    labels: Any,
    predictions: Any,
    target_recall: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The precision at the highest threshold whose recall is not below `target_recall`
    (`tf.contrib.metrics.precision_at_recall`).

    Args:
        labels: bool, or of a dtype that can be cast to it.
        predictions: numbers of the shape of the labels, between 0 and 1.
        target_recall: between 0 and 1.
        weights: of a shape that broadcasts to theirs.
        num_thresholds: the number of evenly spaced thresholds.

    Raises:
        ValueError: `target_recall` is not between 0 and 1.
    """
    if not 0 <= target_recall <= 1:
        raise ValueError("`target_recall` must be in the range [0, 1].")

    def found(counts: dict[str, Any], name: str) -> Any:
        tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
        # The recall falls as the threshold rises: those that do are the first.
        enough = cast(apply_one("GreaterEqual", tp / (tp + fn + _EPSILON), target_recall), dtypes.int64)
        last = reduce_sum(enough) - 1
        hits = tp[last]
        return apply_one("RealDiv", hits + _EPSILON, hits + fp[last] + _EPSILON, name=name)

    with variable_scope(name, "precision_at_recall", (predictions, labels, weights)):
        counts = Counts(labels, predictions, grid(num_thresholds), weights, _ALL, in_unit=False)
        value, update = found(counts.now, "value"), found(counts.after, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


class PrecisionRecallData(NamedTuple):
    """What `precision_recall_at_equal_thresholds` returns: each [thresholds], of the predictions' dtype."""

    tp: Any
    fp: Any
    tn: Any
    fn: Any
    precision: Any
    recall: Any
    thresholds: Any


def precision_recall_at_equal_thresholds(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> tuple[PrecisionRecallData, Any]:
    """The four counts, precision and recall at evenly spaced thresholds from 0 to 1
    (`tf.contrib.metrics.precision_recall_at_equal_thresholds`).

    Each prediction is counted once, in the bucket between two thresholds, so the time does not grow with the
    number of these. A prediction counts as positive if it is not below the threshold.

    Args:
        labels: bool.
        predictions: floating point numbers between 0 and 1, of the shape of the labels.
        weights: of a shape that broadcasts to that of the labels.
        num_thresholds: 201 by default.
        use_locking: whether buckets are changed under a lock; True by default.

    Raises:
        TypeError: the labels are not bool.
        InvalidArgumentError: in a run, if a prediction is not in [0, 1].
    """
    number = 201 if num_thresholds is None else num_thresholds
    weights = 1.0 if weights is None else weights
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    assert_type(labels, dtypes.bool)
    with variable_scope(name, "precision_recall_at_equal_thresholds", (labels, predictions, weights)):
        with framework.control_dependencies(checks_of_unit(predictions)):
            predictions, labels, weights = aligned(predictions, labels, weights)
        # A bucket's sum may be far larger than what is added to it.
        is_true, weights = cast(labels, dtypes.float64), cast(weights, dtypes.float64)
        positions = reshape(predictions, [-1]) * (number - 1)
        bucket = cast(apply_one("Floor", positions), dtypes.int32)
        locked = True if use_locking is None else use_locking
        with framework.name_scope("variables"):
            held = [metric_variable([number], dtypes.float64, f"{kind}_buckets") for kind in ("tp", "fp")]
        with framework.name_scope("update_op"):
            updates = [
                scatter_add(variable, bucket, reshape(parts, [-1]), use_locking=locked)
                for variable, parts in zip(held, (is_true * weights, (1.0 - is_true) * weights), strict=True)
            ]
        tp, fp = (
            cumsum(variable.value(), reverse=True, name=kind)
            for kind, variable in zip(("tp", "fp"), held, strict=True)
        )
        tn, fn = fp[0] - fp, tp[0] - tp
        precision, recall = (tp / apply_one("Maximum", tp + other, _EPSILON) for other in (fp, fn))
        result = (tp, fp, tn, fn, precision, recall, linspace(0.0, 1.0, number))
        data = PrecisionRecallData(*(cast(each, predictions.dtype) for each in result))
        return data, group(*updates)
