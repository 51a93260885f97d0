"""What is private in `tensorflow.python.ops.metrics_impl`, with which programs build metrics of their own."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.framework import get_default_graph
from tensorfleet.metrics.thresholds import Counts
from tensorfleet.ops.array.identity import identity

_KINDS = ("tp", "fn", "tn", "fp")


def aggregate_variable(v: Any, collections: Any) -> Any:
    """The value of a metric's variable or tensor, as a tensor that is also added to collections."""
    value = identity(v)
    if collections:
        get_default_graph().add_to_collections(collections, value)
    return value


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
