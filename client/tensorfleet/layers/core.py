"""`tf.layers.Dense`, `tf.layers.Dropout` and `tf.layers.Flatten`, and their functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.base import Layer, run_layer
from tensorfleet.layers.input_spec import InputSpec
from tensorfleet.layers.parts import ZEROS, activation_of, channels_first, initializer_of
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.smart_cond import smart_cond
from tensorfleet.ops.math.matmul import tensordot
from tensorfleet.ops.nn.layers import dropout as nn_dropout


class Dense(Layer):
    """activation(inputs · kernel + bias), over the last dimension (`tf.layers.Dense`).

    Args:
        units: the number of outputs.
        activation: a function, its name, or None.
        use_bias: whether there is a bias.
        kernel_initializer: by default that of the variable scope, else glorot_uniform.
        kernel_regularizer, bias_regularizer: functions from the variable to a loss.
        kernel_constraint, bias_constraint: functions from the updated variable to the value to store.
    """

    def __init__(
        self,
        units: int,
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
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        if self.units < 0:
            raise ValueError(
                f"Received an invalid value for `units`, expected a positive integer. Received: units={units}"
            )
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.bias_initializer = initializer_of(bias_initializer)
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=2)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(
                f"A Dense layer can only be built with a floating-point dtype. Received: dtype={dtype}"
            )
        size = TensorShape(input_shape).as_list()[-1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to a Dense layer should be defined. Found None. Full input "
                f"shape received: {input_shape}"
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            [size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            trainable=True,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                trainable=True,
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        rank = len(inputs.dims)
        if rank == 2:
            outputs = apply_one("MatMul", inputs, self.kernel)
        else:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.dims[:-1], self.units])
        if self.use_bias:
            outputs = apply_one("BiasAdd", outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return TensorShape([*TensorShape(input_shape).as_list()[:-1], self.units])


def dense(
    inputs: Any,
    units: int,
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
    """The output of a `Dense` layer for `inputs` (`tf.layers.dense`).

    Args:
        name: the variable scope.
        reuse: whether to use the variables of an earlier layer of that name.

    Example:
        >>> tf.layers.dense(tf.zeros([2, 3]), 4, activation=tf.nn.relu).shape.as_list()
        [2, 4]
    """
    return run_layer(Dense, locals())


class Dropout(Layer):
    """Random elements set to zero in training (`tf.layers.Dropout`).

    Args:
        rate: the probability that an element is set to zero.
        noise_shape: the shape of the random choices, broadcast to the inputs' shape.
    """

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
            raise ValueError(f"Invalid value {rate} received for `rate`, expected a value between 0 and 1.")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        """`training`: a bool, or a bool tensor of rank 0."""

        def dropped() -> Tensor:
            if isinstance(self.rate, (int, float)) and self.rate == 1:
                return apply_one("ZerosLike", inputs)
            return nn_dropout(inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate)

        return smart_cond(training, dropped, lambda: identity(inputs))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return TensorShape(input_shape)


def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Tensor:
    """The output of a `Dropout` layer for `inputs` (`tf.layers.dropout`)."""
    return run_layer(Dropout, locals())


class Flatten(Layer):
    """The inputs as a matrix, with all dimensions but the first joined (`tf.layers.Flatten`).

    Args:
        data_format: with "channels_first" the channels are moved to the end first.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._channels_first = data_format is not None and channels_first(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        rank = len(inputs.dims)
        if self._channels_first and rank > 1:
            inputs = apply_one("Transpose", inputs, [0, *range(2, rank), 1])
        shape = self.compute_output_shape(inputs.shape).as_list()
        if rank == 1:
            return apply_one("ExpandDims", inputs, 1)
        batch, size = shape
        if size is None and batch is not None:
            return apply_one("Reshape", inputs, convert_to_tensor(np.array([batch, -1], np.int32)))
        if size is not None:
            return apply_one("Reshape", inputs, convert_to_tensor(np.array([-1, size], np.int32)))
        return apply_one("Reshape", inputs, apply_one("Pack", [apply_one("Shape", inputs)[0], -1]))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        batch, *rest = TensorShape(input_shape).as_list()
        return TensorShape([batch, None if None in rest else math.prod(rest)])


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """The output of a `Flatten` layer for `inputs` (`tf.layers.flatten`)."""
    return run_layer(Flatten, locals())
