"""Names of `tensorflow.python.ops.metrics_impl` with which programs build metrics of their own."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.framework import get_default_graph
from tensorfleet.metrics.ranking import average_precision_at_top_k as average_precision_at_top_k
from tensorfleet.metrics.streaming import (
    aligned as remove_squeezable_dimensions,
    metric_variable as metric_variable,
    quotient,
)
from tensorfleet.metrics.thresholds import Counts
from tensorfleet.ops.nn.confusion import remove_squeezable_dimensions as squeezed_labels

_KINDS = ("tp", "fn", "tn", "fp")

__all__ = [
    "aggregate_variable",
    "average_precision_at_top_k",
    "confusion_matrix_at_thresholds",
    "metric_variable",
    "remove_squeezable_dimensions",
    "safe_div",
    "squeezed_labels",
]


def safe_div(numerator: Any, denominator: Any, name: str | None = None) -> Any:
    """The quotient, 0 where the denominator is 0."""
    return quotient(numerator, denominator, name)


def aggregate_variable(v: Any, collections: Any) -> Any:
    """A metric's value, also added to collections."""
    if collections:
        get_default_graph().add_to_collections(collections, v)
    return v


def confusion_matrix_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, includes: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The counts of outcomes at each threshold, float32 [thresholds].

    Args:
        labels: bool, of the predictions' shape.
        predictions: float32 in [0, 1].
        thresholds: numbers in [0, 1].
        weights: of a shape that broadcasts to the labels'.
        includes: which of "tp", "fn", "tn" and "fp"; None for all.

    Returns:
        (the counts until now, the counts with this batch), by kind.

    Raises:
        ValueError: `includes` has another kind.
    """
    kinds = _KINDS if includes is None else tuple(includes)
    if unknown := [kind for kind in kinds if kind not in _KINDS]:
        raise ValueError(f"Invalid key: {unknown[0]}.")
    counts = Counts(labels, predictions, thresholds, weights, kinds)
    return counts.now, counts.after
