"""`tf.contrib.cudnn_rnn`: layers of several recurrent cells, with the formulas of cuDNN.

They compute by cells and loops on any device. Their variables have the names that TensorFlow gives them in
checkpoints, which are those of the compatible cells.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.cells.gated import UnitsState, check_depth
from tensorfleet.contrib.more_cells import LSTMBlockCell, stack_bidirectional_dynamic_rnn
from tensorfleet.core import dtypes
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.layers.base import Layer
from tensorfleet.ops.array.joining import concat, split, stack, unstack
from tensorfleet.ops.control_flow.smart_cond import smart_cond
from tensorfleet.ops.math.elementwise import sigmoid, tanh
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.nn.activation import bias_add as nn_bias_add, relu
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import ones_initializer, zeros_initializer
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.rnn.cells import BasicRNNCell
from tensorfleet.rnn.dropout import DropoutWrapper
from tensorfleet.rnn.dynamic import dynamic_rnn
from tensorfleet.rnn.state import LSTMStateTuple
from tensorfleet.rnn.wrappers import MultiRNNCell

UNIDIRECTIONAL, BIDIRECTIONAL = "unidirectional", "bidirectional"


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """The LSTM of cuDNN, whose forget gate has no constant
    (`tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell`)."""

    def __init__(self, num_units: int, reuse: Any = None) -> None:
        super().__init__(
            num_units, forget_bias=0, cell_clip=None, reuse=reuse, name="cudnn_compatible_lstm_cell"
        )


class CudnnCompatibleGRUCell(UnitsState):
    """The GRU of cuDNN, which resets after the product with the state
    (`tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell`)."""

    def __init__(self, num_units: int, reuse: Any = None, kernel_initializer: Any = None) -> None:
        super().__init__(num_units, reuse, name="cudnn_compatible_gru_cell")
        self._kernel_initializer = kernel_initializer

    def _kernel(self, scope: str, depth: int, size: int, dtype: Any) -> Any:
        return get_variable(f"{scope}/kernel", [depth, size], dtype, self._kernel_initializer)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output, which is the next state, from inputs `[batch, n]`."""
        inputs, units = convert_to_tensor(inputs), self._num_units
        depth, dtype = check_depth(inputs), inputs.dtype.base
        seen_scope, past_scope = "candidate/input_projection", "candidate/hidden_projection"
        # Made in TensorFlow's order, which is that of `trainable_variables` and of seeds of the graph.
        gate_kernel = self._kernel("gates", depth + units, 2 * units, dtype)
        gate_bias = get_variable("gates/bias", [2 * units], dtype, ones_initializer())
        seen_kernel = self._kernel(seen_scope, depth, units, dtype)
        past_kernel = self._kernel(past_scope, units, units, dtype)
        seen_bias = get_variable(f"{seen_scope}/bias", [units], dtype, zeros_initializer())
        past_bias = get_variable(f"{past_scope}/bias", [units], dtype, zeros_initializer())
        gates = nn_bias_add(matmul(concat([inputs, state], 1), gate_kernel), gate_bias)
        reset, update = split(sigmoid(gates), 2, axis=1)
        past = nn_bias_add(matmul(state, past_kernel), past_bias)
        seen = nn_bias_add(matmul(inputs, seen_kernel), seen_bias)
        output = (1 - update) * tanh(seen + reset * past) + update * state
        return output, output


class _Layers(Layer):
    """Recurrent layers, each on the outputs of the one below it."""

    _mode = ""
    _states = 1

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = UNIDIRECTIONAL,
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        if direction not in (UNIDIRECTIONAL, BIDIRECTIONAL):
            raise ValueError(
                f"Invalid direction: {direction}. Expecting {UNIDIRECTIONAL} or {BIDIRECTIONAL}."
            )
        if input_mode not in ("linear_input", "skip_input", "auto_select"):
            raise ValueError(f"Invalid input_mode: {input_mode}. Expecting linear_input.")
        if input_mode != "linear_input":
            raise NotImplementedError(
                f"{type(self).__name__} with input_mode={input_mode!r} is not part of TensorFleet; "
                "use linear_input."
            )
        self._num_layers, self._num_units, self._direction = num_layers, num_units, direction
        self._dropout, self._seed, self._plain_dtype = dropout, seed, dtypes.as_dtype(dtype)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return self._num_layers

    @property
    def num_units(self) -> int:
        """The size of the state of a layer in one direction."""
        return self._num_units

    @property
    def direction(self) -> str:
        """`unidirectional` or `bidirectional`."""
        return self._direction

    @property
    def num_dirs(self) -> int:
        """1 or 2."""
        return 1 if self._direction == UNIDIRECTIONAL else 2

    @property
    def rnn_mode(self) -> str:
        """`lstm`, `gru`, `rnn_tanh` or `rnn_relu`."""
        return self._mode

    @property
    def input_mode(self) -> str:
        """`linear_input`."""
        return "linear_input"

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shapes of the parts of the state."""
        return ([self._num_layers * self.num_dirs, batch_size, self._num_units],) * self._states

    def _cell(self) -> Any:
        raise NotImplementedError

    def _to_cell(self, parts: list[Any]) -> Any:
        """The state of a cell from those of a layer."""
        return parts[0]

    def _from_cell(self, state: Any) -> list[Any]:
        return [state]

    def _cells(self, training: Any) -> list[Any]:
        """A cell for each layer; all but the first drop inputs in training."""
        cells = [self._cell() for _ in range(self._num_layers)]
        if not self._dropout:
            return cells
        keep = smart_cond(
            training if isinstance(training, (bool, int)) else convert_to_tensor(training),
            lambda: constant(1.0 - self._dropout),
            lambda: constant(1.0),
        )
        return [
            DropoutWrapper(cell, input_keep_prob=keep, seed=self._seed) if number else cell
            for number, cell in enumerate(cells)
        ]

    def _getter(self, getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        wanted = self._bias_initializer if name.endswith("bias") else self._kernel_initializer
        if wanted is None and name.endswith("bias"):
            wanted = zeros_initializer()
        if wanted is not None:
            kwargs["initializer"] = wanted
            args = args[:2]
        return getter(name, *args, **kwargs)

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: Any = True,
    ) -> Any:
        """The outputs of the last layer, and the states of all.

        Args:
            inputs: `[time, batch, n]`, or `[batch, time, n]` if not `time_major`.
            initial_state: a tuple of `[num_layers * num_dirs, batch, num_units]`, or with the batch first:
                hidden and cell state for an LSTM, else one; zeros by default.
            sequence_lengths: `[batch]`; by default all sequences are of full length.
            training: whether to drop inputs of layers above the first.

        Returns:
            `[time, batch, num_dirs * num_units]`, or with the batch first, and a tuple as `initial_state`.
        """
        inputs = convert_to_tensor(inputs, dtype=self._plain_dtype)
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise ValueError("Invalid initial_state type: a tuple is expected.")
        dirs, axis = self.num_dirs, 0 if time_major else 1
        starts: Any = None
        if initial_state is not None:
            parts = [unstack(part, self._num_layers * dirs, axis=axis) for part in initial_state]
            starts = [self._to_cell([part[n] for part in parts]) for n in range(self._num_layers * dirs)]
        given: dict[str, Any] = {"sequence_length": sequence_lengths, "dtype": self._plain_dtype}
        with variable_scope(get_variable_scope(), custom_getter=self._getter):
            if dirs == 1:
                cell = MultiRNNCell(self._cells(training))
                outputs, states = dynamic_rnn(
                    cell,
                    inputs,
                    initial_state=None if starts is None else tuple(starts),
                    time_major=time_major,
                    **given,
                )
                found = list(states)
            else:
                outputs, forward, backward = stack_bidirectional_dynamic_rnn(
                    self._cells(training),
                    self._cells(training),
                    inputs,
                    initial_states_fw=None if starts is None else starts[::2],
                    initial_states_bw=None if starts is None else starts[1::2],
                    time_major=time_major,
                    **given,
                )
                found = [state for pair in zip(forward, backward, strict=True) for state in pair]
        columns = [self._from_cell(state) for state in found]
        last = tuple(stack([column[part] for column in columns], axis=axis) for part in range(self._states))
        return outputs, last


class CudnnLSTM(_Layers):
    """LSTM layers with the formulas of cuDNN (`tf.contrib.cudnn_rnn.CudnnLSTM`).

    Args:
        num_layers: the number of layers.
        num_units: the size of the state of a layer in one direction.
        input_mode: must be "linear_input".
        direction: "unidirectional" or "bidirectional".
        dropout: the fraction of the inputs of layers above the first that are dropped in training.
        kernel_initializer, bias_initializer: by default Glorot's, and zeros.
    """

    _mode = "lstm"
    _states = 2

    def _cell(self) -> Any:
        return CudnnCompatibleLSTMCell(self._num_units)

    def _to_cell(self, parts: list[Any]) -> Any:
        hidden, cell = parts
        return LSTMStateTuple(cell, hidden)

    def _from_cell(self, state: Any) -> list[Any]:
        return [state.h, state.c]


class CudnnGRU(_Layers):
    """GRU layers with the formulas of cuDNN (`tf.contrib.cudnn_rnn.CudnnGRU`); as `CudnnLSTM`."""

    _mode = "gru"

    def _cell(self) -> Any:
        return CudnnCompatibleGRUCell(self._num_units)


class CudnnRNNTanh(_Layers):
    """Layers of simple cells with tanh (`tf.contrib.cudnn_rnn.CudnnRNNTanh`); as `CudnnLSTM`."""

    _mode = "rnn_tanh"

    def _cell(self) -> Any:
        return BasicRNNCell(self._num_units, activation=tanh)


class CudnnRNNRelu(_Layers):
    """Layers of simple cells with ReLU (`tf.contrib.cudnn_rnn.CudnnRNNRelu`); as `CudnnLSTM`."""

    _mode = "rnn_relu"

    def _cell(self) -> Any:
        return BasicRNNCell(self._num_units, activation=relu)
