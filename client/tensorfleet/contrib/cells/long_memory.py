"""LSTM cells of `tf.contrib.rnn`: with coupled gates, phases, groups, convolutions, layer normalization."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.cells.gated import PairState, check_depth
from tensorfleet.contrib.more_cells import linear
from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.identity import stop_gradient
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.math.arithmetic import floormod
from tensorfleet.ops.math.clip import clip_by_value
from tensorfleet.ops.math.elementwise import exp, log, sigmoid, tanh
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.nn.activation import bias_add as nn_bias_add
from tensorfleet.ops.nn.convolution import convolution
from tensorfleet.ops.nn.norm import batch_normalization, moments
from tensorfleet.ops.random.random_ops import random_uniform
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import (
    constant_initializer,
    random_uniform_initializer,
    zeros_initializer,
)
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.rnn.cell import RNNCell
from tensorfleet.rnn.state import LSTMStateTuple


def normalized(inputs: Any, scope: str, gain: float, shift: float) -> Any:
    """Rows with mean 0 and variance 1, scaled and shifted by variables `gamma` and `beta`."""
    with variable_scope(scope):
        size, dtype = inputs.shape.as_list()[-1:], inputs.dtype.base
        gamma = get_variable("gamma", size, dtype=dtype, initializer=constant_initializer(gain))
        beta = get_variable("beta", size, dtype=dtype, initializer=constant_initializer(shift))
        mean, variance = moments(inputs, [1], keep_dims=True)
        return batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)


class CoupledInputForgetGateLSTMCell(PairState):
    """An LSTM whose input gate is 1 minus the forget gate
    (`tf.contrib.rnn.CoupledInputForgetGateLSTMCell`; Greff et al., arXiv:1503.04069).

    Args:
        num_unit_shards, num_proj_shards: must be 1.
        state_is_tuple: must be True.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = tanh,
        reuse: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(num_units, num_proj, reuse)
        if num_unit_shards != 1 or num_proj_shards != 1 or not state_is_tuple:
            raise NotImplementedError(
                "CoupledInputForgetGateLSTMCell with shards, or with state_is_tuple=False, is not part of "
                "TensorFleet."
            )
        self._peepholes, self._initializer, self._clip = use_peepholes, initializer, proj_clip
        self._forget_bias, self._activation = forget_bias, activation
        self._normalizes, self._norm = layer_norm, (norm_gain, norm_shift)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the next step, from inputs `[batch, n]`."""
        cell, hidden = state
        inputs = convert_to_tensor(inputs)
        depth, units, dtype = check_depth(inputs), self._num_units, inputs.dtype.base
        # TensorFlow numbers the shards of a matrix, also where there is one.
        weights = get_variable("W_0", [depth + self.output_size, 3 * units], dtype)
        bias = get_variable("B", [3 * units], dtype, zeros_initializer())
        gates = matmul(concat([inputs, hidden], 1), weights)
        if not self._normalizes:
            gates = nn_bias_add(gates, bias)
        j, f, o = split(gates, 3, axis=1)
        if self._normalizes:
            j, f, o = (
                normalized(x, name, *self._norm)
                for x, name in ((j, "transform"), (f, "forget"), (o, "output"))
            )
        f = f + self._forget_bias
        if self._peepholes:
            f += get_variable("W_F_diag", [units], dtype) * cell
            peephole = get_variable("W_O_diag", [units], dtype)
        kept = sigmoid(f)
        new_cell = kept * cell + (1 - kept) * self._activation(j)
        if self._normalizes:
            new_cell = normalized(new_cell, "state", *self._norm)
        output = sigmoid(o + peephole * new_cell if self._peepholes else o) * self._activation(new_cell)
        if self._num_proj is not None:
            output = matmul(output, get_variable("W_P_0", [units, self._num_proj], dtype))
            if self._clip is not None:
                output = clip_by_value(output, -self._clip, self._clip)
        return output, LSTMStateTuple(new_cell, output)


class PhasedLSTMCell(PairState):
    """An LSTM whose units are updated in a part of their period only (`tf.contrib.rnn.PhasedLSTMCell`; Neil
    et al., arXiv:1610.09513).

    Args:
        leak: the openness of the gates in the rest of the period.
        ratio_on: the part of the period.
        period_init_min, period_init_max: the range of the first periods, which are drawn evenly on a
            logarithmic scale.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: Any = 0.001,
        ratio_on: Any = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: Any = 1.0,
        period_init_max: Any = 1000.0,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, None, reuse)
        self._peepholes, self._leak, self._ratio_on = use_peepholes, leak, ratio_on
        self._trains_ratio, self._periods = trainable_ratio_on, (period_init_min, period_init_max)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the next step.

        Args:
            inputs: the times `[batch, 1]`, float32 or float64, and the features `[batch, n]`.
        """
        cell, hidden = state
        time, x = inputs
        time, units = convert_to_tensor(time), self._num_units
        past = [cell] if self._peepholes else []
        with variable_scope("mask_gates"):
            i, f = split(sigmoid(linear([x, hidden, *past], 2 * units, True)), 2, axis=1)
        with variable_scope("new_input"):
            change = tanh(linear([x, hidden], units, True))
        new_cell = cell * f + i * change
        with variable_scope("output_gate"):
            o = sigmoid(linear([x, hidden, *([new_cell] if self._peepholes else [])], units, True))
        new_hidden = tanh(new_cell) * o
        low, high = self._periods

        def exponential(shape: Any, dtype: Any = dtypes.float32, partition_info: Any = None) -> Any:
            return exp(random_uniform(shape, log(low), log(high), dtype))

        period = get_variable("period", [units], initializer=exponential)
        # A phase is drawn between 0 and the first value of its period.
        phase = get_variable(
            "phase", [units], initializer=random_uniform_initializer(0.0, period.initial_value)
        )
        ratio = get_variable(
            "ratio_on",
            [units],
            initializer=constant_initializer(self._ratio_on),
            trainable=self._trains_ratio,
        )
        shifted, length = time - cast(phase, time.dtype), cast(period, time.dtype)
        # The gradient of the remainder is that of the shifted time.
        remainder = stop_gradient(floormod(shifted, length) - shifted) + shifted
        cycle = cast(remainder / length, dtypes.float32)
        rising = 2 * cycle / ratio
        openness = where(cycle < ratio, 2 - rising, self._leak * cycle)
        openness = where(cycle < 0.5 * ratio, rising, openness)
        new_cell = openness * new_cell + (1 - openness) * cell
        new_hidden = openness * new_hidden + (1 - openness) * hidden
        return new_hidden, LSTMStateTuple(new_cell, new_hidden)


class GLSTMCell(PairState):
    """An LSTM of groups that do not see each other's states (`tf.contrib.rnn.GLSTMCell`; Kuchaiev and
    Ginsburg, arXiv:1703.10722).

    Args:
        number_of_groups: divides `num_units` and `num_proj`. The inputs have the size of the output.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Any = tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, num_proj, reuse)
        if num_units % number_of_groups:
            raise ValueError("num_units must be divisible by number_of_groups")
        if num_proj and num_proj % number_of_groups:
            raise ValueError("num_proj must be divisible by number_of_groups")
        self._initializer, self._groups = initializer, number_of_groups
        self._forget_bias, self._activation = forget_bias, activation

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the next step, from inputs `[batch, output size]`."""
        cell, hidden = state
        inputs = convert_to_tensor(inputs)
        units, groups, dtype = self._num_units, self._groups, inputs.dtype.base
        size = self.output_size // groups
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            parts = []
            for group in range(groups):
                with variable_scope(f"group{group}"):
                    own = [x[:, group * size : (group + 1) * size] for x in (inputs, hidden)]
                    parts.append(split(linear(own, 4 * units // groups, False), 4, axis=1))
            i, j, f, o = (
                nn_bias_add(
                    concat([part[gate] for part in parts], 1),
                    get_variable(f"bias_{name}", [units], dtype, zeros_initializer()),
                )
                for gate, name in enumerate("ijfo")
            )
        new_cell = sigmoid(f + self._forget_bias) * cell + sigmoid(i) * tanh(j)
        output = sigmoid(o) * self._activation(new_cell)
        if self._num_proj is not None:
            with variable_scope("projection"):
                output = linear(output, self._num_proj, False)
        return output, LSTMStateTuple(new_cell, output)


class LayerNormLSTMCell(PairState):
    """An LSTM with peepholes, clipping, a projection, and layer normalization, each if it is asked for
    (`tf.contrib.rnn.LayerNormLSTMCell`)."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1.0,
        activation: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, num_proj, reuse)
        self._peepholes, self._cell_clip, self._initializer = use_peepholes, cell_clip, initializer
        self._clip, self._forget_bias, self._activation = proj_clip, forget_bias, activation or tanh
        self._normalizes, self._norm = layer_norm, (norm_gain, norm_shift)

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the next step, from inputs `[batch, n]`."""
        cell, hidden = state
        inputs = convert_to_tensor(inputs)
        depth, units, dtype = check_depth(inputs), self._num_units, inputs.dtype.base
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            kernel = get_variable("kernel", [depth + self.output_size, 4 * units], dtype)
            bias = get_variable("bias", [4 * units], dtype, zeros_initializer())
            gates = matmul(concat([inputs, hidden], 1), kernel)
            parts = split(gates if self._normalizes else nn_bias_add(gates, bias), 4, axis=1)
            if self._normalizes:
                names = ("input", "transform", "forget", "output")
                parts = [normalized(x, n, *self._norm) for x, n in zip(parts, names, strict=True)]
            i, j, f, o = parts
            f = f + self._forget_bias
            if self._peepholes:
                forget, enter, leave = (get_variable(f"w_{gate}_diag", [units], dtype) for gate in "fio")
                f, i = f + forget * cell, i + enter * cell
            new_cell = sigmoid(f) * cell + sigmoid(i) * self._activation(j)
            if self._normalizes:
                new_cell = normalized(new_cell, "state", *self._norm)
            if self._cell_clip is not None:
                new_cell = clip_by_value(new_cell, -self._cell_clip, self._cell_clip)
            output = sigmoid(o + leave * new_cell if self._peepholes else o) * self._activation(new_cell)
            if self._num_proj is not None:
                with variable_scope("projection"):
                    output = linear(output, self._num_proj, False)
                if self._clip is not None:
                    output = clip_by_value(output, -self._clip, self._clip)
        return output, LSTMStateTuple(new_cell, output)


class ConvLSTMCell(RNNCell):
    """An LSTM of images, with convolutions for products (`tf.contrib.rnn.ConvLSTMCell`; Shi et al.,
    arXiv:1506.04214).

    Args:
        conv_ndims: 1, 2 or 3.
        input_shape: sizes and channels of the inputs, without the batch.
        skip_connection: whether the inputs are joined to the output.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Any,
        output_channels: int,
        kernel_shape: Any,
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        self._input_shape, self._kernel_shape = [*input_shape], [*kernel_shape]
        if conv_ndims != len(self._input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims, self._channels, self._use_bias = conv_ndims, output_channels, use_bias
        self._skips, self._forget_bias = skip_connection, forget_bias

    @property
    def state_size(self) -> Any:
        size = TensorShape([*self._input_shape[:-1], self._channels])
        return LSTMStateTuple(size, size)

    @property
    def output_size(self) -> Any:
        skipped = self._input_shape[-1] if self._skips else 0
        return TensorShape([*self._input_shape[:-1], self._channels + skipped])

    def call(self, inputs: Any, state: Any) -> Any:
        """The output and the state of the next step, from inputs `[batch, …, channels]`."""
        cell, hidden = state
        joined = concat([inputs, hidden], -1)
        dtype, channels = joined.dtype.base, self._channels
        depth = joined.shape.as_list()[-1]
        kernel = get_variable("kernel", [*self._kernel_shape, depth, 4 * channels], dtype)
        gates = convolution(joined, kernel, "SAME")
        if self._use_bias:
            gates += get_variable("biases", [4 * channels], dtype, zeros_initializer())
        i, j, f, o = split(gates, 4, axis=self._conv_ndims + 1)
        new_cell = sigmoid(f + self._forget_bias) * cell + sigmoid(i) * tanh(j)
        output = tanh(new_cell) * sigmoid(o)
        if self._skips:
            output = concat([output, inputs], -1)
        return output, LSTMStateTuple(new_cell, output)


class Conv1DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` of sequences (`tf.contrib.rnn.Conv1DLSTMCell`)."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` of images (`tf.contrib.rnn.Conv2DLSTMCell`)."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` of volumes (`tf.contrib.rnn.Conv3DLSTMCell`)."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, **kwargs)
