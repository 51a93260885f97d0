"""`nn_ops.Convolution` of `tensorflow.python`: a convolution whose arguments are set before its input."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.ops.nn.convolution import convolution


class Convolution:
    """`tf.nn.convolution` as an object, called with an input and a filter.

    Args:
        input_shape, filter_shape: the shapes of the input and of the filter; their ranks are compared.
        padding, strides, dilation_rate, name, data_format: those of `tf.nn.convolution`.

    Raises:
        ValueError: the ranks are not alike.
    """

    def __init__(
        self,
        input_shape: Any,
        filter_shape: Any,
        padding: str,
        strides: Any = None,
        dilation_rate: Any = None,
        name: str | None = None,
        data_format: str | None = None,
    ) -> None:
        self.input_shape, self.filter_shape = TensorShape(input_shape), TensorShape(filter_shape)
        self.input_shape.assert_same_rank(self.filter_shape)
        self.padding, self.strides, self.dilation_rate = padding, strides, dilation_rate
        self.name, self.data_format = name, data_format

    def __call__(self, inp: Any, filter: Any) -> Any:
        """The convolution of `inp` by `filter`."""
        return convolution(
            inp, filter, self.padding, self.strides, self.dilation_rate, self.name, self.data_format
        )
