"""Pooling: `tf.layers.MaxPooling1D`, `tf.layers.AveragePooling2D`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.base import Layer, run_layer
from tensorfleet.layers.convolution import FORMATS
from tensorfleet.layers.input_spec import InputSpec
from tensorfleet.layers.parts import channels_first, padding_of, sizes_of
from tensorfleet.ops.nn.convolution import avg_pool1d, max_pool1d
from tensorfleet.ops.nn.pool import avg_pool, max_pool
from tensorfleet.ops.nn.pool3d import avg_pool3d, max_pool3d


class Pooling(Layer):
    """The base class of pooling layers, which reduce each window to one number.

    Args:
        pool_size, strides: a number for each dimension, or one for all.
        padding: "valid" or "same".
        data_format: "channels_last" or "channels_first".
    """

    rank: int
    _function: Any

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: Any = "valid",
        data_format: Any = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = sizes_of(pool_size, self.rank, "pool_size")
        self.strides = sizes_of(pool_size if strides is None else strides, self.rank, "strides")
        self.padding = padding_of(padding)
        self.data_format = data_format
        self._channels_first = channels_first(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> Any:
        return type(self)._function(
            inputs,
            list(self.pool_size),
            list(self.strides),
            self.padding.upper(),
            data_format=FORMATS[self.rank][self._channels_first],
        )

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        first = 2 if self._channels_first else 1
        for i, (window, stride) in enumerate(zip(self.pool_size, self.strides, strict=True)):
            size = sizes[first + i]
            if size is not None:
                sizes[first + i] = -(-(size if self.padding == "same" else size - window + 1) // stride)
        return TensorShape(sizes)


class MaxPooling1D(Pooling):
    """The greatest value in each window of sequences (`tf.layers.MaxPooling1D`)."""

    rank, _function = 1, staticmethod(max_pool1d)


class MaxPooling2D(Pooling):
    """The greatest value in each window of images (`tf.layers.MaxPooling2D`)."""

    rank, _function = 2, staticmethod(max_pool)


class MaxPooling3D(Pooling):
    """The greatest value in each window of volumes (`tf.layers.MaxPooling3D`)."""

    rank, _function = 3, staticmethod(max_pool3d)


class AveragePooling1D(Pooling):
    """The mean of each window of sequences (`tf.layers.AveragePooling1D`)."""

    rank, _function = 1, staticmethod(avg_pool1d)


class AveragePooling2D(Pooling):
    """The mean of each window of images (`tf.layers.AveragePooling2D`)."""

    rank, _function = 2, staticmethod(avg_pool)


class AveragePooling3D(Pooling):
    """The mean of each window of volumes (`tf.layers.AveragePooling3D`)."""

    rank, _function = 3, staticmethod(avg_pool3d)


def max_pooling1d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: Any = "valid",
    data_format: Any = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The output of a `MaxPooling1D` layer for `inputs` (`tf.layers.max_pooling1d`)."""
    return run_layer(MaxPooling1D, locals())


def max_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: Any = "valid",
    data_format: Any = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The output of a `MaxPooling2D` layer for `inputs` (`tf.layers.max_pooling2d`)."""
    return run_layer(MaxPooling2D, locals())


def max_pooling3d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: Any = "valid",
    data_format: Any = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The output of a `MaxPooling3D` layer for `inputs` (`tf.layers.max_pooling3d`)."""
    return run_layer(MaxPooling3D, locals())


def average_pooling1d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: Any = "valid",
    data_format: Any = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The output of an `AveragePooling1D` layer for `inputs` (`tf.layers.average_pooling1d`)."""
    return run_layer(AveragePooling1D, locals())


def average_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: Any = "valid",
    data_format: Any = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The output of an `AveragePooling2D` layer for `inputs` (`tf.layers.average_pooling2d`)."""
    return run_layer(AveragePooling2D, locals())


def average_pooling3d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: Any = "valid",
    data_format: Any = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The output of an `AveragePooling3D` layer for `inputs` (`tf.layers.average_pooling3d`)."""
    return run_layer(AveragePooling3D, locals())
