"""Convolutions: `Conv1D`, `Conv2D`, `Conv3D`, transposed, depthwise and separable ones."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import (
    backend as K,
    constraint_classes as constraints,
    initializer_classes as initializers,
    ops,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.backend.neural import convolution, from_channels_last, to_channels_last, tuple_of
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.keras.layers.kernel_and_bias import KernelAndBias
from tensorfleet.layers.input_spec import InputSpec


def output_size(size: int | None, window: int, padding: str, stride: int, dilation: int = 1) -> int | None:
    """The number of places of a window in a dimension."""
    if size is None:
        return None
    wide = (window - 1) * dilation + 1
    count = size if padding in ("same", "causal") else size - wide + 1
    return -(-count // stride)


def transposed_size(
    size: int | None, window: int, padding: str, stride: int, more: int | None = None
) -> int | None:
    """The size of the input of a convolution whose output has that size."""
    if size is None:
        return None
    if more is None:
        return size * stride if padding == "same" else size * stride + max(window - stride, 0)
    return (size - 1) * stride + window - (2 * (window // 2) if padding == "same" else 0) + more


class Conv(KernelAndBias):
    """What convolutions share.

    Args:
        rank: the number of dimensions that the window moves along.
    """

    def __init__(
        self,
        rank: int,
        filters: int | None,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
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
        super().__init__(
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            **kwargs,
        )
        self.rank, self.filters = rank, filters
        self.kernel_size, self.strides = tuple_of(kernel_size, rank), tuple_of(strides, rank)
        self.padding = padding.lower()
        if self.padding not in ("valid", "same", *(["causal"] if rank == 1 else [])):
            raise ValueError(f'The `padding` argument must be one of "valid", "same". Received: {padding}')
        self.data_format = data_format or K.image_data_format()
        self.dilation_rate = tuple_of(dilation_rate, rank)
        self.input_spec = InputSpec(ndim=rank + 2)

    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    def _channels(self, input_shape: Any) -> int:
        size = dims_of(input_shape)[self._channel_axis()]
        if size is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis(): size})
        return size

    def build(self, input_shape: Any) -> None:
        self._add_kernel([*self.kernel_size, self._channels(input_shape), self.filters])
        self._add_bias([self.filters])
        self.built = True

    def call(self, inputs: Any) -> Any:
        return self._finish(
            convolution(
                inputs,
                self.kernel,
                self.rank,
                self.strides,
                self.padding,
                self.data_format,
                self.dilation_rate,
            )
        )

    def _finish(self, outputs: Any) -> Any:
        if self.use_bias:
            outputs = K.bias_add(outputs, self.bias, data_format=self.data_format)
        return self.activation(outputs)

    def _spatial(self, sizes: list[int | None]) -> list[int | None]:
        return [
            output_size(size, window, self.padding, stride, dilation)
            for size, window, stride, dilation in zip(
                sizes, self.kernel_size, self.strides, self.dilation_rate, strict=True
            )
        ]

    def _shape_of(self, input_shape: Any, channels: int | None) -> Any:
        sizes = dims_of(input_shape)
        if self.data_format == "channels_first":
            return TensorShape([sizes[0], channels, *self._spatial(sizes[2:])])
        return TensorShape([sizes[0], *self._spatial(sizes[1:-1]), channels])

    def compute_output_shape(self, input_shape: Any) -> Any:
        return self._shape_of(input_shape, self.filters)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
        }


class Conv1D(Conv):
    """A convolution over sequences (`tf.keras.layers.Conv1D`)."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(1, filters, kernel_size, strides, padding, data_format, *args, **kwargs)


class Conv2D(Conv):
    """A convolution over images (`tf.keras.layers.Conv2D`)."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(2, filters, kernel_size, strides, padding, data_format, *args, **kwargs)


class Conv3D(Conv):
    """A convolution over volumes (`tf.keras.layers.Conv3D`)."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(3, filters, kernel_size, strides, padding, data_format, *args, **kwargs)


class _Transposed(Conv):
    """What transposed convolutions share."""

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Any,
        strides: Any,
        padding: str,
        output_padding: Any,
        data_format: str | None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(rank, filters, kernel_size, strides, padding, data_format, *args, **kwargs)
        self.output_padding = None if output_padding is None else tuple_of(output_padding, rank)

    def build(self, input_shape: Any) -> None:
        self._add_kernel([*self.kernel_size, self.filters, self._channels(input_shape)])
        self._add_bias([self.filters])
        self.built = True

    def _spatial(self, sizes: list[int | None]) -> list[int | None]:
        more = self.output_padding or (None,) * self.rank
        return [
            transposed_size(size, window, self.padding, stride, add)
            for size, window, stride, add in zip(sizes, self.kernel_size, self.strides, more, strict=True)
        ]

    def call(self, inputs: Any) -> Any:
        x = to_channels_last(inputs, self.data_format)
        shape, known = ops.shape(x), x.shape.as_list()
        static = self._spatial(known[1:-1])
        sizes: list[Any] = []
        for i in range(self.rank):
            size: Any = static[i]
            if size is None:
                more = None if self.output_padding is None else self.output_padding[i]
                # The rule of sizes is linear in the size.
                base = transposed_size(0, self.kernel_size[i], self.padding, self.strides[i], more)
                size = shape[i + 1] * self.strides[i] + base
            sizes.append(size)
        target = ops.stack([shape[0], *sizes, self.filters])
        strides = [1, *self.strides, 1]
        make = ops.conv2d_transpose if self.rank == 2 else ops.conv3d_transpose
        outputs = make(x, self.kernel, target, strides=strides, padding=self.padding.upper())
        outputs.set_shape([known[0], *static, self.filters])
        return self._finish(from_channels_last(outputs, self.data_format))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "output_padding": self.output_padding}


class Conv2DTranspose(_Transposed):
    """The transpose of a convolution over images (`tf.keras.layers.Conv2DTranspose`)."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            2, filters, kernel_size, strides, padding, output_padding, data_format, *args, **kwargs
        )
        if self.dilation_rate != (1, 1):
            raise NotImplementedError("Conv2DTranspose: a dilation_rate above 1 is not part of TensorFleet.")


class Conv3DTranspose(_Transposed):
    """The transpose of a convolution over volumes (`tf.keras.layers.Conv3DTranspose`)."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        activation: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(3, filters, kernel_size, strides, padding, output_padding, data_format, 1, activation),
            *args,
            **kwargs,
        )


class DepthwiseConv2D(Conv):
    """A convolution of each channel by itself (`tf.keras.layers.DepthwiseConv2D`)."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        dilation_rate: Any = (1, 1),
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(2, None, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias),
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self._add_depthwise(channels)
        self._add_bias([channels * self.depth_multiplier])
        self.built = True

    def _add_depthwise(self, channels: int) -> None:
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            [*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )

    def call(self, inputs: Any) -> Any:
        outputs = K.depthwise_conv2d(
            inputs, self.depthwise_kernel, self.strides, self.padding, self.data_format, self.dilation_rate
        )
        return self._finish(outputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        channels = dims_of(input_shape)[self._channel_axis()]
        return self._shape_of(input_shape, None if channels is None else channels * self.depth_multiplier)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name in ("filters", "kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            config.pop(name)
        return {
            **config,
            "depth_multiplier": self.depth_multiplier,
            "depthwise_initializer": initializers.serialize(self.depthwise_initializer),
            "depthwise_regularizer": regularizers.serialize(self.depthwise_regularizer),
            "depthwise_constraint": constraints.serialize(self.depthwise_constraint),
        }
