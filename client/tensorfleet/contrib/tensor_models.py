"""Small models as functions of tensors."""

from __future__ import annotations

from typing import Any

from tensorfleet import losses
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import squeeze
from tensorfleet.ops.io.summary import histogram
from tensorfleet.ops.nn.activation import softmax
from tensorfleet.ops.nn.layers import xw_plus_b
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import random_normal_initializer
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope


def linear_regression_zero_init(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """`linear_regression` whose variables begin with zeros."""
    return linear_regression(x, y, init_mean=0.0, init_stddev=0.0)


def logistic_regression_zero_init(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """`logistic_regression` whose variables begin with zeros."""
    return logistic_regression(x, y, init_mean=0.0, init_stddev=0.0)


def linear_regression(
    x: Tensor, y: Tensor, init_mean: float | None = None, init_stddev: float = 1.0
) -> tuple[Tensor, Tensor]:
    """A linear model of numbers (`tf.contrib.learn.models.linear_regression`).

    Args:
        x: `[batch, features]`.
        y: `[batch]` or `[batch, outputs]`.
        init_mean, init_stddev: of the normal values that variables begin with; without a mean they begin as
            `tf.get_variable` has it.

    Returns:
        The predictions, of the shape of `y`, and the mean of the squared differences.
    """
    with variable_scope("linear_regression"):
        outputs = 1 if len(y.get_shape()) == 1 else y.get_shape()[1]
        weights, bias = _variables(x, y, outputs, init_mean, init_stddev)
        predictions = xw_plus_b(x, weights, bias)
        if len(y.get_shape()) == 1 and len(predictions.get_shape()) == 2:
            predictions = squeeze(predictions, [1])
        return predictions, losses.mean_squared_error(y, predictions)


def logistic_regression(
    x: Tensor,
    y: Tensor,
    class_weight: Any = None,
    init_mean: float | None = None,
    init_stddev: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """A linear model of classes (`tf.contrib.learn.models.logistic_regression`).

    Args:
        x: `[batch, features]`.
        y: `[batch, classes]`, one-hot.
        class_weight: `[classes]`, by which logits are multiplied; by default the graph's tensor
            "class_weight:0", if it has one.
        init_mean, init_stddev: as for `linear_regression`.

    Returns:
        The probabilities, and the mean of the cross entropies.
    """
    with variable_scope("logistic_regression"):
        weights, bias = _variables(x, y, y.get_shape()[-1], init_mean, init_stddev)
        if class_weight is None:
            try:
                class_weight = get_default_graph().get_tensor_by_name("class_weight:0")
            except KeyError:
                class_weight = None
        logits = xw_plus_b(x, weights, bias)
        if class_weight is not None:
            logits = logits * class_weight
        return softmax(logits), losses.softmax_cross_entropy(y, logits)


def _variables(x: Tensor, y: Tensor, outputs: Any, mean: float | None, stddev: float) -> tuple[Any, Any]:
    scope = get_variable_scope().name
    histogram(f"{scope}.x", x)
    histogram(f"{scope}.y", y)
    dtype = x.dtype.base_dtype
    initializer = None if mean is None else random_normal_initializer(mean, stddev, dtype=dtype)
    weights = get_variable("weights", [x.get_shape()[1], outputs], dtype=dtype, initializer=initializer)
    bias = get_variable("bias", [outputs], dtype=dtype, initializer=initializer)
    histogram(f"{scope}.weights", weights)
    histogram(f"{scope}.bias", bias)
    return weights, bias
