"""The area under a curve whose thresholds are all predictions: `tf.contrib.metrics.streaming_dynamic_auc`
and `auc_with_confidence_intervals`."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, NamedTuple

from tensorfleet.contrib.concatenated_values import streaming_concat
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.metrics.streaming import aligned, collected
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.padding import pad
from tensorfleet.ops.array.rearranging import reverse
from tensorfleet.ops.array.selection import top_k, where
from tensorfleet.ops.array.shaping import reshape, size
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group, no_op
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.data_flow.partition import unique, unique_with_counts
from tensorfleet.ops.debugging.checks import assert_greater_equal, assert_less_equal
from tensorfleet.ops.math.reduction import reduce_max, reduce_min, reduce_sum
from tensorfleet.ops.math.scan import cumsum
from tensorfleet.ops.math.segment import segment_sum
from tensorfleet.ops.state.variable_scope import variable_scope

_EPSILON = 1e-7


class AucData(NamedTuple):
    """An area and the limits of its confidence interval, float32 scalars."""

    auc: Any
    lower: Any
    upper: Any


def _zero_or_one(labels: Any) -> list[Any]:
    return [
        assert_greater_equal(labels, zeros_like(labels), message="labels must be 0 or 1, at least one is <0"),
        assert_less_equal(labels, ones_like(labels), message="labels must be 0 or 1, at least one is >1"),
    ]


def streaming_dynamic_auc(
    labels: Any,
    predictions: Any,
    curve: str = "ROC",
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
    weights: Any = None,
) -> tuple[Any, Any]:
    """The area under a curve with each prediction as a threshold
    (`tf.contrib.metrics.streaming_dynamic_auc`).

    All labels and predictions are kept in local variables.

    Args:
        labels: 0 or 1, of a dtype that can be cast to int64.
        predictions: of the shape of the labels.
        curve: "ROC", or "PR" for precision over recall.
        weights: not negative, of the shape of the labels.

    Returns:
        (value, update): float64, 0 as long as all labels are the same; and the op that keeps a batch.

    Raises:
        ValueError: an unknown curve, or incompatible shapes.
        InvalidArgumentError: in a run, of labels that are neither 0 nor 1.
    """
    if curve not in ("PR", "ROC"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with variable_scope(name, "dynamic_auc"):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        labels.shape.assert_is_compatible_with(predictions.shape)
        predictions = reshape(cast(predictions, dtypes.float64), [-1])
        labels = reshape(cast(labels, dtypes.int64), [-1])
        with framework.control_dependencies(_zero_or_one(labels)):
            kept_predictions, keep_predictions = streaming_concat(predictions, name="concat_preds")
            kept_labels, keep_labels = streaming_concat(labels, name="concat_labels")
            updates = [keep_labels, keep_predictions]
            kept_weights = ones_like(kept_labels, dtypes.float64)
            if weights is not None:
                weights = reshape(cast(weights, dtypes.float64), [-1])
                kept_weights, keep_weights = streaming_concat(weights, name="concat_weights")
                updates.append(keep_weights)
            area = _area(kept_labels, kept_predictions, kept_weights, curve)
            return collected(area, group(*updates), metrics_collections, updates_collections)


def _area(labels: Any, predictions: Any, weights: Any, curve: str) -> Any:
    nothing = zeros_like(weights)
    whole = reduce_sum(weights)
    positive = reduce_sum(where(labels > 0, weights, nothing))

    def of_both() -> Any:
        ordered, order = top_k(predictions, size(predictions))
        is_positive = gather(labels, order) > 0
        weight = gather(weights, order)
        # Equal predictions are one threshold: the sums are looked at where their runs end.
        ends = pad(cumsum(unique_with_counts(ordered)[2]), [[1, 0]])

        def until_each(parts: Any) -> Any:
            return gather(pad(cumsum(parts), [[1, 0]]), ends)

        true_positives = until_each(where(is_positive, weight, zeros_like(weight)))
        recall = true_positives / positive
        if curve == "ROC":
            false_positives = until_each(where(is_positive, zeros_like(weight), weight))
            x, y = false_positives / (whole - positive), recall
        else:
            precision = true_positives / until_each(weight)
            x, y = recall, where(ends > 0, precision, ones_like(precision))
        return reduce_sum((y[1:] + y[:-1]) / 2.0 * abs(x[1:] - x[:-1]))

    of_one = apply_one("LogicalOr", apply_one("Equal", positive, 0.0), apply_one("Equal", positive, whole))
    return cond(of_one, lambda: constant(0, dtypes.float64), of_both)


def auc_with_confidence_intervals(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    alpha: float = 0.95,
    logit_transformation: bool = True,
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
) -> tuple[AucData, Any]:
    """The area under the ROC curve, with a confidence interval by DeLong's placement values
    (`tf.contrib.metrics.auc_with_confidence_intervals`).

    All labels, predictions and weights are kept in local variables.

    Args:
        labels: 0 or 1, of a dtype that can be cast to int64.
        predictions: of the shape of the labels.
        weights: of the shape of the labels, or a scalar.
        alpha: the level of confidence, between 0 and 1.
        logit_transformation: whether the interval is that of the area's logit, and so lies within [0, 1].

    Returns:
        (value, update): an `AucData`, zeros where the batch at hand has labels of one kind only or weights
        whose sum is less than 1; and the op that keeps a batch.

    Raises:
        ValueError: `alpha` is out of range, or shapes are incompatible.
        InvalidArgumentError: in a run, of labels that are neither 0 nor 1.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.02f}")
    predictions = convert_to_tensor(predictions)
    weights = ones_like(predictions) if weights is None else weights
    with variable_scope(name, "auc_with_confidence_intervals", [labels, predictions, weights]):
        predictions, labels, weights = aligned(predictions, labels, weights)
        weights = cast(weights, dtypes.float32)
        enough = apply_one("GreaterEqual", reduce_sum(weights), 1.0)
        weights = reshape(weights, [-1])
        predictions = reshape(cast(predictions, dtypes.float64), [-1])
        labels = reshape(cast(labels, dtypes.int64), [-1])
        with framework.control_dependencies(_zero_or_one(labels)):
            both = apply_one(
                "LogicalAnd",
                apply_one("Equal", reduce_min(labels), 0),
                apply_one("Equal", reduce_max(labels), 1),
            )

            def kept(values: Any, name: str) -> Any:
                return streaming_concat(values, name=f"concat_{name}")

            pairs = [kept(predictions, "preds"), kept(labels, "labels"), kept(weights, "weights")]
            update = group(*(update for _, update in pairs))
            update = cond(enough, lambda: update, no_op)
            all_predictions, all_labels, all_weights = (value for value, _ in pairs)
            area = _placed(all_labels, all_predictions, all_weights, alpha, logit_transformation)
            nothing = [constant(0.0)] * 3
            data = AucData(*cond(apply_one("LogicalAnd", both, enough), lambda: list(area), lambda: nothing))
            collected(data, update, metrics_collections, updates_collections)
            return data, update


def _placed(labels: Any, predictions: Any, weights: Any, alpha: float, by_logit: bool) -> AucData:
    order = reverse(top_k(predictions, size(predictions))[1], [0])
    runs = unique(gather(predictions, order))[1]
    is_true = cast(gather(labels, order), dtypes.float32)
    weight = gather(weights, order)
    sides = (weight * (1.0 - is_true), weight * is_true)

    def placements(side: Any) -> Any:
        """The share of a side below each example, half of those beside it included."""
        totals = segment_sum(side, runs)
        below = cumsum(totals, exclusive=True) + totals / 2.0
        return gather(below / (reduce_sum(totals) + _EPSILON), runs)

    # Of a false example: the share of the true ones above it; of a true one: of the false ones below it.
    shares = (1.0 - placements(sides[1]), placements(sides[0]))
    totals = [reduce_sum(side) for side in sides]
    areas = [
        reduce_sum(side * share) / (total + _EPSILON)
        for side, share, total in zip(sides, shares, totals, strict=True)
    ]
    auc = where(totals[0] < totals[1], areas[1], areas[0])
    variance = [
        reduce_sum(side * apply_one("Square", share - area)) / (total - 1.0 + _EPSILON) / (total + _EPSILON)
        for side, share, area, total in zip(sides, shares, areas, totals, strict=True)
    ]
    error = apply_one("Sqrt", variance[0] + variance[1])
    quantile = NormalDist().inv_cdf((1.0 - alpha) / 2.0)
    if by_logit:
        center = apply_one("Log", auc / (1.0 - auc + _EPSILON))
        error = error / (auc * (1.0 - auc + _EPSILON))
        limits = [
            1.0 / (1.0 + apply_one("Exp", -limit) + _EPSILON)
            for limit in (center + quantile * error, center - quantile * error)
        ]
    else:
        limits = [auc + quantile * error, auc - quantile * error]
    # At its ends the area has no variance to speak of.
    at_end = apply_one("LogicalOr", apply_one("Equal", auc, 1.0), apply_one("Equal", auc, 0.0))
    return AucData(auc, *(where(at_end, auc, limit) for limit in limits))
