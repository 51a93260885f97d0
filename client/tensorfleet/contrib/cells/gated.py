"""Cells of `tf.contrib.rnn` with other gates than LSTM and GRU: NAS, UGRNN, intersection, SRU, IndRNN."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.more_cells import linear
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.array.padding import tile
from tensorfleet.ops.math.elementwise import sigmoid, tanh
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.nn.activation import bias_add as nn_bias_add, relu
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import ones_initializer, random_uniform_initializer, zeros_initializer
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.rnn.cell import RNNCell
from tensorfleet.rnn.state import LSTMStateTuple


def check_depth(inputs: Any) -> int:
    """The size of inputs `[batch, size]`; raises ValueError if it is not known."""
    if inputs.ndim != 2 or inputs.shape.as_list()[1] is None:
        raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
    return int(inputs.shape.as_list()[1])


class UnitsState(RNNCell):
    """The base class of cells whose output and state have a number of units."""

    def __init__(self, num_units: int, reuse: Any = None, name: Any = None, dtype: Any = None) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units


class PairState(RNNCell):
    """The base class of cells with the state of an LSTM, and perhaps a projection of the output."""

    def __init__(self, num_units: int, num_proj: int | None = None, reuse: Any = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj = num_units, num_proj

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units


class NASCell(PairState):
    """The cell that a search found (`tf.contrib.rnn.NASCell`; Zoph and Le, arXiv:1611.01578).

    Args:
        num_proj: the size of a projection of the output; None for none.
        use_bias: whether the gates have biases.
        **kwargs: `name`, `dtype` and others of a layer.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, num_proj, reuse, **kwargs)
        self._use_bias = use_bias

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the next step, from inputs `[batch, n]`."""
        cell, hidden = state
        inputs = convert_to_tensor(inputs)
        depth, units, dtype = check_depth(inputs), self._num_units, inputs.dtype.base
        recurrent = get_variable("recurrent_kernel", [self.output_size, 8 * units], dtype)
        kernel = get_variable("kernel", [depth, 8 * units], dtype)
        past = matmul(hidden, recurrent)
        if self._use_bias:
            past = nn_bias_add(past, get_variable("bias", [8 * units], dtype, zeros_initializer()))
        m = split(past, 8, axis=1)
        x = split(matmul(inputs, kernel), 8, axis=1)
        first = tanh(sigmoid(x[0] + m[0]) * relu(x[1] + m[1]))
        second = tanh(sigmoid(x[2] + m[2]) + relu(x[3] * m[3]))
        third = tanh(tanh(x[4] + m[4]) * sigmoid(x[5] + m[5]))
        fourth = sigmoid(tanh(x[6] + m[6]) + sigmoid(x[7] + m[7]))
        new_cell = tanh(first + cell) * second
        output = tanh(new_cell * tanh(third + fourth))
        if self._num_proj is not None:
            output = matmul(output, get_variable("projection_weights", [units, self._num_proj], dtype))
        return output, LSTMStateTuple(new_cell, output)


class UGRNNCell(UnitsState):
    """A cell with one gate, which mixes the old state with the new value (`tf.contrib.rnn.UGRNNCell`;
    Collins et al., arXiv:1611.09913)."""

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Any = tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, reuse)
        self._initializer, self._forget_bias, self._activation = initializer, forget_bias, activation

    def call(self, inputs: Any, state: Any) -> Any:
        """The output, which is the next state, from inputs `[batch, n]`."""
        check_depth(convert_to_tensor(inputs))
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            gate, change = split(linear([inputs, state], 2 * self._num_units, True), 2, axis=1)
            kept = sigmoid(gate + self._forget_bias)
            new_state = kept * state + (1.0 - kept) * self._activation(change)
        return new_state, new_state


class IntersectionRNNCell(UnitsState):
    """A cell that gates its state over time and its output over depth
    (`tf.contrib.rnn.IntersectionRNNCell`; Collins et al., arXiv:1611.09913).

    Args:
        num_in_proj: not None for inputs of another size than `num_units`, which are projected first.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: float = 1.0,
        y_activation: Any = relu,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, reuse)
        self._projects, self._initializer = bool(num_in_proj), initializer
        self._forget_bias, self._activation = forget_bias, y_activation

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the next state, from inputs `[batch, n]`."""
        inputs = convert_to_tensor(inputs)
        units = self._num_units
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            if check_depth(inputs) != units:
                if not self._projects:
                    raise ValueError(
                        "Must have input size == output size for Intersection RNN. To fix, num_in_proj "
                        "should be set to num_units at cell init."
                    )
                with variable_scope("in_projection"):
                    inputs = linear(inputs, units, True)
            gate_h, h, gate_y, y = split(linear([inputs, state], 4 * units, True), 4, axis=1)
            kept, passed = sigmoid(gate_h + self._forget_bias), sigmoid(gate_y + self._forget_bias)
            new_state = kept * state + (1.0 - kept) * tanh(h)
            return passed * inputs + (1.0 - passed) * self._activation(y), new_state


class SRUCell(UnitsState):
    """A simple recurrent unit, without a product of the state and a matrix (`tf.contrib.rnn.SRUCell`; Lei et
    al., arXiv:1709.02755)."""

    def __init__(self, num_units: int, activation: Any = None, reuse: Any = None, name: Any = None) -> None:
        super().__init__(num_units, reuse, name)
        self._activation = activation or tanh

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the next state, from inputs `[batch, n]`."""
        inputs = convert_to_tensor(inputs)
        units, dtype = self._num_units, inputs.dtype.base
        kernel = get_variable("kernel", [check_depth(inputs), 4 * units], dtype)
        bias = get_variable("bias", [2 * units], dtype, zeros_initializer())
        change, forget, reset, passed = split(matmul(inputs, kernel), 4, axis=1)
        forget, reset = split(sigmoid(nn_bias_add(concat([forget, reset], 1), bias)), 2, axis=1)
        new_state = forget * state + (1.0 - forget) * change
        return reset * self._activation(new_state) + (1.0 - reset) * passed, new_state


class IndRNNCell(UnitsState):
    """A cell each of whose units sees only its own past: activation(W · input + u * state + b)
    (`tf.contrib.rnn.IndRNNCell`; Li et al., arXiv:1803.04831)."""

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(num_units, reuse, name, dtype)
        self._activation = activation or tanh

    def call(self, inputs: Any, state: Any) -> Any:
        """The output, which is the next state, from inputs `[batch, n]`."""
        inputs = convert_to_tensor(inputs)
        units, dtype = self._num_units, inputs.dtype.base
        kernel_w = get_variable("kernel_w", [check_depth(inputs), units], dtype)
        kernel_u = get_variable("kernel_u", [1, units], dtype, random_uniform_initializer(-1, 1, dtype=dtype))
        bias = get_variable("bias", [units], dtype, zeros_initializer())
        output = self._activation(nn_bias_add(matmul(inputs, kernel_w) + state * kernel_u, bias))
        return output, output


class IndyGRUCell(UnitsState):
    """A GRU whose recurrent weights are vectors (`tf.contrib.rnn.IndyGRUCell`)."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, reuse, name, dtype)
        self._activation = activation or tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    def call(self, inputs: Any, state: Any) -> Any:
        """The output, which is the next state, from inputs `[batch, n]`."""
        inputs = convert_to_tensor(inputs)
        depth, units, dtype = check_depth(inputs), self._num_units, inputs.dtype.base

        def recurrent(name: str, times: int) -> Any:
            initializer = random_uniform_initializer(-1, 1, dtype=dtype)
            return get_variable(name, [1, times * units], dtype, initializer)

        gate_w = get_variable("gates/kernel_w", [depth, 2 * units], dtype, self._kernel_initializer)
        gate_u = recurrent("gates/kernel_u", 2)
        gate_bias = get_variable(
            "gates/bias", [2 * units], dtype, self._bias_initializer or ones_initializer(dtype=dtype)
        )
        # The matrix has no "_w" here, unlike that of the gates: so TensorFlow's checkpoints have it.
        kernel_w = get_variable("candidate/kernel", [depth, units], dtype, self._kernel_initializer)
        kernel_u = recurrent("candidate/kernel_u", 1)
        bias = get_variable("candidate/bias", [units], dtype, self._bias_initializer or zeros_initializer())
        gates = matmul(inputs, gate_w) + tile(state, [1, 2]) * gate_u
        reset, update = split(sigmoid(nn_bias_add(gates, gate_bias)), 2, axis=1)
        candidate = matmul(inputs, kernel_w) + reset * state * kernel_u
        output = update * state + (1 - update) * self._activation(nn_bias_add(candidate, bias))
        return output, output


class IndyLSTMCell(PairState):
    """An LSTM whose recurrent weights are vectors (`tf.contrib.rnn.IndyLSTMCell`; Gonnet and Deselaers,
    arXiv:1903.08023)."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, None, reuse, name=name, dtype=dtype)
        self._forget_bias, self._activation = forget_bias, activation or tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the next step, from inputs `[batch, n]`."""
        inputs = convert_to_tensor(inputs)
        depth, units, dtype = check_depth(inputs), self._num_units, inputs.dtype.base
        kernel_w = get_variable("kernel_w", [depth, 4 * units], dtype, self._kernel_initializer)
        uniform = random_uniform_initializer(-1, 1, dtype=dtype)
        kernel_u = get_variable("kernel_u", [1, 4 * units], dtype, uniform)
        bias = get_variable("bias", [4 * units], dtype, self._bias_initializer or zeros_initializer())
        cell, hidden = state
        gates = nn_bias_add(matmul(inputs, kernel_w) + tile(hidden, [1, 4]) * kernel_u, bias)
        i, j, f, o = split(gates, 4, axis=1)
        new_cell = cell * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        output = self._activation(new_cell) * sigmoid(o)
        return output, LSTMStateTuple(new_cell, output)
