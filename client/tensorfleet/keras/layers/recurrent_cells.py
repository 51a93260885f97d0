"""The cells of recurrent layers: one step."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import (
    activation_functions as activations,
    backend as K,
    constraint_classes as constraints,
    initializer_classes as initializers,
    ops,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layer_registry import deserialize
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.keras.nest import flatten
from tensorfleet.keras.serialization import get_registered_name


class GatedCell(Layer):
    """What the cells share: kernels for inputs and states, a bias, and dropout of both.

    Attributes:
        gates: how many matrices the kernels consist of.
    """

    gates = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias, self.implementation = int(units), use_bias, implementation
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = regularizers.get(recurrent_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self.state_size: Any = self.units
        self.output_size = self.units
        self.bias: Any = None
        self.reset_dropout_mask()

    def _bias_shape(self) -> list[int]:
        return [self.gates * self.units]

    def _bias_start(self) -> Any:
        return self.bias_initializer

    def build(self, input_shape: Any) -> None:
        width = self.gates * self.units
        self.kernel = self.add_weight(
            "kernel",
            [dims_of(input_shape)[-1], width],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel",
            [self.units, width],
            initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                self._bias_shape(),
                initializer=self._bias_start(),
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def reset_dropout_mask(self) -> None:
        """Lets the next step draw which inputs are dropped anew."""
        self._input_masks: Any = None

    def reset_recurrent_dropout_mask(self) -> None:
        """Lets the next step draw which states are dropped anew."""
        self._state_masks: Any = None

    _state_masks: Any = None

    def _masks(self, x: Any, state: Any, training: Any) -> tuple[Any, Any]:
        """What inputs and states are multiplied with in training, for each gate; the same in all steps."""
        if self._input_masks is None and self.dropout:
            self._input_masks = self._draw(x, self.dropout, training)
        if self._state_masks is None and self.recurrent_dropout:
            self._state_masks = self._draw(state, self.recurrent_dropout, training)
        return self._input_masks, self._state_masks

    def _draw(self, like: Any, rate: float, training: Any) -> list[Any]:
        ones = ops.ones_like(like)
        return [
            K.in_train_phase(lambda: ops.dropout(ones, rate=rate), ones, training=training)
            for _ in range(self.gates)
        ]

    def _products(self, x: Any, kernel: Any, masks: Any) -> list[Any]:
        """The inputs of the gates: the product with the kernel, in parts."""
        if masks is None:
            return (
                list(ops.split(ops.matmul(x, kernel), self.gates, axis=1))
                if self.gates > 1
                else [ops.matmul(x, kernel)]
            )
        parts = ops.split(kernel, self.gates, axis=1) if self.gates > 1 else [kernel]
        return [ops.matmul(x * mask, part) for mask, part in zip(masks, parts, strict=True)]

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros for a batch."""
        count = ops.shape(inputs)[0] if inputs is not None else batch_size
        wanted = inputs.dtype.base if inputs is not None else dtype
        sizes = self.state_size if isinstance(self.state_size, list) else [self.state_size]
        states = [ops.zeros(ops.stack([count, size]), wanted) for size in sizes]
        return states if isinstance(self.state_size, list) else states[0]

    def compute_output_shape(self, input_shape: Any) -> Any:
        return TensorShape([dims_of(input_shape)[0], self.units])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "recurrent_activation": activations.serialize(self.recurrent_activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": initializers.serialize(self.recurrent_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "recurrent_regularizer": regularizers.serialize(self.recurrent_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "recurrent_constraint": constraints.serialize(self.recurrent_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
            "implementation": self.implementation,
        }


class SimpleRNNCell(GatedCell):
    """The output is a function of the input and the output before (`tf.keras.layers.SimpleRNNCell`)."""

    def __init__(
        self, units: int, activation: Any = "tanh", use_bias: bool = True, *args: Any, **kwargs: Any
    ) -> None:
        kwargs.pop("recurrent_activation", None)
        kwargs.pop("implementation", None)
        super().__init__(units, activation, "linear", use_bias, *args, **kwargs)

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        [before] = flatten(states)
        input_masks, state_masks = self._masks(inputs, before, training)
        [x] = self._products(inputs, self.kernel, input_masks)
        if self.use_bias:
            x = ops.bias_add(x, self.bias)
        [h] = self._products(before, self.recurrent_kernel, state_masks)
        output = self.activation(x + h)
        return output, [output]

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name in ("recurrent_activation", "implementation"):
            config.pop(name)
        return config


class GRUCell(GatedCell):
    """A gated recurrent unit (`tf.keras.layers.GRUCell`; Cho et al., arXiv:1406.1078).

    Args:
        reset_after: whether the reset gate is applied after the product with the recurrent kernel.
    """

    gates = 3

    def __init__(self, units: int, *args: Any, reset_after: bool = False, **kwargs: Any) -> None:
        super().__init__(units, *args, **kwargs)
        self.reset_after = reset_after

    def _bias_shape(self) -> list[int]:
        width = self.gates * self.units
        return [2, width] if self.reset_after else [width]

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        [before] = flatten(states)
        input_masks, state_masks = self._masks(inputs, before, training)
        x_z, x_r, x_h = self._products(inputs, self.kernel, input_masks)
        if self.use_bias:
            own = self.bias[0] if self.reset_after else self.bias
            b_z, b_r, b_h = ops.split(own, 3)
            x_z, x_r, x_h = x_z + b_z, x_r + b_r, x_h + b_h
        k_z, k_r, k_h = ops.split(self.recurrent_kernel, 3, axis=1)
        h_z, h_r, h_h = (before * m for m in state_masks) if state_masks is not None else (before,) * 3
        z_in, r_in = ops.matmul(h_z, k_z), ops.matmul(h_r, k_r)
        if self.reset_after:
            after = ops.matmul(h_h, k_h)
            if self.use_bias:
                c_z, c_r, c_h = ops.split(self.bias[1], 3)
                z_in, r_in, after = z_in + c_z, r_in + c_r, after + c_h
        z, r = self.recurrent_activation(x_z + z_in), self.recurrent_activation(x_r + r_in)
        new = self.activation(x_h + (r * after if self.reset_after else ops.matmul(r * h_h, k_h)))
        output = z * before + (1 - z) * new
        return output, [output]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "reset_after": self.reset_after}


class LSTMCell(GatedCell):
    """A cell with a long short-term memory (`tf.keras.layers.LSTMCell`).

    Args:
        unit_forget_bias: whether the bias of the forget gate begins with ones.
    """

    gates = 4

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(units, activation, recurrent_activation, use_bias, kernel_initializer),
            *(recurrent_initializer, bias_initializer),
            *args,
            **kwargs,
        )
        self.unit_forget_bias = unit_forget_bias
        self.state_size = [self.units, self.units]

    def _bias_start(self) -> Any:
        if not self.unit_forget_bias:
            return self.bias_initializer

        def start(shape: Any, dtype: Any = None, **_: Any) -> Any:
            make, size = self.bias_initializer, self.units
            rest = make([2 * size], dtype=dtype)
            return ops.concat([make([size], dtype=dtype), ops.ones([size], dtype), rest], 0)

        return start

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        before, memory = flatten(states)
        input_masks, state_masks = self._masks(inputs, before, training)
        if input_masks is None and state_masks is None:
            joined = ops.matmul(inputs, self.kernel) + ops.matmul(before, self.recurrent_kernel)
            if self.use_bias:
                joined = ops.bias_add(joined, self.bias)
            i, f, c, o = ops.split(joined, 4, axis=1)
        else:
            gates = self._products(inputs, self.kernel, input_masks)
            if self.use_bias:
                gates = [g + b for g, b in zip(gates, ops.split(self.bias, 4), strict=True)]
            recurrent = self._products(before, self.recurrent_kernel, state_masks)
            i, f, c, o = (g + r for g, r in zip(gates, recurrent, strict=True))
        act = self.recurrent_activation
        memory = act(f) * memory + act(i) * self.activation(c)
        output = act(o) * self.activation(memory)
        return output, [output, memory]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "unit_forget_bias": self.unit_forget_bias}


class StackedRNNCells(Layer):
    """Several cells one after the other, as one (`tf.keras.layers.StackedRNNCells`)."""

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        kwargs.pop("reverse_state_order", None)
        super().__init__(**kwargs)
        for cell in cells:
            if not hasattr(cell, "call") or not hasattr(cell, "state_size"):
                raise ValueError(f"All cells must have a `call` method and a `state_size`. Received: {cells}")
        self.cells = list(cells)

    @property
    def state_size(self) -> tuple[Any, ...]:
        """The sizes of the cells' states."""
        return tuple(cell.state_size for cell in self.cells)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        last = self.cells[-1]
        if getattr(last, "output_size", None) is not None:
            return last.output_size
        return last.state_size[0] if isinstance(last.state_size, (list, tuple)) else last.state_size

    def build(self, input_shape: Any) -> None:
        batch, *_ = dims_of(input_shape)
        shape = input_shape
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(shape)  # in no scope: a second kernel is "kernel_1", as in TensorFlow 1
                cell.built = True
            size = getattr(cell, "output_size", None)
            if size is None:
                size = cell.state_size[0] if isinstance(cell.state_size, (list, tuple)) else cell.state_size
            shape = TensorShape([batch, size])
        self.built = True

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        flat, at, new_states = flatten(states), 0, []
        for cell in self.cells:
            count = len(cell.state_size) if isinstance(cell.state_size, (list, tuple)) else 1
            arguments = {"training": training} if _takes_training(cell) else {}
            inputs, after = cell.call(inputs, flat[at : at + count], **arguments)
            at += count
            new_states += flatten(after)
        return inputs, new_states

    def reset_dropout_mask(self) -> None:
        """Lets the next step draw which inputs and states are dropped anew."""
        for cell in self.cells:
            for name in ("reset_dropout_mask", "reset_recurrent_dropout_mask"):
                if hasattr(cell, name):
                    getattr(cell, name)()

    def get_config(self) -> dict[str, Any]:
        cells = [{"class_name": get_registered_name(type(c)), "config": c.get_config()} for c in self.cells]
        return {**super().get_config(), "cells": cells}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The cells of `get_config`."""
        config = dict(config)
        cells = [deserialize(cell, custom_objects=custom_objects) for cell in config.pop("cells")]
        return cls(cells, **config)


def _takes_training(cell: Any) -> bool:
    import inspect

    return "training" in inspect.signature(cell.call).parameters
