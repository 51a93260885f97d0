"""Layers that repeat, pad and cut sequences, images and volumes."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.backend.neural import tuple_of
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.layers.input_spec import InputSpec


def _pairs(value: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """The numbers before and after for each dimension, from one number, one for each, or pairs."""
    if isinstance(value, int):
        return ((value, value),) * rank
    given = tuple(value)
    if rank == 1:
        return ((int(given[0]), int(given[1])),)
    if len(given) != rank:
        raise ValueError(f"Expected {rank} numbers, or pairs of numbers. Found: {value}")
    return tuple((one, one) if isinstance(one, int) else (int(one[0]), int(one[1])) for one in given)


class _Spatial(Layer):
    """What these layers share: the dimensions between batch and channels."""

    _rank = 1

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = "channels_last" if self._rank == 1 else data_format or K.image_data_format()
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _begin(self) -> int:
        return 2 if self.data_format == "channels_first" else 1

    def _with(self, input_shape: Any, change: Any) -> Any:
        sizes = dims_of(input_shape)
        begin = self._begin()
        for i in range(self._rank):
            size = sizes[begin + i]
            sizes[begin + i] = None if size is None else change(size, i)
        return TensorShape(sizes)

    def _own(self) -> dict[str, Any]:
        return {"data_format": self.data_format} if self._rank > 1 else {}


class _UpSampling(_Spatial):
    def __init__(self, size: Any = 2, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.size = tuple_of(size, self._rank)

    def call(self, inputs: Any) -> Any:
        for i, factor in enumerate(self.size):
            inputs = K.repeat_elements(inputs, factor, self._begin() + i)
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return self._with(input_shape, lambda size, i: size * self.size[i])

    def get_config(self) -> dict[str, Any]:
        size: Any = self.size if self._rank > 1 else self.size[0]
        return {**super().get_config(), "size": size, **self._own()}


class UpSampling1D(_UpSampling):
    """Time steps repeated (`tf.keras.layers.UpSampling1D`)."""

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(size, None, **kwargs)


class UpSampling2D(_UpSampling):
    """Rows and columns of images repeated, or interpolated (`tf.keras.layers.UpSampling2D`)."""

    _rank = 2

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(size, data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError('`interpolation` argument should be one of `"nearest"` or `"bilinear"`.')
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Any:
        return K.resize_images(
            inputs, self.size[0], self.size[1], self.data_format, interpolation=self.interpolation
        )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "interpolation": self.interpolation}


class UpSampling3D(_UpSampling):
    """Elements of volumes repeated (`tf.keras.layers.UpSampling3D`)."""

    _rank = 3


class _ZeroPadding(_Spatial):
    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = _pairs(padding, self._rank)

    def call(self, inputs: Any) -> Any:
        pads: list[list[int]] = [[0, 0] for _ in range(self._rank + 2)]
        for i, pair in enumerate(self.padding):
            pads[self._begin() + i] = list(pair)
        return ops.pad(inputs, pads)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return self._with(input_shape, lambda size, i: size + sum(self.padding[i]))

    def get_config(self) -> dict[str, Any]:
        padding: Any = self.padding if self._rank > 1 else self.padding[0]
        return {**super().get_config(), "padding": padding, **self._own()}


class ZeroPadding1D(_ZeroPadding):
    """Zeros before and after sequences (`tf.keras.layers.ZeroPadding1D`)."""

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(padding, None, **kwargs)


class ZeroPadding2D(_ZeroPadding):
    """Zeros around images (`tf.keras.layers.ZeroPadding2D`)."""

    _rank = 2


class ZeroPadding3D(_ZeroPadding):
    """Zeros around volumes (`tf.keras.layers.ZeroPadding3D`)."""

    _rank = 3


class _Cropping(_Spatial):
    def __init__(self, cropping: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping = _pairs(cropping, self._rank)

    def call(self, inputs: Any) -> Any:
        item: list[slice] = [slice(None)] * (self._rank + 2)
        for i, (before, after) in enumerate(self.cropping):
            item[self._begin() + i] = slice(before, -after if after else None)
        return inputs[tuple(item)]

    def compute_output_shape(self, input_shape: Any) -> Any:
        return self._with(input_shape, lambda size, i: size - sum(self.cropping[i]))

    def get_config(self) -> dict[str, Any]:
        cropping: Any = self.cropping if self._rank > 1 else self.cropping[0]
        return {**super().get_config(), "cropping": cropping, **self._own()}


class Cropping1D(_Cropping):
    """Sequences without some of their first and last steps (`tf.keras.layers.Cropping1D`)."""

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(cropping, None, **kwargs)


class Cropping2D(_Cropping):
    """Images without their margins (`tf.keras.layers.Cropping2D`)."""

    _rank = 2

    def __init__(
        self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cropping, data_format, **kwargs)


class Cropping3D(_Cropping):
    """Volumes without their margins (`tf.keras.layers.Cropping3D`)."""

    _rank = 3
