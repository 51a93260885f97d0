"""`tf.contrib.losses`: losses with the arguments in the older order, predictions first."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.arg_scopes import add_arg_scope
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.losses import collection, weighted
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.math.comparison import not_equal
from tensorfleet.ops.math.reduction import reduce_prod, reduce_sum

compute_weighted_loss = weighted.compute_weighted_loss
get_losses = collection.get_losses
get_regularization_losses = collection.get_regularization_losses


@add_arg_scope
def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection."""
    collection.add_loss(loss, loss_collection)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Any:
    """The sum of all losses (`tf.contrib.losses.get_total_loss`)."""
    losses = list(get_losses())
    if add_regularization_losses:
        losses += get_regularization_losses()
    return add_n(losses, name=name)


@add_arg_scope
def absolute_difference(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """`tf.losses.absolute_difference`."""
    return weighted.absolute_difference(labels, predictions, weights, scope)


@add_arg_scope
def mean_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """`tf.losses.mean_squared_error`."""
    return weighted.mean_squared_error(labels, predictions, weights, scope)


@add_arg_scope
def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """The mean over all pairs of an example's elements, also of an element with itself, of the squared
    difference between their errors (`tf.contrib.losses.mean_pairwise_squared_error`).

    `tf.losses.mean_pairwise_squared_error` divides by the number of pairs of two.

    Args:
        predictions, labels: `[batch, …]`, of one shape.
        weights: a scalar, or `[batch]`.

    Raises:
        ValueError: the shapes differ, or a rank is not known.
    """
    with framework.name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        predictions, labels = cast(predictions, dtypes.float32), cast(labels, dtypes.float32)
        predictions.shape.assert_is_compatible_with(labels.shape)
        weights = cast(weights, dtypes.float32)
        errors = predictions - labels
        if errors.ndim is None or weights.ndim is None:
            raise ValueError("The ranks of the predictions and of the weights must be known.")
        axes = list(range(1, errors.ndim))
        # Of an example with a weight, the elements; the weights' further dimensions count one by one.
        given = reduce_sum(cast(not_equal(weights, 0.0), dtypes.float32), list(range(1, weights.ndim)))
        rest = max(weights.ndim, 1)
        count = given * cast(reduce_prod(shape(errors)[rest:]), dtypes.float32)

        def mean(total: Any, divisor: Any) -> Any:
            return 2.0 * apply_one("DivNoNan", total, divisor)

        squares = mean(reduce_sum(errors * errors, axes), count)
        square = mean(apply_one("Square", reduce_sum(errors, axes)), count * count)
        whole = squares - square if weights.ndim else reduce_sum(squares - square)
        loss = reduce_sum(whole * weights)
        some = apply_one("Greater", reduce_sum(count), 0.0)
        value = where(some, loss, zeros_like(loss), name="value")
        add_loss(value)
        return value


@add_arg_scope
def log_loss(
    predictions: Any,
    labels: Any = None,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
) -> Any:
    """`tf.losses.log_loss`."""
    return weighted.log_loss(labels, predictions, weights, epsilon, scope)


@add_arg_scope
def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Any:
    """The hinge loss of each logit, without reduction, and added to no collection."""
    return weighted.hinge_loss(
        labels, logits, scope=scope, loss_collection=None, reduction=weighted.Reduction.NONE
    )


@add_arg_scope
def cosine_distance(
    predictions: Any,
    labels: Any = None,
    axis: Any = None,
    weights: Any = 1.0,
    scope: str | None = None,
    dim: Any = None,
) -> Any:
    """`tf.losses.cosine_distance`."""
    return weighted.cosine_distance(labels, predictions, axis if dim is None else dim, weights, scope)


@add_arg_scope
def sigmoid_cross_entropy(
    logits: Any,
    multi_class_labels: Any,
    weights: Any = 1.0,
    label_smoothing: Any = 0,
    scope: str | None = None,
) -> Any:
    """`tf.losses.sigmoid_cross_entropy`."""
    return weighted.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


@add_arg_scope
def softmax_cross_entropy(
    logits: Any, onehot_labels: Any, weights: Any = 1.0, label_smoothing: Any = 0, scope: str | None = None
) -> Any:
    """`tf.losses.softmax_cross_entropy`."""
    return weighted.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


@add_arg_scope
def sparse_softmax_cross_entropy(
    logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None
) -> Any:
    """`tf.losses.sparse_softmax_cross_entropy`."""
    return weighted.sparse_softmax_cross_entropy(labels, logits, weights, scope)
