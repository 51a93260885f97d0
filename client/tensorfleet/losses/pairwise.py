"""`tf.losses.mean_pairwise_squared_error`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.losses.collection import add_loss
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, range as range_, zeros_like
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import rank
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging.weights import after, assert_broadcastable, broadcast_weights
from tensorfleet.ops.math.comparison import equal
from tensorfleet.ops.math.reduction import reduce_sum


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
) -> Tensor:
    """How far the differences between the elements of each example are from those of its labels: the mean of
    ((pi - pj) - (yi - yj))² over all pairs of elements (`tf.losses.mean_pairwise_squared_error`).

    Args:
        labels, predictions: [batch, …], of one shape.
        weights: of the examples: of rank 0, [batch] or [batch, 1, …].

    Raises:
        ValueError: one of both is None, or their shapes differ.
    """
    if labels is None:
        raise ValueError("Argument `labels` must not be None.")
    if predictions is None:
        raise ValueError("Argument `predictions` must not be None.")
    with framework.name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        weights = cast(weights, dtypes.float32)
        labels = cast(labels, dtypes.float32)
        with after(assert_broadcastable(weights, labels)):
            predictions = cast(predictions, dtypes.float32)
            predictions.get_shape().assert_is_compatible_with(labels.get_shape())
            differences = predictions - labels
            axes = range_(1, rank(differences))

            def total(values: Any) -> Any:
                return reduce_sum(values, axis=axes, keepdims=True)

            present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
            count = total(broadcast_weights(present, differences))
            # The sum over pairs of (di - dj)² is 2 n Σ d² - 2 (Σ d)².
            fewer = apply_one("Maximum", count - 1, 0.0)
            squares = 2.0 * apply_one(
                "DivNoNan", total(apply_one("Square", differences)), fewer, name="value"
            )
            pairs = apply_one("Maximum", count * (count - 1), 0.0)
            square = 2.0 * apply_one("DivNoNan", apply_one("Square", total(differences)), pairs, name="value")
            loss = reduce_sum((squares - square) * weights)
            any_present = apply_one("Greater", reduce_sum(count), convert_to_tensor(0.0))
            value = where(any_present, loss, zeros_like(loss), name="value")
            add_loss(value, loss_collection)
            return value
