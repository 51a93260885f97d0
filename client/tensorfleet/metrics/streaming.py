"""Common parts of metrics: variables, compatible shapes, and the collections of results."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.shaping import expand_dims, rank, squeeze
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.debugging.weights import broadcast_weights
from tensorfleet.ops.nn.confusion import remove_squeezable_dimensions
from tensorfleet.ops.state.variable_options import (
    VariableAggregation,
    VariableSynchronization,
    resource_variables_enabled,
)
from tensorfleet.ops.state.variables import Variable


def metric_variable(shape: Any, dtype: Any, name: str, validate_shape: bool = True) -> Any:
    """A local variable of zeros, also in METRIC_VARIABLES.

    Args:
        validate_shape: whether it keeps that shape; without, another may be assigned.
    """
    return Variable(
        initial_value=lambda: zeros(shape, dtype),
        trainable=False,
        validate_shape=validate_shape,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
        use_resource=resource_variables_enabled(),
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
    )


def add_to(variable: Any, value: Any) -> Any:
    """The variable's value after the addition of `value`, a tensor."""
    return convert_to_tensor(variable.assign_add(value))


def aligned(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Predictions, labels and weights as tensors (or None) of compatible ranks, for which a last dimension of
    size 1 is removed, or added to the weights.

    Raises:
        ValueError: incompatible shapes.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is not None:
        weights = convert_to_tensor(weights)
        if weights.ndim is None or predictions.ndim is None:
            weights = weights if weights.ndim == 0 else _aligned_in_run(predictions, weights)
        elif weights.ndim and weights.ndim - predictions.ndim == 1:
            weights = squeeze(weights, [-1])
        elif weights.ndim and predictions.ndim - weights.ndim == 1:
            weights = expand_dims(weights, -1)
    return predictions, labels, weights


def _aligned_in_run(predictions: Any, weights: Any) -> Any:
    """The weights with a dimension less or more, where only the run knows the ranks."""
    weights_rank = rank(weights)
    more = weights_rank - rank(predictions)

    def expanded() -> Any:
        return cond(apply_one("Equal", more, -1), lambda: expand_dims(weights, -1), lambda: weights)

    def fitted() -> Any:
        if weights.dims is not None and weights.dims[-1] not in (1, None):
            return expanded()
        return cond(apply_one("Equal", more, 1), lambda: squeeze(weights, [-1]), expanded)

    return cond(apply_one("Equal", weights_rank, 0), lambda: weights, fitted)


def spread(weights: Any, values: Any) -> Any:
    """The weights broadcast to the values' shape, float32.

    Raises:
        ValueError: the weights cannot be broadcast to it.
    """
    return broadcast_weights(cast(weights, dtypes.float32), values)


def safe_quotient(numerator: Any, denominator: Any, name: str) -> Any:
    """The quotient, 0 if the denominator is zero or negative."""
    return apply_one("DivNoNan", numerator, apply_one("Maximum", denominator, 0.0), name=name)


def quotient(numerator: Any, denominator: Any, name: str | None = None) -> Any:
    """The quotient, 0 if the denominator is 0."""
    return apply_one("DivNoNan", numerator, denominator, name=name)


def collected(value: Any, update: Any, metrics_collections: Any, updates_collections: Any) -> tuple[Any, Any]:
    """The pair (value, update) of a metric, also added to collections."""
    if metrics_collections:
        framework.get_default_graph().add_to_collections(metrics_collections, value)
    if updates_collections:
        framework.get_default_graph().add_to_collections(updates_collections, update)
    return value, update
