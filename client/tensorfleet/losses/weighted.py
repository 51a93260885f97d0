"""`tf.losses`: weighted losses, which are added to a collection, and their sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.losses.collection import add_loss
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import rank, shape, size
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.debugging.weights import after, assert_broadcastable, broadcast_weights
from tensorfleet.ops.math.comparison import equal
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn import cross_entropy
from tensorfleet.ops.nn.confusion import remove_squeezable_dimensions


class Reduction:
    """The reduction of a batch's losses to one number (`tf.losses.Reduction`)."""

    NONE = "none"
    """No reduction: the weighted losses."""
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    """The sum divided by the number of losses."""
    MEAN = "weighted_mean"
    """The sum divided by the sum of the weights."""
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    """The sum divided by the number of losses whose weights are not zero."""
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All reductions."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError if `key` is not a reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Key should be one of {cls.all()}.")


_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS
_LOSSES = GraphKeys.LOSSES


_LAST_REDUCTION = ("__last_loss_reduction",)  # no string names this collection


def last_reduction() -> str | None:
    """The reduction of the last loss in the default graph; None if there was none."""
    found: list[str] = framework.get_collection(_LAST_REDUCTION)
    return found[0] if found else None


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The reduced product of losses and weights, also added to a collection
    (`tf.losses.compute_weighted_loss`).

    Args:
        losses: any shape, of a dtype that can be cast to float32, in which they are weighted and reduced;
            the result has their dtype.
        weights: of rank 0, or of the rank of the losses, each size 1 or that of the losses.
        reduction: one of `Reduction`.

    Raises:
        ValueError: an unknown reduction, or weights that do not fit.
    """
    Reduction.validate(reduction)
    framework.get_collection_ref(_LAST_REDUCTION)[:] = [reduction]
    with (
        framework.name_scope(scope, "weighted_loss", [losses, weights]),
        after(assert_broadcastable(weights, losses)),
    ):
        losses = convert_to_tensor(losses)
        given = losses.dtype.base
        # TensorFlow weights in float32 whatever the dtype: integers have means, doubles lose digits.
        values: Any = cast(losses, dtypes.float32)
        factors: Any = cast(weights, dtypes.float32)
        loss = apply_one("Mul", values, factors)
        if reduction != Reduction.NONE:
            loss = reduce_sum(loss)
            if reduction == Reduction.MEAN:
                loss = _mean(loss, reduce_sum(ones_like(values) * factors))
            elif reduction == _BY_NONZERO:
                loss = _mean(loss, _nonzero(values, factors))
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                loss = _mean(loss, _count(values))
        loss = cast(loss, given)
        add_loss(loss, loss_collection)
        return loss


def _mean(total: Tensor, number: Tensor) -> Tensor:
    # The sum of a scalar, for the node that TensorFlow's graph has.
    return apply_one("DivNoNan", reduce_sum(total), number, name="value")


def _nonzero(values: Any, factors: Any) -> Tensor:
    """The number of losses whose weight is not zero."""
    with framework.name_scope(None, "num_present", [values, factors]) as scope:
        present = where(equal(factors, 0.0), zeros_like(factors), ones_like(factors))
        return reduce_sum(broadcast_weights(present, values), name=scope)


def _count(values: Any) -> Any:
    """The number of losses."""
    with framework.name_scope(None, "num_elements", [values]) as scope:
        return cast(size(values, name=scope), values.dtype.base)


def _elementwise(
    scope: str | None,
    default: str,
    names: tuple[str, str],
    values: tuple[Any, Any],
    loss: Callable[[Any, Any], Any],
    rest: tuple[Any, Any, str],
) -> Tensor:
    """The weighted loss of two tensors of one shape; `rest` is weights, collection and reduction.

    Raises:
        ValueError: one of them is None, or their shapes differ.
    """
    for name, value in zip(names, values, strict=True):
        if value is None:
            raise ValueError(f"Argument `{name}` must not be None.")
    with framework.name_scope(scope, default, [*values, rest[0]]) as full:
        # The second is cast first, as that numbers the names of the casts in TensorFlow's graph.
        second, first = (cast(value, dtypes.float32) for value in reversed(values))
        second.get_shape().assert_is_compatible_with(first.get_shape())
        return compute_weighted_loss(loss(first, second), rest[0], full, rest[1], rest[2])


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """|predictions - labels| (`tf.losses.absolute_difference`)."""
    return _elementwise(
        scope,
        "absolute_difference",
        ("labels", "predictions"),
        (labels, predictions),
        lambda y, p: apply_one("Abs", apply_one("Sub", p, y)),
        (weights, loss_collection, reduction),
    )


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """(predictions - labels)² (`tf.losses.mean_squared_error`).

    Example:
        >>> tf.Session().run(tf.losses.mean_squared_error([1.0, 2.0], [1.0, 4.0]))
        np.float32(2.0)
    """
    return _elementwise(
        scope,
        "mean_squared_error",
        ("labels", "predictions"),
        (labels, predictions),
        lambda y, p: apply_one("SquaredDifference", p, y),
        (weights, loss_collection, reduction),
    )


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """-labels · log(p + epsilon) - (1 - labels) · log(1 - p + epsilon) (`tf.losses.log_loss`)."""

    def loss(y: Any, p: Any) -> Any:
        # Products by op type, as operators would name the nodes otherwise than TensorFlow does.
        right: Any = apply_one("Mul", y, apply_one("Log", p + epsilon))
        return -right - apply_one("Mul", 1 - y, apply_one("Log", 1 - p + epsilon))

    rest = (weights, loss_collection, reduction)
    return _elementwise(scope, "log_loss", ("labels", "predictions"), (labels, predictions), loss, rest)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """max(0, 1 - s · logits), where s is -1 for label 0 and 1 for label 1 (`tf.losses.hinge_loss`)."""

    def loss(y: Any, x: Any) -> Any:
        ones = ones_like(y)
        signs = apply_one("Sub", 2 * y, ones)
        return apply_one("Relu", apply_one("Sub", ones, apply_one("Mul", signs, x)))

    rest = (weights, loss_collection, reduction)
    return _elementwise(scope, "hinge_loss", ("labels", "logits"), (labels, logits), loss, rest)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """Half the squared error, which becomes linear above an error of `delta` (`tf.losses.huber_loss`)."""

    def loss(y: Any, p: Any) -> Any:
        error = apply_one("Abs", apply_one("Sub", p, y))
        curved = apply_one("Minimum", error, delta)
        straight = apply_one("Sub", error, curved)
        half = convert_to_tensor(0.5, curved.dtype.base)
        parabola = apply_one("Mul", half, apply_one("Mul", curved, curved))
        return apply_one("AddV2", parabola, apply_one("Mul", delta, straight), name="Add")

    rest = (weights, loss_collection, reduction)
    return _elementwise(scope, "huber_loss", ("labels", "predictions"), (labels, predictions), loss, rest)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    dim: int | None = None,
) -> Tensor:
    """1 - labels · predictions along an axis, for vectors of norm 1 (`tf.losses.cosine_distance`).

    Raises:
        ValueError: `axis` is missing, or given twice, as `dim`, too.
    """
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'dim' and 'axis'")
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    return _elementwise(
        scope,
        "cosine_distance_loss",
        ("labels", "predictions"),
        (labels, predictions),
        lambda y, p: 1 - reduce_sum(apply_one("Mul", p, y), axis, keepdims=True),
        (weights, loss_collection, reduction),
    )


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """`tf.nn.sigmoid_cross_entropy_with_logits`, weighted (`tf.losses.sigmoid_cross_entropy`).

    Args:
        label_smoothing: the fraction by which labels are moved towards 1/2.
    """
    _require("multi_class_labels", multi_class_labels)
    _require("logits", logits)
    with framework.name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels]) as full:
        logits = convert_to_tensor(logits)
        labels: Any = cast(multi_class_labels, logits.dtype.base)
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = cross_entropy.sigmoid_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, full, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """`tf.nn.softmax_cross_entropy_with_logits_v2`, weighted (`tf.losses.softmax_cross_entropy`).

    Labels get no gradients.

    Args:
    label_smoothing: the fraction by which labels are moved towards 1 / classes.
    """
    _require("onehot_labels", onehot_labels)
    _require("logits", logits)
    with framework.name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels]) as full:
        logits = convert_to_tensor(logits)
        labels: Any = cast(onehot_labels, logits.dtype.base)
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        if label_smoothing > 0:
            classes: Any = cast(shape(labels)[-1], logits.dtype.base)
            part = label_smoothing / classes
            labels = labels * (1 - label_smoothing) + part
        labels = apply_one("StopGradient", labels, name="labels_stop_gradient")
        losses = cross_entropy.softmax_cross_entropy_with_logits_v2(labels, logits, name="xentropy")
        return compute_weighted_loss(losses, weights, full, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """`tf.nn.sparse_softmax_cross_entropy_with_logits`, weighted (`tf.losses.sparse_softmax_cross_entropy`).

    Labels and weights may have an additional last dimension of size 1.
    """
    _require("labels", labels)
    _require("logits", logits)
    with framework.name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels]) as full:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        weights = _squeezed(convert_to_tensor(weights), labels)
        losses = cross_entropy.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, full, loss_collection, reduction)


def _squeezed(weights: Tensor, labels: Tensor) -> Tensor:
    """The weights without a last dimension of size 1 that the labels lack; a step may be first to tell."""
    if weights.dims == () or (weights.dims is not None and weights.dims[-1] not in (1, None)):
        return weights
    if weights.dims is not None and labels.dims is not None:
        is_longer = len(weights.dims) == len(labels.dims) + 1
        return apply_one("Squeeze", weights, squeeze_dims=[-1]) if is_longer else weights
    squeezed: Tensor = cond(
        equal(rank(weights), rank(labels) + 1),
        lambda: apply_one("Squeeze", weights, squeeze_dims=[-1]),
        lambda: weights,
    )
    return squeezed


def _require(name: str, value: Any) -> None:
    if value is None:
        raise ValueError(f"Argument `{name}` must not be None.")
