"""Pooling: the greatest values or the means of windows, or of everything."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.backend.neural import pool, tuple_of
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.convolutional import output_size
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.layers.input_spec import InputSpec


class _Pooling(Layer):
    _rank, _mode = 2, "max"

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = tuple_of(pool_size, self._rank)
        self.strides = self.pool_size if strides is None else tuple_of(strides, self._rank)
        self.padding = padding.lower()
        self.data_format = data_format or ("channels_last" if self._rank == 1 else K.image_data_format())
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs: Any) -> Any:
        return pool(
            inputs, self._rank, self.pool_size, self.strides, self.padding, self.data_format, self._mode
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes = dims_of(input_shape)
        begin = 2 if self.data_format == "channels_first" else 1
        for i, (window, stride) in enumerate(zip(self.pool_size, self.strides, strict=True), begin):
            sizes[i] = output_size(sizes[i], window, self.padding, stride)
        return TensorShape(sizes)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "pool_size": self.pool_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
        }


class MaxPooling1D(_Pooling):
    """The greatest values of windows of sequences (`tf.keras.layers.MaxPooling1D`)."""

    _rank = 1


class MaxPooling2D(_Pooling):
    """The greatest values of windows of images (`tf.keras.layers.MaxPooling2D`)."""


class MaxPooling3D(_Pooling):
    """The greatest values of windows of volumes (`tf.keras.layers.MaxPooling3D`)."""

    _rank = 3


class AveragePooling1D(_Pooling):
    """The means of windows of sequences (`tf.keras.layers.AveragePooling1D`)."""

    _rank, _mode = 1, "avg"


class AveragePooling2D(_Pooling):
    """The means of windows of images (`tf.keras.layers.AveragePooling2D`)."""

    _mode = "avg"


class AveragePooling3D(_Pooling):
    """The means of windows of volumes (`tf.keras.layers.AveragePooling3D`)."""

    _rank, _mode = 3, "avg"


class _GlobalPooling(Layer):
    _rank, _mode = 2, "max"

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format or ("channels_last" if self._rank == 1 else K.image_data_format())
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _axes(self) -> list[int]:
        begin = 2 if self.data_format == "channels_first" else 1
        return list(range(begin, begin + self._rank))

    def call(self, inputs: Any) -> Any:
        reduce = ops.reduce_max if self._mode == "max" else ops.reduce_mean
        return reduce(inputs, self._axes())

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes = dims_of(input_shape)
        return TensorShape([sizes[0], sizes[1 if self.data_format == "channels_first" else -1]])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}


class GlobalMaxPooling1D(_GlobalPooling):
    """The greatest values of sequences (`tf.keras.layers.GlobalMaxPooling1D`)."""

    _rank = 1


class GlobalMaxPooling2D(_GlobalPooling):
    """The greatest values of images (`tf.keras.layers.GlobalMaxPooling2D`)."""


class GlobalMaxPooling3D(_GlobalPooling):
    """The greatest values of volumes (`tf.keras.layers.GlobalMaxPooling3D`)."""

    _rank = 3


class GlobalAveragePooling1D(_GlobalPooling):
    """The means of sequences, of the steps that the mask counts
    (`tf.keras.layers.GlobalAveragePooling1D`)."""

    _rank, _mode = 1, "avg"

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return super().call(inputs)
        [axis] = self._axes()
        counts = ops.expand_dims(ops.cast(mask, inputs.dtype.base), 2 if axis == 1 else 1)
        return ops.reduce_sum(inputs * counts, axis) / ops.reduce_sum(counts, axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


class GlobalAveragePooling2D(_GlobalPooling):
    """The means of images (`tf.keras.layers.GlobalAveragePooling2D`)."""

    _mode = "avg"


class GlobalAveragePooling3D(_GlobalPooling):
    """The means of volumes (`tf.keras.layers.GlobalAveragePooling3D`)."""

    _rank, _mode = 3, "avg"
