"""Convolutions whose weights differ from place to place: `LocallyConnected1D`, `LocallyConnected2D`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.backend.local import local_convolution
from tensorfleet.keras.backend.neural import tuple_of
from tensorfleet.keras.layers.convolutional import output_size
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.keras.layers.kernel_and_bias import KernelAndBias
from tensorfleet.layers.input_spec import InputSpec
from tensorfleet.ops.math.sparse_arithmetic import sparse_tensor_dense_matmul


class LocallyConnected(KernelAndBias):
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
        implementation: int,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.rank, self.filters = rank, filters
        self.kernel_size, self.strides = tuple_of(kernel_size, rank), tuple_of(strides, rank)
        self.padding = padding.lower()
        if implementation not in (1, 2, 3):
            raise ValueError(f"Unrecognized implementation mode: {implementation}.")
        if self.padding not in ("valid", "same") or (self.padding != "valid" and implementation == 1):
            raise ValueError(
                f"Invalid border mode for {type(self).__name__} "
                f'(only "valid" is supported if implementation is 1): {padding}'
            )
        self.data_format = data_format or K.image_data_format()
        self.implementation = implementation
        self.input_spec = InputSpec(ndim=rank + 2)

    def _spatial(self, input_shape: Any) -> tuple[list[int | None], int | None]:
        """The sizes of the images and their channels."""
        dims = dims_of(input_shape)
        first = self.data_format == "channels_first"
        return (dims[2:], dims[1]) if first else (dims[1:-1], dims[-1])

    def _places(self, sizes: list[int | None]) -> list[int | None]:
        """The places of the window in each dimension."""
        windows = zip(sizes, self.kernel_size, self.strides, strict=True)
        return [output_size(size, window, self.padding, step) for size, window, step in windows]

    def _ordered(self, sizes: Sequence[Any], channels: Any) -> list[Any]:
        """Sizes with the channels where the data format has them."""
        return [channels, *sizes] if self.data_format == "channels_first" else [*sizes, channels]

    def build(self, input_shape: Any) -> None:
        """Makes a kernel and a bias for each place of the window.

        Raises:
            ValueError: a size of the images, or the number of channels, is unknown, or the window does not
                fit.
        """
        sizes, channels = self._spatial(input_shape)
        places = self._places(sizes)
        if channels is None or None in sizes:
            raise ValueError(
                f"The spatial dimensions of the inputs to a {type(self).__name__} layer should be fully "
                f"defined, but layer received the inputs shape {input_shape}"
            )
        if any(place is None or place <= 0 for place in places):
            raise ValueError(
                f"The window of {self.name} does not fit into inputs of the shape {input_shape}."
            )
        if self.implementation == 1:
            self._add_kernel([_product(places), _product(self.kernel_size) * channels, self.filters])
        else:
            connected = _connected(sizes, places, self.kernel_size, self.strides, self.padding)
            ends = self._ordered(sizes, channels), self._ordered(places, self.filters)
            # With dimensions for the channels of both sides.
            axis = 0 if self.data_format == "channels_first" else self.rank
            mask = np.expand_dims(connected, (axis, axis + self.rank + 1))
            if self.implementation == 2:
                self._mask = mask
                self._add_kernel([*ends[0], *ends[1]])
            else:
                every = np.broadcast_to(mask, [*ends[0], *ends[1]])
                matrix = every.reshape(_product(ends[0]), _product(ends[1])).T
                self._matrix_shape, self._weights_at = matrix.shape, np.argwhere(matrix)
                self._add_kernel([len(self._weights_at)])
        self._add_bias([*places, self.filters])
        axis = 1 if self.data_format == "channels_first" else -1
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        self.built = True

    def call(self, inputs: Any) -> Any:
        sizes, channels = self._spatial(inputs.shape)
        places = self._places(sizes)
        if self.implementation == 1:
            outputs = local_convolution(
                inputs, self.kernel, self.kernel_size, self.strides, places, self.data_format
            )
        else:
            flat = ops.reshape(inputs, [-1, _product([*sizes, channels])])
            shape = self._ordered(places, self.filters)
            if self.implementation == 2:
                kernel = self.kernel * ops.cast(self._mask, self.kernel.dtype)
                found = ops.matmul(flat, ops.reshape(kernel, [flat.shape.as_list()[1], _product(shape)]))
            else:
                weights = ops.SparseTensor(self._weights_at, self.kernel, self._matrix_shape)
                found = ops.transpose(sparse_tensor_dense_matmul(weights, flat, adjoint_b=True))
            outputs = ops.reshape(found, [-1, *shape])
        if self.use_bias:
            outputs = K.bias_add(outputs, self.bias, data_format=self.data_format)
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        places = self._places(self._spatial(input_shape)[0])
        return TensorShape([dims_of(input_shape)[0], *self._ordered(places, self.filters)])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "implementation": self.implementation,
        }


def _product(sizes: Sequence[Any]) -> int:
    return math.prod(sizes)


def _connected(
    sizes: Sequence[Any], places: Sequence[Any], windows: Sequence[int], strides: Sequence[int], padding: str
) -> Any:
    """Which elements of an image each place of the window sees, `[*sizes, *places]`."""
    rank = len(sizes)
    found = np.ones([*sizes, *places], bool)
    for axis, (size, count, window, step) in enumerate(zip(sizes, places, windows, strides, strict=True)):
        begin = np.arange(count) * step - (window // 2 if padding == "same" else 0)
        at = np.arange(size)[:, None]
        seen = (at >= begin) & (at < begin + window)
        found &= seen.reshape(
            [size if i == axis else count if i == axis + rank else 1 for i in range(2 * rank)]
        )
    return found


class LocallyConnected1D(LocallyConnected):
    """A convolution of rank 1 with a kernel of its own for each place (`tf.keras.layers.LocallyConnected1D`).

    Args:
        filters: the number of output channels.
        kernel_size, strides: of the window.
        padding: "valid", or with implementations 2 and 3 "same".
        implementation: how the product is computed: 1 from windows, with a kernel (places, window, filters);
            2 by a matrix with zeros, whose kernel has the sizes of the inputs and of the outputs; 3 by a
            sparse matrix, whose kernel is a vector.
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
            implementation,
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


class LocallyConnected2D(LocallyConnected):
    """A convolution of rank 2 with a kernel of its own for each place (`tf.keras.layers.LocallyConnected2D`).

    Args:
        filters: the number of output channels.
        kernel_size, strides: of the window.
        padding: "valid", or with implementations 2 and 3 "same".
        implementation: how the product is computed: 1 from windows, with a kernel (places, window, filters);
            2 by a matrix with zeros, whose kernel has the sizes of the inputs and of the outputs; 3 by a
            sparse matrix, whose kernel is a vector.
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
            implementation,
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
