"""What layers with a kernel, a bias and an activation share: arguments, weights, configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.keras import (
    activation_functions as activations,
    constraint_classes as constraints,
    initializer_classes as initializers,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.engine.base_layer import Layer


class KernelAndBias(Layer):
    """A layer with the activation of a product with its kernel, and a bias.

    Args:
        activation: a function or its name; None for none.
        use_bias: whether there is a bias.

    The other arguments are those of both weights, as objects, configurations or names.
    """

    def __init__(
        self,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.activation, self.use_bias = activations.get(activation), use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.bias: Any = None

    def _add_kernel(self, shape: Sequence[int | None]) -> None:
        self.kernel = self.add_weight(
            "kernel",
            list(shape),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )

    def _add_bias(self, shape: Sequence[int | None]) -> None:
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                list(shape),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "activity_regularizer": regularizers.serialize(self._activity_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
        }
