"""The classes and functions of `tf.keras.constraints`."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.serialization import deserialize_keras_object, serialize_keras_object


class Constraint:
    """The base class of functions from weights to the nearest allowed ones
    (`tf.keras.constraints.Constraint`)."""

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {}


def _norms(w: Any, axis: Any) -> Any:
    return K.sqrt(ops.reduce_sum(ops.square(w), axis, True))


class MaxNorm(Constraint):
    """Norms along `axis` of at most `max_value` (`tf.keras.constraints.MaxNorm`)."""

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        return w * (ops.clip_by_value(norms, 0.0, float(self.max_value)) / (K.epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """Weights that are not negative (`tf.keras.constraints.NonNeg`)."""

    def __call__(self, w: Any) -> Any:
        return w * ops.cast(ops.greater_equal(w, 0.0), w.dtype.base)


class UnitNorm(Constraint):
    """Norms along `axis` of 1 (`tf.keras.constraints.UnitNorm`)."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (K.epsilon() + _norms(w, self.axis))

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Norms along `axis` between two values, approached by `rate` (`tf.keras.constraints.MinMaxNorm`)."""

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0
    ) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        wanted = (
            self.rate * ops.clip_by_value(norms, self.min_value, self.max_value) + (1 - self.rate) * norms
        )
        return w * (wanted / (K.epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


_KNOWN: dict[str, Any] = {
    "MaxNorm": MaxNorm,
    "MinMaxNorm": MinMaxNorm,
    "NonNeg": NonNeg,
    "UnitNorm": UnitNorm,
    "max_norm": MaxNorm,
    "min_max_norm": MinMaxNorm,
    "non_neg": NonNeg,
    "unit_norm": UnitNorm,
}


def serialize(constraint: Any) -> Any:
    """The class name and configuration of a constraint."""
    return serialize_keras_object(constraint)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The constraint of a configuration or name."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "constraint")


def get(identifier: Any) -> Any:
    """The constraint of a configuration or name; a function is itself, None is None."""
    if identifier is None:
        return None
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret constraint identifier: {identifier}")
