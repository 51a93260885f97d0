"""Cells that run whole sequences (`tf.contrib.rnn.FusedRNNCell`), and wrappers of cells."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.cells.gated import UnitsState, check_depth
from tensorfleet.contrib.cells.long_memory import normalized
from tensorfleet.contrib.more_cells import GRUBlockCellV2, LSTMBlockCell
from tensorfleet.core import structures
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.constants import range as range_of
from tensorfleet.ops.array.joining import concat, stack, unstack
from tensorfleet.ops.array.rearranging import reverse, reverse_sequence, transpose
from tensorfleet.ops.array.shaping import rank
from tensorfleet.ops.math.elementwise import sigmoid, tanh
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.nn.activation import bias_add as nn_bias_add
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import constant_initializer
from tensorfleet.ops.state.variable_scope import get_variable_scope
from tensorfleet.rnn.cell import RNNCell
from tensorfleet.rnn.dynamic import dynamic_rnn
from tensorfleet.rnn.state import LSTMStateTuple
from tensorfleet.rnn.static import static_rnn


class GRUBlockCell(GRUBlockCellV2):
    """A GRU cell with the arguments and the names of variables of TensorFlow's first fused one
    (`tf.contrib.rnn.GRUBlockCell`)."""

    _NAMES = ("w_ru", "b_ru", "w_c", "b_c")


class HighwayWrapper(RNNCell):
    """A cell between whose inputs and outputs a gate mixes (`tf.contrib.rnn.HighwayWrapper`; Srivastava et
    al., arXiv:1505.00387).

    Args:
        couple_carry_transform_gates: whether the outputs count 1 minus what the inputs count.
        carry_bias_init: the first bias of the gate.
    """

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__()
        self._cell, self._couples, self._bias = cell, couple_carry_transform_gates, carry_bias_init

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The cell's state of zeros."""
        with framework.name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)

    def __call__(  # type: ignore[override]
        self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        outputs, new_state = self._cell(inputs, state, scope=scope)
        structures.assert_same_structure(inputs, outputs)
        return structures.map_structure(self._mixed, inputs, outputs), new_state

    def _mixed(self, inputs: Any, outputs: Any) -> Any:
        inputs = convert_to_tensor(inputs)
        inputs.shape.assert_is_compatible_with(outputs.shape)
        size = inputs.shape.as_list()[1]

        def gate(name: str, bias: float) -> Any:
            weights = get_variable(f"{name}_w", [size, size])
            biases = get_variable(f"{name}_b", [size], initializer=constant_initializer(bias))
            return sigmoid(nn_bias_add(matmul(inputs, weights), biases))

        carry = gate("carry", self._bias)
        transform = 1 - carry if self._couples else gate("transform", -self._bias)
        return inputs * carry + outputs * transform


class LayerNormBasicGRUCell(UnitsState):
    """A GRU with layer normalization (`tf.contrib.rnn.LayerNormBasicGRUCell`)."""

    def __init__(
        self,
        num_units: int,
        activation: Any = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, reuse)
        self._activation, self._normalizes, self._norm = activation, layer_norm, (norm_gain, norm_shift)

    def _part(self, inputs: Any, scope: str) -> Any:
        units, dtype = self._num_units, inputs.dtype.base
        outputs = matmul(inputs, get_variable(f"{scope}/kernel", [check_depth(inputs), units], dtype))
        if not self._normalizes:
            return nn_bias_add(outputs, get_variable(f"{scope}/bias", [units], dtype))
        return normalized(outputs, scope, *self._norm)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output, which is the next state, from inputs `[batch, n]`."""
        inputs = convert_to_tensor(inputs)
        joined = concat([inputs, state], 1)
        update, reset = sigmoid(self._part(joined, "update_gate")), sigmoid(self._part(joined, "reset_gate"))
        seen = self._part(inputs, "candidate_linear_x")
        candidate = self._activation(seen + reset * self._part(state, "candidate_linear_h"))
        output = (1 - update) * state + update * candidate
        return output, output


class CompiledWrapper(RNNCell):
    """The cell itself: there is no compiler to choose (`tf.contrib.rnn.CompiledWrapper`)."""

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__()
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def __call__(  # type: ignore[override]
        self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        return self._cell(inputs, state, scope=scope)


class FusedRNNCell:
    """The interface of cells that run whole sequences (`tf.contrib.rnn.FusedRNNCell`).

    A call takes inputs `[time, batch, n]`, the initial state or a dtype, and the lengths of the sequences;
    it returns the outputs and the last state.
    """

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """Runs the sequences; implemented by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not implement a call.")


class FusedRNNCellAdaptor(FusedRNNCell):
    """A usual cell that runs whole sequences (`tf.contrib.rnn.FusedRNNCellAdaptor`).

    Args:
        use_dynamic_rnn: whether to run them in a loop of the graph; else they are unrolled.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._dynamic = cell, use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        is_list = isinstance(inputs, list)
        given: dict[str, Any] = {
            "sequence_length": sequence_length,
            "initial_state": initial_state,
            "dtype": dtype,
            "scope": scope,
        }
        if self._dynamic:
            joined = stack(inputs) if is_list else inputs
            outputs, state = dynamic_rnn(self._cell, joined, time_major=True, **given)
            return (unstack(outputs) if is_list else outputs), state
        parts = inputs if is_list else unstack(inputs)
        outputs, state = static_rnn(self._cell, parts, **given)
        return (outputs if is_list else stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that runs from the end of the sequences (`tf.contrib.rnn.TimeReversedFusedRNN`)."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def _reverse(self, t: Any, lengths: Any) -> Any:
        if lengths is None:
            return reverse(t, [0])
        return reverse_sequence(t, lengths, seq_axis=0, batch_axis=1)

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        outputs, state = self._cell(
            structures.map_structure(lambda t: self._reverse(t, sequence_length), inputs),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return structures.map_structure(lambda t: self._reverse(t, sequence_length), outputs), state


class LSTMBlockWrapper(FusedRNNCell):
    """The base class of fused LSTMs (`tf.contrib.rnn.LSTMBlockWrapper`)."""

    @property
    def num_units(self) -> int:
        """The size of output and state; implemented by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not implement num_units.")


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM that runs whole sequences (`tf.contrib.rnn.LSTMBlockFusedCell`).

    Args:
        num_units: the size of output and state.
        forget_bias: a number that is added to the forget gate.
        cell_clip: the greatest absolute value of the cell's state; None, 0 or negative for no limit.
        use_peephole: whether the gates also take the cell's state.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: Any = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        self._cell = LSTMBlockCell(num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name)
        self._num_units = num_units

    @property
    def num_units(self) -> int:
        """The size of output and state."""
        return self._num_units

    @property
    def variables(self) -> list[Any]:
        """The cell's variables, after a call."""
        return list(self._cell.variables)

    trainable_variables = trainable_weights = weights = variables

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """The outputs, and the state (cell, hidden) at the end of each sequence.

        Args:
            inputs: `[time, batch, n]`, or a list of `[batch, n]`.
            initial_state: cell and hidden state, each `[batch, num_units]`.
        """
        is_list = isinstance(inputs, list)
        joined = stack(inputs) if is_list else convert_to_tensor(inputs)
        if initial_state is not None:
            initial_state = LSTMStateTuple(*initial_state)
        self._cell._set_scope(scope)  # here, as a layer's name is made unique in the scope where it is called
        outputs, state = dynamic_rnn(
            self._cell,
            joined,
            sequence_length=sequence_length,
            initial_state=initial_state,
            dtype=None if initial_state is not None else dtype or joined.dtype.base,
            time_major=True,
            scope=get_variable_scope(),
        )
        return (unstack(outputs) if is_list else outputs), state


def transpose_batch_time(x: Any) -> Any:
    """The tensor with its first two dimensions exchanged (`tf.contrib.rnn.transpose_batch_time`)."""
    x = convert_to_tensor(x)
    if x.ndim is not None and x.ndim < 2:
        raise ValueError(f"Expected input tensor {x} to have rank at least 2, but saw shape: {x.shape}")
    if x.ndim is not None:
        return transpose(x, [1, 0, *range(2, x.ndim)])
    return transpose(x, concat([[1, 0], range_of(2, rank(x))], 0))
