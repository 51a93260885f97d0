"""Activations with settings or weights of their own."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import (
    backend as K,
    constraint_classes as constraints,
    initializer_classes as initializers,
    ops,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.keras.nest import to_list
from tensorfleet.layers.input_spec import InputSpec


class _ActivationLayer(Layer):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


class LeakyReLU(_ActivationLayer):
    """x above 0, alpha * x below (`tf.keras.layers.LeakyReLU`)."""

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return K.relu(inputs, alpha=self.alpha)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alpha": self.alpha}


class PReLU(_ActivationLayer):
    """x above 0, alpha * x below, with an alpha that is learned (`tf.keras.layers.PReLU`).

    Args:
        shared_axes: dimensions along which alpha is the same.
    """

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        self.shared_axes = None if shared_axes is None else to_list(shared_axes)

    def build(self, input_shape: Any) -> None:
        sizes = dims_of(input_shape)[1:]
        for axis in self.shared_axes or ():
            sizes[axis - 1] = 1
        self.alpha = self.add_weight(
            "alpha",
            sizes,
            initializer=self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )
        self.input_spec = InputSpec(ndim=len(sizes) + 1)
        self.built = True

    def call(self, inputs: Any) -> Any:
        return ops.relu(inputs) - self.alpha * ops.relu(-inputs)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "alpha_initializer": initializers.serialize(self.alpha_initializer),
            "alpha_regularizer": regularizers.serialize(self.alpha_regularizer),
            "alpha_constraint": constraints.serialize(self.alpha_constraint),
            "shared_axes": self.shared_axes,
        }


class ELU(_ActivationLayer):
    """x above 0, alpha * (exp(x) - 1) below (`tf.keras.layers.ELU`)."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return K.elu(inputs, self.alpha)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alpha": self.alpha}


class ThresholdedReLU(_ActivationLayer):
    """x above theta, else 0 (`tf.keras.layers.ThresholdedReLU`)."""

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = float(theta)

    def call(self, inputs: Any) -> Any:
        return inputs * ops.cast(inputs > self.theta, inputs.dtype.base)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "theta": self.theta}


class Softmax(_ActivationLayer):
    """Exponentials divided by their sum along `axis` (`tf.keras.layers.Softmax`)."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return ops.softmax(inputs, axis=self.axis)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axis": self.axis}


class ReLU(_ActivationLayer):
    """x above the threshold, at most `max_value`; a line below it (`tf.keras.layers.ReLU`)."""

    def __init__(
        self, max_value: Any = None, negative_slope: float = 0, threshold: float = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if max_value is not None and max_value < 0.0:
            raise ValueError(f"max_value of a ReLU layer cannot be a negative value: {max_value}")
        if negative_slope < 0.0:
            raise ValueError(f"negative_slope of a ReLU layer cannot be a negative value: {negative_slope}")
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: Any) -> Any:
        return K.relu(inputs, self.negative_slope, self.max_value, self.threshold)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "max_value": self.max_value,
            "negative_slope": self.negative_slope,
            "threshold": self.threshold,
        }
