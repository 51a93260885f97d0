"""The functions of `tf.keras.losses`: the loss of each example, from targets and predictions."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.keras import backend as K, ops


def _both(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_pred = convert_to_tensor(y_pred)
    return ops.cast(y_true, y_pred.dtype.base), y_pred


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of squared differences along the last dimension."""
    y_true, y_pred = _both(y_true, y_pred)
    return ops.reduce_mean(ops.squared_difference(y_pred, y_true), -1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of absolute differences along the last dimension."""
    y_true, y_pred = _both(y_true, y_pred)
    return ops.reduce_mean(ops.abs(y_pred - y_true), -1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of absolute differences in percent of the targets."""
    y_true, y_pred = _both(y_true, y_pred)
    relative = ops.abs((y_true - y_pred) / ops.maximum(ops.abs(y_true), K.epsilon()))
    return 100.0 * ops.reduce_mean(relative, -1)


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of squared differences between log(1 + y)."""
    y_true, y_pred = _both(y_true, y_pred)
    logs = [ops.log(ops.maximum(y, K.epsilon()) + 1.0) for y in (y_pred, y_true)]
    return ops.reduce_mean(ops.squared_difference(logs[0], logs[1]), -1)


def _signs(y_true: Any) -> Any:
    """Targets of 0 and 1 as -1 and 1."""
    is_binary = ops.reduce_all(ops.logical_or(ops.equal(y_true, 0), ops.equal(y_true, 1)))
    return ops.cond(is_binary, lambda: 2.0 * y_true - 1.0, lambda: ops.identity(y_true))


def hinge(y_true: Any, y_pred: Any) -> Any:
    """The mean of max(1 - y_true * y_pred, 0) for targets of -1 and 1."""
    y_true, y_pred = _both(y_true, y_pred)
    return ops.reduce_mean(ops.maximum(1.0 - _signs(y_true) * y_pred, 0.0), -1)


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    """The mean of squared `hinge`."""
    y_true, y_pred = _both(y_true, y_pred)
    return ops.reduce_mean(ops.square(ops.maximum(1.0 - _signs(y_true) * y_pred, 0.0)), -1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Any:
    """max(1 + the greatest prediction of another class - that of the target, 0)."""
    y_true, y_pred = _both(y_true, y_pred)
    positive = ops.reduce_sum(y_true * y_pred, -1)
    negative = ops.reduce_max((1.0 - y_true) * y_pred, -1)
    return ops.maximum(0.0, negative - positive + 1.0)


def logcosh(y_true: Any, y_pred: Any) -> Any:
    """The mean of the logarithms of the hyperbolic cosines of the differences."""
    y_true, y_pred = _both(y_true, y_pred)
    x = y_pred - y_true
    return ops.reduce_mean(x + ops.softplus(-2.0 * x) - math.log(2.0), -1)


def huber_loss(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    """Half the squared differences up to `delta`, linear beyond, by elements."""
    y_true, y_pred = _both(y_true, y_pred)
    error = ops.abs(y_pred - y_true)
    quadratic = ops.minimum(error, delta)
    return 0.5 * quadratic * quadratic + delta * (error - quadratic)


def _smoothed(y_true: Any, label_smoothing: Any, classes: Any) -> Any:
    return y_true * (1.0 - label_smoothing) + label_smoothing / classes


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0
) -> Any:
    """The cross entropy with one-hot targets.

    Args:
        from_logits: whether the predictions are logits, not probabilities.
        label_smoothing: the part of the targets that is spread over all classes.
    """
    y_true, y_pred = _both(y_true, y_pred)
    if label_smoothing:
        y_true = _smoothed(y_true, label_smoothing, ops.cast(ops.shape(y_true)[1], y_pred.dtype.base))
    return K.categorical_crossentropy(y_true, y_pred, from_logits=from_logits)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """The cross entropy with numbers of classes as targets."""
    return K.sparse_categorical_crossentropy(
        convert_to_tensor(y_true), convert_to_tensor(y_pred), from_logits=from_logits, axis=axis
    )


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0
) -> Any:
    """The mean of the cross entropies of 0 and 1 along the last dimension."""
    y_true, y_pred = _both(y_true, y_pred)
    if label_smoothing:
        y_true = _smoothed(y_true, label_smoothing, 2.0)
    return ops.reduce_mean(K.binary_crossentropy(y_true, y_pred, from_logits=from_logits), -1)


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Any:
    """The sum of y_true * log(y_true / y_pred) along the last dimension."""
    y_true, y_pred = (K.clip(y, K.epsilon(), 1.0) for y in _both(y_true, y_pred))
    return ops.reduce_sum(y_true * ops.log(y_true / y_pred), -1)


def poisson(y_true: Any, y_pred: Any) -> Any:
    """The mean of y_pred - y_true * log(y_pred)."""
    y_true, y_pred = _both(y_true, y_pred)
    return ops.reduce_mean(y_pred - y_true * ops.log(y_pred + K.epsilon()), -1)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """The cosine of the angle between targets and predictions."""
    y_true, y_pred = _both(y_true, y_pred)
    return ops.reduce_sum(ops.l2_normalize(y_true, axis) * ops.l2_normalize(y_pred, axis), axis)


def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """`cosine_similarity`, without a minus, as in TensorFlow 1.15: as a loss it turns vectors apart."""
    return cosine_similarity(y_true, y_pred, axis)
