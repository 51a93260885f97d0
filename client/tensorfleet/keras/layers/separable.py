"""Convolutions of each channel by itself, then over the channels."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import (
    constraint_classes as constraints,
    initializer_classes as initializers,
    ops,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.backend.neural import from_channels_last, to_channels_last, tuple_of
from tensorfleet.keras.layers.convolutional import Conv


class _Separable(Conv):
    """What separable convolutions share."""

    def __init__(
        self,
        rank: int,
        filters: int,
        kernel_size: Any,
        strides: Any,
        padding: str,
        data_format: str | None,
        dilation_rate: Any,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(rank, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias),
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.pointwise_initializer = initializers.get(pointwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.pointwise_regularizer = regularizers.get(pointwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)
        self.pointwise_constraint = constraints.get(pointwise_constraint)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            [*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            [*(1,) * self.rank, channels * self.depth_multiplier, self.filters],
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self._add_bias([self.filters])
        self.built = True

    def call(self, inputs: Any) -> Any:
        x = to_channels_last(inputs, self.data_format)
        depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel
        strides, dilation, padding = self.strides, self.dilation_rate, self.padding
        if self.rank == 1:
            if padding == "causal":
                left = dilation[0] * (self.kernel_size[0] - 1)
                x, padding = ops.pad(x, [[0, 0], [left, 0], [0, 0]]), "valid"
            # A sequence is an image of height 1; the op takes equal strides.
            x = ops.expand_dims(x, 1)
            depthwise, pointwise = ops.expand_dims(depthwise, 0), ops.expand_dims(pointwise, 0)
            strides, dilation = tuple_of(strides[0], 2), (1, dilation[0])
        outputs = ops.separable_conv2d(
            x, depthwise, pointwise, strides=[1, *strides, 1], padding=padding.upper(), rate=dilation
        )
        if self.rank == 1:
            outputs = ops.squeeze(outputs, [1])
        return self._finish(from_channels_last(outputs, self.data_format))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name in ("kernel_initializer", "kernel_regularizer", "kernel_constraint"):
            config.pop(name)
        return {
            **config,
            "depth_multiplier": self.depth_multiplier,
            "depthwise_initializer": initializers.serialize(self.depthwise_initializer),
            "pointwise_initializer": initializers.serialize(self.pointwise_initializer),
            "depthwise_regularizer": regularizers.serialize(self.depthwise_regularizer),
            "pointwise_regularizer": regularizers.serialize(self.pointwise_regularizer),
            "depthwise_constraint": constraints.serialize(self.depthwise_constraint),
            "pointwise_constraint": constraints.serialize(self.pointwise_constraint),
        }


class SeparableConv1D(_Separable):
    """A separable convolution over sequences (`tf.keras.layers.SeparableConv1D`)."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            1, filters, kernel_size, strides, padding, data_format, dilation_rate, *args, **kwargs
        )


class SeparableConv2D(_Separable):
    """A separable convolution over images (`tf.keras.layers.SeparableConv2D`)."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            2, filters, kernel_size, strides, padding, data_format, dilation_rate, *args, **kwargs
        )
