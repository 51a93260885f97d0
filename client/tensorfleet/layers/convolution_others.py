"""Separable and transposed convolutions: `tf.layers.SeparableConv2D`, `tf.layers.Conv2DTranspose`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.base import run_layer
from tensorfleet.layers.convolution import Convolution, ConvolutionLayer
from tensorfleet.layers.parts import ZEROS, initializer_of
from tensorfleet.ops.array.shaping import expand_dims, squeeze
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.nn.conv import (
    conv2d_transpose as nn_conv2d_transpose,
    separable_conv2d as nn_separable_conv2d,
)
from tensorfleet.ops.nn.conv3d import conv3d_transpose as nn_conv3d_transpose


class SeparableConvolution(ConvolutionLayer):
    """Depthwise convolution followed by a pointwise (1 × 1) convolution.

    Args:
        depth_multiplier: the number of output channels of the first step for each input channel.
        depthwise_initializer, pointwise_initializer, …: arguments of the kernels
            [*kernel_size, channels, multiplier] and [1, …, channels · multiplier, filters].
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: Any = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
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
        self.depth_multiplier = depth_multiplier
        self._depthwise = {
            "initializer": initializer_of(depthwise_initializer),
            "regularizer": depthwise_regularizer,
            "constraint": depthwise_constraint,
        }
        self._pointwise = {
            "initializer": initializer_of(pointwise_initializer),
            "regularizer": pointwise_regularizer,
            "constraint": pointwise_constraint,
        }
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        multiplier = self.depth_multiplier
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", [*self.kernel_size, channels, multiplier], trainable=True, **self._depthwise
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            [*[1] * self.rank, channels * multiplier, self.filters],
            trainable=True,
            **self._pointwise,
        )
        self._add_bias()
        self.built = True


class SeparableConv1D(SeparableConvolution):
    """Separable convolution of sequences (`tf.layers.SeparableConv1D`); see `SeparableConvolution`."""

    rank = 1

    def call(self, inputs: Any) -> Any:
        axis = 2 if self._channels_first else 1
        outputs = nn_separable_conv2d(
            expand_dims(inputs, axis),
            expand_dims(self.depthwise_kernel, 0),
            expand_dims(self.pointwise_kernel, 0),
            strides=_all_four(self.strides * 2, self._channels_first),
            padding=self.padding.upper(),
            rate=[1, *self.dilation_rate],
            data_format="NCHW" if self._channels_first else "NHWC",
        )
        outputs = squeeze(self._biased_image(outputs), [axis])
        return outputs if self.activation is None else self.activation(outputs)

    def _biased_image(self, outputs: Tensor) -> Tensor:
        if not self.use_bias:
            return outputs
        return apply_one(
            "BiasAdd", outputs, self.bias, data_format="NCHW" if self._channels_first else "NHWC"
        )


class SeparableConv2D(SeparableConvolution):
    """Separable convolution of images (`tf.layers.SeparableConv2D`); see `SeparableConvolution`."""

    rank = 2

    def call(self, inputs: Any) -> Any:
        outputs = nn_separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            strides=_all_four(self.strides, self._channels_first),
            padding=self.padding.upper(),
            rate=list(self.dilation_rate),
            data_format=self._format,
        )
        return self._finished(outputs)


def _all_four(strides: tuple[int, ...], first: bool) -> list[int]:
    return [1, 1, *strides] if first else [1, *strides, 1]


class TransposedConvolution(Convolution):
    """The transpose of a convolution, with a kernel [*kernel_size, filters, channels in]."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: Any = "channels_last",
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
            strides=strides,
            padding=padding,
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, self.filters, channels]

    def _window_count(self, size: int | None, axis: int) -> int | None:
        if size is None:
            return None
        more = max(self.kernel_size[axis] - self.strides[axis], 0) if self.padding == "valid" else 0
        return size * self.strides[axis] + more

    def call(self, inputs: Any) -> Any:
        shape = self.compute_output_shape(inputs.shape)
        outputs = (nn_conv2d_transpose if self.rank == 2 else nn_conv3d_transpose)(
            inputs,
            self.kernel,
            self._output_sizes(inputs, shape.as_list()),
            strides=list(self.strides),
            padding=self.padding.upper(),
            data_format=self._format,
        )
        outputs.set_shape(shape)
        return self._finished(outputs)

    def _output_sizes(self, inputs: Tensor, sizes: list[int | None]) -> Any:
        """The shape of the outputs; sizes that are not static are tensors."""
        if None not in sizes:
            return sizes
        first = 2 if self._channels_first else 1
        given: Any = apply_one("Shape", inputs)
        found: list[Any] = list(sizes)
        for axis, size in enumerate(sizes):
            if size is None and axis == 0:
                found[0] = given[0]
            elif size is None:
                i = axis - first
                more = max(self.kernel_size[i] - self.strides[i], 0) if self.padding == "valid" else 0
                found[axis] = given[axis] * self.strides[i] + more
        return apply_one("Pack", found)


class Conv2DTranspose(TransposedConvolution):
    """The transpose of a convolution of images (`tf.layers.Conv2DTranspose`)."""

    rank = 2


class Conv3DTranspose(TransposedConvolution):
    """The transpose of a convolution of volumes (`tf.layers.Conv3DTranspose`)."""

    rank = 3


def separable_conv1d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = 1,
    padding: Any = "valid",
    data_format: Any = "channels_last",
    dilation_rate: Any = 1,
    depth_multiplier: int = 1,
    activation: Any = None,
    use_bias: bool = True,
    depthwise_initializer: Any = None,
    pointwise_initializer: Any = None,
    bias_initializer: Any = ZEROS,
    depthwise_regularizer: Any = None,
    pointwise_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    depthwise_constraint: Any = None,
    pointwise_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """The output of a `SeparableConv1D` layer for `inputs` (`tf.layers.separable_conv1d`)."""
    return run_layer(SeparableConv1D, locals())


def separable_conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: Any = "valid",
    data_format: Any = "channels_last",
    dilation_rate: Any = (1, 1),
    depth_multiplier: int = 1,
    activation: Any = None,
    use_bias: bool = True,
    depthwise_initializer: Any = None,
    pointwise_initializer: Any = None,
    bias_initializer: Any = ZEROS,
    depthwise_regularizer: Any = None,
    pointwise_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    depthwise_constraint: Any = None,
    pointwise_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Tensor:
    """The output of a `SeparableConv2D` layer for `inputs` (`tf.layers.separable_conv2d`)."""
    return run_layer(SeparableConv2D, locals())


def conv2d_transpose(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: Any = "valid",
    data_format: Any = "channels_last",
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
    """The output of a `Conv2DTranspose` layer for `inputs` (`tf.layers.conv2d_transpose`)."""
    return run_layer(Conv2DTranspose, locals())


def conv3d_transpose(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1, 1),
    padding: Any = "valid",
    data_format: Any = "channels_last",
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
    """The output of a `Conv3DTranspose` layer for `inputs` (`tf.layers.conv3d_transpose`)."""
    return run_layer(Conv3DTranspose, locals())
