"""Convolutions: `tf.layers.Conv1D`, `Conv2D` and `Conv3D`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.base import Layer, run_layer
from tensorfleet.layers.input_spec import InputSpec
from tensorfleet.layers.parts import (
    ZEROS,
    activation_of,
    channels_first,
    initializer_of,
    padding_of,
    sizes_of,
)
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.nn.convolution import convolution

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
"""The ops' data formats for "channels_last" and "channels_first", by the number of dimensions."""


class ConvolutionLayer(Layer):
    """The base class of convolutions: windows, a bias, an activation.

    Args:
        filters: the number of output channels.
        kernel_size, strides, dilation_rate: a number for each dimension, or one for all.
        padding: "valid" or "same".
        data_format: "channels_last" or "channels_first".
        activation: a function, its name, or None.
        use_bias: whether there is a bias for each channel.
        bias_regularizer, activity_regularizer: functions from a tensor to a loss.
        bias_constraint: a function from the updated bias to the value to store.
    """

    rank: int

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any,
        padding: Any,
        data_format: Any,
        dilation_rate: Any,
        activation: Any,
        use_bias: bool,
        bias_initializer: Any,
        bias_regularizer: Any,
        activity_regularizer: Any,
        bias_constraint: Any,
        trainable: bool,
        name: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.filters = int(filters)
        if self.filters <= 0:
            raise ValueError(
                "Invalid value for argument `filters`. Expected a strictly positive value. Received "
                f"filters={filters}."
            )
        self.kernel_size = sizes_of(kernel_size, self.rank, "kernel_size")
        self.strides = sizes_of(strides, self.rank, "strides")
        self.dilation_rate = sizes_of(dilation_rate, self.rank, "dilation_rate")
        self.padding = padding_of(padding)
        self.data_format = data_format
        self._channels_first = channels_first(data_format)
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.bias_initializer = initializer_of(bias_initializer)
        self.bias_regularizer, self.bias_constraint = bias_regularizer, bias_constraint
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.bias: Any = None

    @property
    def _format(self) -> str:
        return FORMATS[self.rank][self._channels_first]

    @property
    def _channel_axis(self) -> int:
        return 1 if self._channels_first else self.rank + 1

    def _channels(self, input_shape: Any) -> int:
        """The number of input channels, which becomes a requirement for all inputs.

        Raises:
            ValueError: the number is not known.
        """
        channels = TensorShape(input_shape).as_list()[self._channel_axis]
        if channels is None:
            raise ValueError(
                "The channel dimension of the inputs should be defined. The input_shape received is "
                f"{input_shape}, where axis {self._channel_axis} (0-based) is the channel dimension, which "
                "found to be `None`."
            )
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        return int(channels)

    def _add_bias(self) -> None:
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                trainable=True,
            )

    def _finished(self, outputs: Tensor) -> Any:
        """The outputs with bias and activation."""
        if self.use_bias:
            outputs = self._biased(outputs)
        return outputs if self.activation is None else self.activation(outputs)

    def _biased(self, outputs: Any) -> Any:
        if not self._channels_first:
            return apply_one("BiasAdd", outputs, self.bias)
        if self.rank == 1:
            return outputs + apply_one("Reshape", self.bias, [1, self.filters, 1])
        return apply_one("BiasAdd", outputs, self.bias, data_format="NCHW")

    def _window_count(self, size: int | None, axis: int) -> int | None:
        """The number of windows along a dimension."""
        if size is None:
            return None
        if self.padding == "same":
            return -(-size // self.strides[axis])
        reach = (self.kernel_size[axis] - 1) * self.dilation_rate[axis] + 1
        return -(-(size - reach + 1) // self.strides[axis])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        first = 2 if self._channels_first else 1
        space = [self._window_count(n, i) for i, n in enumerate(sizes[first : first + self.rank])]
        if self._channels_first:
            return TensorShape([sizes[0], self.filters, *space])
        return TensorShape([sizes[0], *space, self.filters])


class Convolution(ConvolutionLayer):
    """Convolution with a kernel [*kernel_size, channels in, filters]."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: Any = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            bias_initializer,
            bias_regularizer,
            activity_regularizer,
            bias_constraint,
            trainable,
            name,
            **kwargs,
        )
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.kernel_regularizer, self.kernel_constraint = kernel_regularizer, kernel_constraint
        self.kernel: Any = None

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, channels, self.filters]

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight(
            "kernel",
            self._kernel_shape(self._channels(input_shape)),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            trainable=True,
        )
        self._add_bias()
        self.built = True

    def call(self, inputs: Any) -> Any:
        outputs = convolution(
            inputs,
            self.kernel,
            self.padding.upper(),
            strides=list(self.strides),
            dilation_rate=list(self.dilation_rate),
            data_format=self._format,
            name=type(self).__name__,
        )
        return self._finished(outputs)


class Conv1D(Convolution):
    """Convolution of sequences [batch, width, channels] (`tf.layers.Conv1D`); see `Convolution`."""

    rank = 1


class Conv2D(Convolution):
    """Convolution of images [batch, height, width, channels] (`tf.layers.Conv2D`); see `Convolution`."""

    rank = 2


class Conv3D(Convolution):
    """Convolution of volumes [batch, depth, height, width, channels] (`tf.layers.Conv3D`)."""

    rank = 3


def conv1d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = 1,
    padding: Any = "valid",
    data_format: Any = "channels_last",
    dilation_rate: Any = 1,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = ZEROS,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """The output of a `Conv1D` layer for `inputs` (`tf.layers.conv1d`)."""
    return run_layer(Conv1D, locals())


def conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: Any = "valid",
    data_format: Any = "channels_last",
    dilation_rate: Any = (1, 1),
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = ZEROS,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """The output of a `Conv2D` layer for `inputs` (`tf.layers.conv2d`).

    Example:
        >>> tf.layers.conv2d(tf.zeros([1, 8, 8, 3]), filters=16, kernel_size=3).shape.as_list()
        [1, 6, 6, 16]
    """
    return run_layer(Conv2D, locals())


def conv3d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1, 1),
    padding: Any = "valid",
    data_format: Any = "channels_last",
    dilation_rate: Any = (1, 1, 1),
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = ZEROS,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """The output of a `Conv3D` layer for `inputs` (`tf.layers.conv3d`)."""
    return run_layer(Conv3D, locals())
