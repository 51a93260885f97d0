"""Metrics of probabilities at many thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.metrics.means import Metric
from tensorfleet.metrics.streaming import add_to, aligned, collected, metric_variable, quotient, spread
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import expand_dims, shape as shape_of
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging.checks import assert_greater_equal, assert_less_equal
from tensorfleet.ops.math.reduction import reduce_min, reduce_sum
from tensorfleet.ops.state.variable_scope import variable_scope

_EPSILON = 1e-7
_KINDS = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}


def checks_of_unit(predictions: Any) -> list[Any]:
    """The checks that probabilities are in [0, 1]."""
    message = "predictions must be in [0, 1]"
    least, most = (cast(limit, predictions.dtype) for limit in (0.0, 1.0))
    return [
        assert_greater_equal(predictions, least, message=message),
        assert_less_equal(predictions, most, message=message),
    ]


class Counts:
    """The counts of the four outcomes at each threshold, float32 [thresholds]: the variables, and their
    values after the current batch.

    Args:
        in_unit: whether a prediction outside of [0, 1] fails a run, as in tf.metrics; the metrics of
            tf.contrib take every number.
    """

    def __init__(
        self,
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any,
        kinds: Sequence[str],
        in_unit: bool = True,
    ) -> None:
        predictions = convert_to_tensor(predictions)
        with framework.control_dependencies(checks_of_unit(predictions) if in_unit else []):
            predictions, labels, weights = aligned(
                cast(predictions, dtypes.float32), cast(labels, dtypes.bool), weights
            )
        column = apply_one("Reshape", predictions, [-1, 1])
        row = apply_one("Reshape", labels, [1, -1])
        # A Tile, as in TensorFlow's graph; a step copies nothing to repeat single elements.
        number: Any = column.dims[0] if column.dims is not None and column.dims[0] is not None else None
        if number is None:
            number = shape_of(column)[0]
        limits = expand_dims(constant(thresholds, dtypes.float32, [len(thresholds)]), 1)
        limits = apply_one("Tile", limits, stack([1, number]))
        many = [len(thresholds), 1]
        said = apply_one("Greater", apply_one("Tile", transpose(column), many), limits)
        not_said = apply_one("LogicalNot", said) if {"fn", "tn"} & set(kinds) else said
        wanted = apply_one("Tile", row, many)
        not_wanted = apply_one("LogicalNot", wanted) if {"fp", "tn"} & set(kinds) else wanted
        if weights is not None:
            weights = apply_one("Reshape", spread(weights, predictions), [1, -1])
            weights = apply_one("Tile", weights, many)
        sides = {
            "tp": (wanted, said),
            "fn": (wanted, not_said),
            "tn": (not_wanted, not_said),
            "fp": (not_wanted, said),
        }
        self.now: dict[str, Any] = {}
        self.after: dict[str, Any] = {}
        for kind in kinds:
            variable = metric_variable([len(thresholds)], dtypes.float32, _KINDS[kind])
            values: Any = cast(apply_one("LogicalAnd", *sides[kind]), dtypes.float32)
            if weights is not None:
                values = values * weights
            self.now[kind] = variable.value()
            self.after[kind] = add_to(variable, reduce_sum(values, 1))


def grid(count: int) -> list[float]:
    """`count` evenly spaced thresholds, from just below 0 to just above 1."""
    inner = [(i + 1) / (count - 1) for i in range(count - 2)]
    return [0.0 - _EPSILON, *inner, 1.0 + _EPSILON]


def threshold_counts(labels: Any, predictions: Any, count: int, weights: Any = None) -> Counts:
    """True and false positives and false negatives at `count` evenly spaced thresholds."""
    return Counts(labels, predictions, grid(count), weights, ("tp", "fp", "fn"))


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> Metric:
    """The area under a curve, approximated at thresholds (`tf.metrics.auc`).

    Args:
        labels: bool, or of a dtype that can be cast to it.
        predictions: probabilities, 0 to 1.
        weights: of a shape that broadcasts to the predictions'.
        num_thresholds: the number of evenly spaced thresholds.
        thresholds: the thresholds, between 0 and 1, instead of their number.
        curve: "ROC", or "PR" for precision over recall.
        summation_method: "trapezoidal", "minoring", "majoring", or "careful_interpolation" (Davis and
            Goadrich, 2006), as precision is not linear between two points; for ROC that is "trapezoidal".

    Raises:
        ValueError: an unknown curve or method.
        InvalidArgumentError: in a run, if a prediction is not in [0, 1].
    """
    with variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"Curve must be either ROC or PR. Curve {curve} is unknown.")
        methods = ("trapezoidal", "minoring", "majoring", "careful_interpolation")
        if summation_method not in methods:
            raise ValueError(f"Invalid summation_method: {summation_method}")
        points = (
            grid(num_thresholds)
            if thresholds is None
            else [0.0 - _EPSILON, *sorted(thresholds), 1.0 + _EPSILON]
        )
        counts = Counts(labels, predictions, points, weights, ("tp", "fn", "tn", "fp"))
        value = _area(counts.now, curve, summation_method, "value")
        update = _area(counts.after, curve, summation_method, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _area(counts: dict[str, Any], curve: str, method: str, name: str) -> Any:
    tp, fn, tn, fp = (counts[kind] for kind in ("tp", "fn", "tn", "fp"))
    if method == "careful_interpolation" and curve == "PR":
        return _interpolated(tp, fp, fn, name)
    rate = (tp + _EPSILON) / (tp + fn + _EPSILON)
    x, y = (
        (fp / (fp + tn + _EPSILON), rate)
        if curve == "ROC"
        else (rate, (tp + _EPSILON) / (tp + fp + _EPSILON))
    )
    width = x[:-1] - x[1:]
    left, right = y[:-1], y[1:]
    if method in ("trapezoidal", "careful_interpolation"):
        height = (left + right) / 2.0
    else:
        height = apply_one("Minimum" if method == "minoring" else "Maximum", left, right)
    return reduce_sum(apply_one("Mul", width, height), name=name)


def _interpolated(tp: Any, fp: Any, fn: Any, name: str) -> Any:
    """The area under precision over recall, with both counts interpolated linearly between thresholds."""
    said = tp + fp
    change = tp[:-1] - tp[1:]
    slope = quotient(change, apply_one("Maximum", said[:-1] - said[1:], 0.0))
    intercept = tp[1:] - slope * said[1:]
    both = apply_one("LogicalAnd", apply_one("Greater", said[:-1], 0.0), apply_one("Greater", said[1:], 0.0))
    ratio = apply_one(
        "SelectV2",
        both,
        quotient(said[:-1], apply_one("Maximum", said[1:], 0.0)),
        apply_one("OnesLike", said[1:]),
    )
    parts = slope * (change + intercept * apply_one("Log", ratio))
    return reduce_sum(quotient(parts, apply_one("Maximum", tp[1:] + fn[1:], 0.0)), name=name)


def _at_thresholds(
    name_of_metric: str,
    scope: str,
    kinds: tuple[str, ...],
    value_of: Callable[[dict[str, Any], str], Any],
    meaning: str,
) -> Callable[..., Metric]:
    """The metric `value_of` the counts of these kinds."""

    def metric(
        labels: Any,
        predictions: Any,
        thresholds: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, scope, (predictions, labels, weights)):
            counts = Counts(labels, predictions, thresholds, weights, kinds)
            value, update = value_of(counts.now, "value"), value_of(counts.after, "update_op")
            return collected(value, update, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = name_of_metric
    metric.__doc__ = f"{meaning} at each threshold, float32 [thresholds] (`tf.metrics.{name_of_metric}`)."
    return metric


def _count_at_thresholds(kind: str) -> Callable[..., Metric]:
    said = _KINDS[kind]
    meaning = f"The weighted number of {said.replace('_', ' ')}"
    return _at_thresholds(f"{said}_at_thresholds", said, (kind,), lambda counts, _: counts[kind], meaning)


def _share_at_thresholds(share: str, others: str) -> Callable[..., Metric]:
    """The metric true positives / (true positives + `others`) at each threshold."""

    def value_of(counts: dict[str, Any], name: str) -> Any:
        said = _EPSILON + counts["tp"] + counts[others]
        return apply_one("RealDiv", counts["tp"], said, name=f"{share}_{name}")

    name = f"{share}_at_thresholds"
    return _at_thresholds(name, name, ("tp", others), value_of, f"The {share}")


true_positives_at_thresholds = _count_at_thresholds("tp")
true_negatives_at_thresholds = _count_at_thresholds("tn")
false_positives_at_thresholds = _count_at_thresholds("fp")
false_negatives_at_thresholds = _count_at_thresholds("fn")
precision_at_thresholds = _share_at_thresholds("precision", "fp")
recall_at_thresholds = _share_at_thresholds("recall", "fn")


def _share_at(right: Any, other: Any, index: Any, name: str) -> Any:
    """right / (right + other) at the threshold of this index."""
    first = right[index]
    return apply_one("RealDiv", first, right[index] + other[index] + _EPSILON, name=name)


def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The sensitivity at the threshold whose specificity is nearest to `specificity`
    (`tf.metrics.sensitivity_at_specificity`).

    Raises:
        ValueError: `specificity` is not between 0 and 1.
    """
    if not 0 <= specificity <= 1:
        raise ValueError("`specificity` must be in the range [0, 1].")

    def found(c: dict[str, Any], name: str) -> Any:
        specificities = c["tn"] / (c["tn"] + c["fp"] + _EPSILON)
        best = cast(apply_one("ArgMin", abs(specificities - specificity), 0), dtypes.int32)
        return _share_at(c["tp"], c["fn"], best, name)

    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        counts = Counts(labels, predictions, grid(num_thresholds), weights, ("tp", "fn", "tn", "fp"))
        return collected(
            found(counts.now, "value"),
            found(counts.after, "update_op"),
            metrics_collections,
            updates_collections,
        )


def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The specificity at the threshold whose sensitivity is nearest to `sensitivity`, the last of several
    (`tf.metrics.specificity_at_sensitivity`).

    Raises:
        ValueError: `sensitivity` is not between 0 and 1.
    """
    if not 0 <= sensitivity <= 1:
        raise ValueError("`sensitivity` must be in the range [0, 1].")

    def left_out(c: dict[str, Any], name: str) -> Any:
        sensitivities = c["tp"] / (c["tp"] + c["fn"] + _EPSILON)
        least = reduce_min(abs(sensitivities - sensitivity))
        nearest = cast(apply_one("Equal", abs(sensitivities - sensitivity), least), dtypes.int64)
        last = cast(apply_one("ArgMax", apply_one("Cumsum", nearest, 0), 0), dtypes.int32)
        return _share_at(c["tn"], c["fp"], last, name)

    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        counts = Counts(labels, predictions, grid(num_thresholds), weights, ("tp", "fn", "tn", "fp"))
        return collected(
            left_out(counts.now, "value"),
            left_out(counts.after, "update_op"),
            metrics_collections,
            updates_collections,
        )
