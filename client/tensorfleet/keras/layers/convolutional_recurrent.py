"""`tf.keras.layers.ConvLSTM2D`: a recurrent layer over images, with convolutions in place of products."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.layers.convolutional import Conv2D
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.keras.layers.recurrent import RNN
from tensorfleet.keras.layers.recurrent_cells import LSTMCell
from tensorfleet.keras.nest import flatten


class ConvLSTM2DCell(LSTMCell):
    """The cell of `ConvLSTM2D`: one step."""

    _shapes: Conv2D

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
        super().__init__(filters, *args, **kwargs)
        # It knows the sizes of what a convolution gives, and what its arguments may be.
        shapes = Conv2D(filters, kernel_size, strides, padding, data_format, dilation_rate, name="sizes")
        self.__dict__["_shapes"] = shapes  # a part of the cell, but no layer of the model
        self.filters, self.padding = filters, self._shapes.padding
        self.kernel_size, self.strides = self._shapes.kernel_size, self._shapes.strides
        self.data_format, self.dilation_rate = self._shapes.data_format, self._shapes.dilation_rate

    def build(self, input_shape: Any) -> None:
        channels = dims_of(input_shape)[1 if self.data_format == "channels_first" else -1]
        width = self.gates * self.filters
        options = {
            "kernel": (self.kernel_initializer, self.kernel_regularizer, self.kernel_constraint),
            "recurrent_kernel": (
                *(self.recurrent_initializer, self.recurrent_regularizer, self.recurrent_constraint),
            ),
            "bias": (self._bias_start(), self.bias_regularizer, self.bias_constraint),
        }
        sizes = {
            "kernel": [*self.kernel_size, channels, width],
            "recurrent_kernel": [*self.kernel_size, self.filters, width],
            "bias": [width],
        }
        for name, shape in sizes.items():
            if name == "bias" and not self.use_bias:
                continue
            initializer, regularizer, constraint = options[name]
            weight = self.add_weight(
                name, shape, initializer=initializer, regularizer=regularizer, constraint=constraint
            )
            setattr(self, name, weight)
        state = TensorShape(dims_of(self._shapes.compute_output_shape(input_shape))[1:])
        self.state_size = [state, state]
        self.built = True

    def _convolved(self, x: Any, kernel: Any, is_state: bool = False) -> Any:
        return K.conv2d(
            x,
            kernel,
            strides=(1, 1) if is_state else self.strides,
            padding="same" if is_state else self.padding,
            data_format=self.data_format,
            dilation_rate=(1, 1) if is_state else self.dilation_rate,
        )

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        before, memory = flatten(states)
        input_masks, state_masks = self._masks(inputs, before, training)
        kernels = ops.split(self.kernel, self.gates, axis=3)
        recurrent = ops.split(self.recurrent_kernel, self.gates, axis=3)
        biases = ops.split(self.bias, self.gates) if self.use_bias else [None] * self.gates
        gates = []
        for number in range(self.gates):
            x = inputs if input_masks is None else inputs * input_masks[number]
            h = before if state_masks is None else before * state_masks[number]
            gate = self._convolved(x, kernels[number])
            if biases[number] is not None:
                gate = K.bias_add(gate, biases[number], data_format=self.data_format)
            gates.append(gate + self._convolved(h, recurrent[number], is_state=True))
        i, f, c, o = gates
        act = self.recurrent_activation
        memory = act(f) * memory + act(i) * self.activation(c)
        output = act(o) * self.activation(memory)
        return output, [output, memory]

    def start(self, images: Any) -> list[Any]:
        """The first states for images of one step: zeros."""
        filters = ops.zeros(ops.shape(self.kernel)[:3], images.dtype.base)
        kernel = ops.tile(ops.expand_dims(filters, -1), [1, 1, 1, self.filters])
        zeros = self._convolved(ops.zeros_like(images), kernel)
        return [zeros, zeros]

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name in ("units", "implementation"):
            config.pop(name)
        own = {
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
        }
        return {**config, **own}


class ConvLSTM2D(RNN):
    """A long short-term memory over images, whose products are convolutions (`tf.keras.layers.ConvLSTM2D`;
    Shi et al., arXiv:1506.04214).

    Inputs have the shape [batch, time, rows, columns, channels], or [batch, time, channels, rows, columns].

    Args:
        filters, kernel_size, strides, padding, data_format, dilation_rate: of the convolutions of the inputs,
            as those of `Conv2D`.
        return_sequences, return_state, go_backwards, stateful: as those of `RNN`; the cell's arguments, such
            as `activation`, as those of `LSTM`.
    """

    def __init__(self, filters: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        names = (
            *("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "name", "trainable"),
            *("input_shape", "batch_input_shape", "batch_size", "weights", "activity_regularizer"),
        )
        own = {name: kwargs.pop(name) for name in names if name in kwargs}
        dtype = {"dtype": kwargs["dtype"]} if "dtype" in kwargs else {}
        super().__init__(ConvLSTM2DCell(filters, kernel_size, *args, **kwargs), **own, **dtype)

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Zeros for a batch of inputs."""
        states: list[Any] = self.cell.start(inputs[:, 0])
        return states

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes = dims_of(input_shape[0] if isinstance(input_shape, list) else input_shape)
        inner = dims_of(self.cell._shapes.compute_output_shape(TensorShape([sizes[0], *sizes[2:]])))
        output = TensorShape([inner[0], sizes[1], *inner[1:]] if self.return_sequences else inner)
        return [output, TensorShape(inner), TensorShape(inner)] if self.return_state else output

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        cell = config.pop("cell")["config"]
        for name in ("name", "trainable", "dtype", "batch_input_shape"):
            cell.pop(name, None)
        config.pop("time_major")
        return {**cell, **config}

    def __getattr__(self, name: str) -> Any:
        # Settings and weights of the cell are the layer's, too.
        cell = self.__dict__.get("cell")
        if cell is not None and not name.startswith("_") and hasattr(cell, name):
            return getattr(cell, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
