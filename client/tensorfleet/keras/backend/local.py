"""Convolutions whose weights differ from place to place."""

from __future__ import annotations

import itertools
from typing import Any

from tensorfleet.keras import ops
from tensorfleet.keras.backend.neural import from_channels_last, to_channels_last, tuple_of
from tensorfleet.keras.backend.state import image_data_format, int_shape


def local_convolution(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, output_shape: Any, data_format: str | None
) -> Any:
    """What `local_conv1d` and `local_conv2d` share; `output_shape` has the places in each dimension."""
    rank = len(output_shape)
    order = data_format or image_data_format()
    x = to_channels_last(inputs, order)
    shape = int_shape(x) or ()
    channels = shape[-1]
    windows = []
    for place in itertools.product(*(range(count) for count in output_shape)):
        corner = [at * step for at, step in zip(place, strides, strict=True)]
        cut = tuple(slice(at, at + size) for at, size in zip(corner, kernel_size, strict=True))
        window = x[(slice(None), *cut)]
        # TensorFlow's kernels have the order of the image's dimensions.
        if order == "channels_first":
            window = from_channels_last(window, order)
        windows.append(ops.reshape(window, [1, -1, _product([*kernel_size, channels])]))
    # (places, batch, window) by (places, window, filters)
    found = ops.matmul(ops.concat(windows, 0), kernel)
    filters = (int_shape(kernel) or ())[-1]
    found = ops.reshape(found, [*output_shape, -1, filters])
    found = ops.transpose(found, [rank, *range(rank), rank + 1])
    return from_channels_last(found, order)


def _product(sizes: Any) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def local_conv1d(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, data_format: str | None = None
) -> Any:
    """A convolution over sequences with a kernel of its own for each place.

    Args:
        inputs: (batch, steps, channels).
        kernel: (places, window * channels, filters).
    """
    places = (int_shape(kernel) or ())[0]
    return local_convolution(
        inputs, kernel, tuple_of(kernel_size, 1), tuple_of(strides, 1), [places], data_format
    )


def local_conv2d(
    inputs: Any,
    kernel: Any,
    kernel_size: Any,
    strides: Any,
    output_shape: Any,
    data_format: str | None = None,
) -> Any:
    """A convolution over images with a kernel of its own for each place.

    Args:
        kernel: (rows * columns, window * channels, filters), rows and columns of the output.
        output_shape: the rows and columns.
    """
    return local_convolution(
        inputs, kernel, tuple_of(kernel_size, 2), tuple_of(strides, 2), list(output_shape), data_format
    )
