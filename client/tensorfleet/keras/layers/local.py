"""Convolutions whose weights differ from place to place: `LocallyConnected1D`, `LocallyConnected2D`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import (
    activation_functions as activations,
    backend as K,
    constraint_classes as constraints,
    initializer_classes as initializers,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.backend.local import local_convolution
from tensorfleet.keras.backend.neural import tuple_of
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.convolutional import output_size
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.layers.input_spec import InputSpec


class LocallyConnected(Layer):
    """What both layers share.

    Args:
        rank: the number of dimensions that the window moves along.
    """

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Any,
        strides: Any,
        padding: str,
        data_format: str | None,
        activation: Any,
        use_bias: bool,
        kernel_initializer: Any,
        bias_initializer: Any,
        kernel_regularizer: Any,
        bias_regularizer: Any,
        activity_regularizer: Any,
        kernel_constraint: Any,
        bias_constraint: Any,
        implementation: int,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.rank, self.filters = rank, filters
        self.kernel_size, self.strides = tuple_of(kernel_size, rank), tuple_of(strides, rank)
        self.padding = padding.lower()
        if self.padding != "valid":
            raise ValueError(
                f"Invalid border mode for {type(self).__name__} "
                f'(only "valid" is supported if implementation is 1): {padding}'
            )
        if implementation != 1:
            raise ValueError(f"Unrecognized implementation mode: {implementation}. Only 1 is supported.")
        self.data_format = data_format or K.image_data_format()
        self.activation, self.use_bias = activations.get(activation), use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.implementation = implementation
        self.input_spec = InputSpec(ndim=rank + 2)

    def _sizes(self, input_shape: Any) -> tuple[list[int | None], int | None]:
        """The places of the window in each dimension, and the channels."""
        dims = dims_of(input_shape)
        first = self.data_format == "channels_first"
        spatial, channels = (dims[2:], dims[1]) if first else (dims[1:-1], dims[-1])
        windows = zip(spatial, self.kernel_size, self.strides, strict=True)
        return [output_size(size, window, "valid", step) for size, window, step in windows], channels

    def build(self, input_shape: Any) -> None:
        """Makes a kernel and a bias for each place of the window.

        Raises:
            ValueError: a size of the images, or the number of channels, is unknown.
        """
        places, channels = self._sizes(input_shape)
        if channels is None or any(size is None for size in places):
            raise ValueError(
                f"The spatial dimensions of the inputs to a {type(self).__name__} layer should be fully "
                f"defined, but layer received the inputs shape {input_shape}"
            )
        count, window = 1, channels
        for place, size in zip(places, self.kernel_size, strict=True):
            assert place is not None
            count, window = count * place, window * size
        self.kernel = self.add_weight(
            "kernel",
            [count, window, self.filters],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias: Any = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [*places, self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        axis = 1 if self.data_format == "channels_first" else -1
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        self.built = True

    def call(self, inputs: Any) -> Any:
        places, _ = self._sizes(inputs.shape)
        outputs = local_convolution(
            inputs, self.kernel, self.kernel_size, self.strides, places, self.data_format
        )
        if self.use_bias:
            outputs = K.bias_add(outputs, self.bias, data_format=self.data_format)
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        places, _ = self._sizes(input_shape)
        batch = dims_of(input_shape)[0]
        if self.data_format == "channels_first":
            return TensorShape([batch, self.filters, *places])
        return TensorShape([batch, *places, self.filters])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "activity_regularizer": regularizers.serialize(self._activity_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
            "implementation": self.implementation,
        }


class LocallyConnected1D(LocallyConnected):
    """A convolution of rank 1 with a kernel of its own for each place (`tf.keras.layers.LocallyConnected1D`).

    Args:
        filters: the number of output channels.
        kernel_size, strides: of the window.
        implementation: 1, the only one. TensorFlow's 2 and 3 have other weights, and padding "same".
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            1,
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            implementation,
            **kwargs,
        )


class LocallyConnected2D(LocallyConnected):
    """A convolution of rank 2 with a kernel of its own for each place (`tf.keras.layers.LocallyConnected2D`).

    Args:
        filters: the number of output channels.
        kernel_size, strides: of the window.
        implementation: 1, the only one. TensorFlow's 2 and 3 have other weights, and padding "same".
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            2,
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            implementation,
            **kwargs,
        )
