"""What all metrics are made of: their variables, shapes that fit each other, and the result's collections."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.variable_options import resource_variables_enabled
from tensorfleet.ops.state.variables import Variable


def metric_variable(shape: Any, dtype: Any, name: str) -> Any:
    """A local variable of zeros, also in METRIC_VARIABLES."""
    return Variable(
        initial_value=lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
        use_resource=resource_variables_enabled(),
    )


def add_to(variable: Any, value: Any) -> Any:
    """The variable after `value` was added, a tensor."""
    return convert_to_tensor(variable.assign_add(value))


def aligned(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """The three as tensors (or None) whose ranks fit: a last dimension of 1 is dropped, or added to weights.

    Raises:
        ValueError: predictions and labels, or the weights, have shapes that do not go together.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels = convert_to_tensor(labels)
        if predictions.ndim is not None and labels.ndim is not None:
            if predictions.ndim - labels.ndim == 1 and predictions.dims[-1] in (1, None):
                predictions = apply_one("Squeeze", predictions, squeeze_dims=[-1])
            elif labels.ndim - predictions.ndim == 1 and labels.dims[-1] in (1, None):
                labels = apply_one("Squeeze", labels, squeeze_dims=[-1])
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is not None:
        weights = convert_to_tensor(weights)
        if weights.ndim and predictions.ndim is not None:
            if weights.ndim - predictions.ndim == 1:
                weights = apply_one("Squeeze", weights, squeeze_dims=[-1])
            elif predictions.ndim - weights.ndim == 1:
                weights = apply_one("ExpandDims", weights, -1)
        _check_broadcast(weights, predictions)
    return predictions, labels, weights


def _check_broadcast(weights: Any, values: Any) -> None:
    if not weights.ndim or values.ndim is None:
        return
    sizes = zip(weights.dims, values.dims, strict=False)
    if weights.ndim != values.ndim or any(w not in (1, None, v) and v is not None for w, v in sizes):
        raise ValueError(
            f"weights can not be broadcast to values. values.rank={values.ndim}. "
            f"weights.rank={weights.ndim}. "
            f"values.shape={values.shape}. weights.shape={weights.shape}."
        )


def spread(weights: Any, values: Any) -> Any:
    """Weights of the values' shape, float32."""
    return cast(weights, dtypes.float32) * apply_one("OnesLike", cast(values, dtypes.float32))


def quotient(numerator: Any, denominator: Any, name: str | None = None) -> Any:
    """Zero where the denominator is."""
    return apply_one("DivNoNan", numerator, denominator, name=name)


def collected(value: Any, update: Any, metrics_collections: Any, updates_collections: Any) -> tuple[Any, Any]:
    """The pair that a metric returns, added to collections."""
    if metrics_collections:
        framework.get_default_graph().add_to_collections(metrics_collections, value)
    if updates_collections:
        framework.get_default_graph().add_to_collections(updates_collections, update)
    return value, update
