"""How names become metrics."""

from __future__ import annotations

import inspect
from typing import Any

from tensorfleet.keras import loss_functions as losses
from tensorfleet.keras.engine.metric import Metric
from tensorfleet.keras.metric_kinds import functions, means, thresholds
from tensorfleet.keras.serialization import deserialize_keras_object, serialize_keras_object

_FUNCTIONS: dict[str, Any] = {
    **{
        f.__name__: f
        for f in (
            *(functions.binary_accuracy, functions.categorical_accuracy, functions.accuracy),
            *(functions.sparse_categorical_accuracy, functions.top_k_categorical_accuracy),
            *(functions.sparse_top_k_categorical_accuracy, losses.mean_squared_error),
            *(losses.mean_absolute_error, losses.mean_absolute_percentage_error, losses.hinge),
            *(losses.mean_squared_logarithmic_error, losses.squared_hinge, losses.categorical_hinge),
            *(losses.logcosh, losses.categorical_crossentropy, losses.sparse_categorical_crossentropy),
            *(losses.binary_crossentropy, losses.kullback_leibler_divergence, losses.poisson),
            *(losses.cosine_similarity, losses.cosine_proximity),
        )
    },
    **dict.fromkeys(("mse", "MSE"), losses.mean_squared_error),
    **dict.fromkeys(("mae", "MAE"), losses.mean_absolute_error),
    **dict.fromkeys(("mape", "MAPE"), losses.mean_absolute_percentage_error),
    **dict.fromkeys(("msle", "MSLE"), losses.mean_squared_logarithmic_error),
    **dict.fromkeys(("kld", "KLD"), losses.kullback_leibler_divergence),
    "cosine": losses.cosine_proximity,
}
_CLASSES = {
    name: cls
    for module in (means, thresholds)
    for name, cls in vars(module).items()
    if inspect.isclass(cls) and issubclass(cls, Metric) and not name.startswith("_")
}


def serialize(metric: Any) -> Any:
    """The name of a function, or the configuration of a metric."""
    return serialize_keras_object(metric)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The function of a name, or the metric of a configuration."""
    return deserialize_keras_object(config, {**_FUNCTIONS, **_CLASSES}, custom_objects, "metric function")


def get(identifier: Any) -> Any:
    """The metric of a name or configuration; a function or metric is itself."""
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier}")
