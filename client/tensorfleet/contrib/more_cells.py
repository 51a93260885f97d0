"""Recurrent cells of `tf.contrib.rnn` that are not in `tf.nn.rnn_cell`."""

from __future__ import annotations

from typing import Any

from tensorfleet.autodiff.custom_gradient import custom_gradient
from tensorfleet.core.structures import flatten
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.math.elementwise import sigmoid, tanh
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.activation import bias_add, softmax
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.nn.layers import dropout
from tensorfleet.ops.nn.norm import batch_normalization, moments
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import (
    constant_initializer,
    random_uniform_initializer,
    zeros_initializer,
)
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.rnn.cell import RNNCell
from tensorfleet.rnn.cells import GRUCell
from tensorfleet.rnn.dynamic import bidirectional_dynamic_rnn
from tensorfleet.rnn.lstm import LSTMCell
from tensorfleet.rnn.state import LSTMStateTuple
from tensorfleet.rnn.static import static_bidirectional_rnn


def linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
) -> Any:
    """A linear layer of one or several tensors, with variables in the current scope (`_linear`).

    Args:
        args: a tensor `[batch, n]`, or a list of them.
    """
    inputs = [convert_to_tensor(a) for a in (args if isinstance(args, (list, tuple)) else [args])]
    for tensor in inputs:
        if tensor.ndim != 2 or tensor.shape.as_list()[1] is None:
            raise ValueError(f"linear expects shape[1] to be provided for shape {tensor.shape}")
    size = sum(int(tensor.shape.as_list()[1] or 0) for tensor in inputs)
    dtype = inputs[0].dtype.base
    with variable_scope(get_variable_scope()):
        weights = get_variable("kernel", [size, output_size], dtype=dtype, initializer=kernel_initializer)
        outputs = matmul(inputs[0] if len(inputs) == 1 else concat(inputs, 1), weights)
        if not bias:
            return outputs
        biases = get_variable(
            "bias", [output_size], dtype=dtype, initializer=bias_initializer or zeros_initializer()
        )
        return bias_add(outputs, biases)


class LSTMBlockCell(LSTMCell):
    """An LSTM cell with the arguments of TensorFlow's fused one (`tf.contrib.rnn.LSTMBlockCell`).

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
        dtype: Any = None,
        reuse: Any = None,
        name: str | None = "lstm_cell",
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes=use_peephole,
            cell_clip=cell_clip if cell_clip is not None and cell_clip > 0 else None,
            forget_bias=forget_bias,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )

    _peepholes = "ifo"

    def _clipped(self, c: Any) -> Any:
        """The limited state; its gradient is that of the state without limits, as that of the fused op."""
        limited = super()._clipped

        @custom_gradient
        def clip(c: Any) -> Any:
            return limited(c), lambda grad: grad

        return clip(c)


class GRUBlockCellV2(GRUCell):
    """A GRU cell with the arguments of TensorFlow's fused one (`tf.contrib.rnn.GRUBlockCellV2`)."""

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: Any = None,
        name: str = "gru_cell",
    ) -> None:
        if (num_units is None) == (cell_size is None):
            raise ValueError("Exactly one of num_units and cell_size must be provided.")
        super().__init__(int(num_units or cell_size or 0), reuse=reuse, name=name)


class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM cell with layer normalization, and dropout of the new input to the state
    (`tf.contrib.rnn.LayerNormBasicLSTMCell`)."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Any = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._normalizes, self._gain, self._shift = layer_norm, norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def _norm(self, inputs: Any, scope: str) -> Any:
        with variable_scope(scope):
            size = inputs.shape.as_list()[-1:]
            dtype = inputs.dtype.base
            gamma = get_variable("gamma", size, dtype=dtype, initializer=constant_initializer(self._gain))
            beta = get_variable("beta", size, dtype=dtype, initializer=constant_initializer(self._shift))
            mean, variance = moments(inputs, [1], keep_dims=True)
            return batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the next step, from inputs `[batch, n]`."""
        cell, hidden = state
        inputs = convert_to_tensor(inputs)
        args = concat([inputs, hidden], 1)
        weights = get_variable(
            "kernel", [args.shape.as_list()[-1], 4 * self._num_units], dtype=args.dtype.base
        )
        joined = matmul(args, weights)
        if not self._normalizes:
            joined = bias_add(joined, get_variable("bias", [4 * self._num_units], dtype=args.dtype.base))
        i, j, f, o = split(joined, 4, axis=1)
        if self._normalizes:
            i, j = self._norm(i, "input"), self._norm(j, "transform")
            f, o = self._norm(f, "forget"), self._norm(o, "output")
        change = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            change = dropout(change, self._keep_prob, seed=self._seed)
        new_cell = cell * sigmoid(f + self._forget_bias) + sigmoid(i) * change
        if self._normalizes:
            new_cell = self._norm(new_cell, "state")
        new_hidden = self._activation(new_cell) * sigmoid(o)
        return new_hidden, LSTMStateTuple(new_cell, new_hidden)


class _Wrapper(RNNCell):
    """Base class of cells that wrap another one and have its sizes."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size


class OutputProjectionWrapper(_Wrapper):
    """A cell with a linear layer after it (`tf.contrib.rnn.OutputProjectionWrapper`)."""

    def __init__(self, cell: Any, output_size: int, activation: Any = None, reuse: Any = None) -> None:
        super().__init__(cell, reuse)
        self._size, self._activation = output_size, activation

    @property
    def output_size(self) -> Any:
        return self._size

    def call(self, inputs: Any, state: Any) -> Any:
        """The projected output, and the state."""
        output, new_state = self._cell(inputs, state)
        projected = linear(output, self._size, True)
        return (self._activation(projected) if self._activation else projected), new_state


class InputProjectionWrapper(_Wrapper):
    """A cell with a linear layer before it (`tf.contrib.rnn.InputProjectionWrapper`)."""

    def __init__(
        self, cell: Any, num_proj: int, activation: Any = None, input_size: Any = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        self._size, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the cell for projected inputs."""
        projected = linear(inputs, self._size, True)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class EmbeddingWrapper(_Wrapper):
    """A cell whose inputs are symbols `[batch]`, of which it looks up embeddings
    (`tf.contrib.rnn.EmbeddingWrapper`)."""

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError("Both embedding_classes and embedding_size must be > 0.")
        self._classes, self._size, self._initializer = embedding_classes, embedding_size, initializer

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the cell for the embeddings."""
        initializer = self._initializer or get_variable_scope().initializer
        initializer = initializer or random_uniform_initializer(-(3**0.5), 3**0.5)
        dtype = flatten(state)[0].dtype.base
        table = get_variable("embedding", [self._classes, self._size], initializer=initializer, dtype=dtype)
        return self._cell(embedding_lookup(table, reshape(inputs, [-1])), state)


class AttentionCellWrapper(RNNCell):
    """A cell with attention to its last outputs (`tf.contrib.rnn.AttentionCellWrapper`).

    Args:
        attn_length: the number of last outputs.
        attn_size: the size of the attention, by default the cell's output size.
        attn_vec_size: the size of the layer that computes scores, by default `attn_size`.
        input_size: the size of the cell's inputs, by default that of the wrapper's inputs.
        state_is_tuple: must be True.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        if not state_is_tuple:
            raise NotImplementedError(
                "AttentionCellWrapper with state_is_tuple=False is not part of TensorFleet."
            )
        self._cell, self._length = cell, attn_length
        self._size = attn_size or cell.output_size
        self._compared = attn_vec_size or self._size
        self._input_size = input_size

    @property
    def state_size(self) -> Any:
        return (self._cell.state_size, self._size, self._size * self._length)

    @property
    def output_size(self) -> Any:
        return self._size

    def call(self, inputs: Any, state: Any) -> Any:
        """The attended output, and (the cell's state, the attention, the last outputs)."""
        state, attention, history = state
        past = reshape(history, [-1, self._length, self._size])
        size = self._input_size or inputs.shape.as_list()[1]
        inputs = linear([inputs, attention], size, True)
        output, new_state = self._cell(inputs, state)
        query = concat(flatten(new_state), 1)
        attention, kept = self._attend(query, past)
        with variable_scope("attn_output_projection"):
            outputs = linear([output, attention], self._size, True)
        history = concat([kept, reshape(outputs, [-1, 1, self._size])], 1)
        return outputs, (new_state, attention, reshape(history, [-1, self._size * self._length]))

    def _attend(self, query: Any, past: Any) -> tuple[Any, Any]:
        from tensorfleet.ops.nn.conv import conv2d

        with variable_scope("attention"):
            kernel = get_variable("attn_w", [1, 1, self._size, self._compared])
            weights = get_variable("attn_v", [self._compared])
            hidden = reshape(past, [-1, self._length, 1, self._size])
            features = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            compared = reshape(linear(query, self._compared, True), [-1, 1, 1, self._compared])
            scores = softmax(reduce_sum(weights * tanh(features + compared), [2, 3]))
            summed = reduce_sum(reshape(scores, [-1, self._length, 1, 1]) * hidden, [1, 2])
            return reshape(summed, [-1, self._size]), past[:, 1:, :]


def stack_bidirectional_dynamic_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Stacked bidirectional layers, each on the joined outputs of the previous one
    (`tf.contrib.rnn.stack_bidirectional_dynamic_rnn`).

    Returns:
        The outputs, the forward states and the backward states.
    """
    if not cells_fw or len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth, of 1 or more.")
    states_fw, states_bw = [], []
    outputs = inputs
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{number}"):
                both, (state_fw, state_bw) = bidirectional_dynamic_rnn(
                    forward,
                    backward,
                    outputs,
                    initial_state_fw=initial_states_fw[number] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[number] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    time_major=time_major,
                )
                outputs = concat(both, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return outputs, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """`stack_bidirectional_dynamic_rnn` on a list of inputs, unrolled."""
    if not cells_fw or len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth, of 1 or more.")
    states_fw, states_bw = [], []
    outputs = inputs
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{number}") as current:
                outputs, state_fw, state_bw = static_bidirectional_rnn(
                    forward,
                    backward,
                    outputs,
                    initial_states_fw[number] if initial_states_fw else None,
                    initial_states_bw[number] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    dtype=dtype,
                    scope=current,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return outputs, tuple(states_fw), tuple(states_bw)
