"""The simple cells: BasicRNNCell, GRUCell and BasicLSTMCell."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.convert import constant
from tensorfleet.layers.input_spec import InputSpec
from tensorfleet.layers.parts import activation_of, initializer_of
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.initializers import constant_initializer, zeros_initializer
from tensorfleet.rnn.cell import LayerRNNCell, check_dtype, check_inputs_and_state
from tensorfleet.rnn.state import LSTMStateTuple


class UnitsCell(LayerRNNCell):
    """The base class of cells with a number of units."""

    def __init__(
        self, num_units: int, activation: Any, reuse: Any, name: Any, dtype: Any, **kwargs: Any
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_dtype(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation_of(activation or "tanh") or (lambda x: x)

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def _affine(self, inputs: Any, state: Any, kernel: Any, bias: Any) -> Any:
        joined = concat([inputs, state], 1)
        return apply_one("BiasAdd", apply_one("MatMul", joined, kernel), bias)


class BasicRNNCell(UnitsCell):
    """output = next state = activation(W · [input, state] + b) (`tf.nn.rnn_cell.BasicRNNCell`)."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)

    def build(self, input_shape: Any) -> None:
        depth, units = self._check_build(input_shape), self._num_units
        self._kernel = self.add_weight("kernel", [depth + units, units])
        self._bias = self.add_weight("bias", [units], initializer=zeros_initializer(self.dtype or "float32"))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        check_inputs_and_state(inputs, state)
        output = self._activation(self._affine(inputs, state, self._kernel, self._bias))
        return output, output


class GRUCell(UnitsCell):
    """A gated recurrent unit (`tf.nn.rnn_cell.GRUCell`; Cho et al., arXiv:1406.1078).

    Args:
        kernel_initializer, bias_initializer: the initializers of both kernels and both biases; by default
            the scope's, and for biases ones (gates) and zeros (candidate).
    """

    # The names of the kernel and the bias of the gates, and of those of the candidate.
    _NAMES = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer = initializer_of(kernel_initializer)
        self._bias_initializer = initializer_of(bias_initializer)

    def build(self, input_shape: Any) -> None:
        rows, units = self._check_build(input_shape) + self._num_units, self._num_units
        dtype = self.dtype or "float32"
        given = self._bias_initializer
        gate_kernel, gate_bias, candidate_kernel, candidate_bias = self._NAMES
        self._gate_kernel = self.add_weight(
            gate_kernel, [rows, 2 * units], initializer=self._kernel_initializer
        )
        self._gate_bias = self.add_weight(
            gate_bias,
            [2 * units],
            initializer=constant_initializer(1.0, dtype) if given is None else given,
        )
        self._candidate_kernel = self.add_weight(
            candidate_kernel, [rows, units], initializer=self._kernel_initializer
        )
        self._candidate_bias = self.add_weight(
            candidate_bias, [units], initializer=zeros_initializer(dtype) if given is None else given
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        check_inputs_and_state(inputs, state)
        gates = apply_one("Sigmoid", self._affine(inputs, state, self._gate_kernel, self._gate_bias))
        reset, update = split(gates, 2, axis=1)
        candidate = self._affine(inputs, reset * state, self._candidate_kernel, self._candidate_bias)
        output = update * state + (1 - update) * self._activation(candidate)
        return output, output


class BasicLSTMCell(UnitsCell):
    """A long short-term memory (`tf.nn.rnn_cell.BasicLSTMCell`; Zaremba et al., arXiv:1409.2329).

    The kernel's columns are the input gate, the candidate, the forget gate and the output gate.

    Args:
        forget_bias: a number that is added to the forget gate, to keep the state at first.
        state_is_tuple: whether the state is an LSTMStateTuple, instead of c and h in one tensor.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple

    @property
    def state_size(self) -> Any:
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    def build(self, input_shape: Any) -> None:
        depth, units = self._check_build(input_shape), self._num_units
        self._kernel = self.add_weight("kernel", [depth + units, 4 * units])
        self._bias = self.add_weight(
            "bias", [4 * units], initializer=zeros_initializer(self.dtype or "float32")
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        check_inputs_and_state(inputs, state)
        c, h = state if self._state_is_tuple else split(state, 2, axis=1)
        # By op types, as programs know the names of these ops: "…/basic_lstm_cell/Mul_2" is the output.
        axis = constant(1, "int32")
        i, j, f, o = split(self._affine(inputs, h, self._kernel, self._bias), 4, axis=axis)
        bias = constant(self._forget_bias, f.dtype.base)
        forget = apply_one("Sigmoid", apply_one("AddV2", f, bias, name="Add"))
        kept = apply_one("Mul", c, forget)
        added = apply_one("Mul", apply_one("Sigmoid", i), self._activation(j))
        new_c = apply_one("AddV2", kept, added, name="Add")
        new_h = apply_one("Mul", self._activation(new_c), apply_one("Sigmoid", o))
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, concat([new_c, new_h], 1)
