"""LSTMCell: the LSTM with peepholes, projection and clipping."""

from __future__ import annotations

from typing import Any

from tensorfleet.layers.parts import initializer_of
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.clip import clip_by_value
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.partitioners import fixed_size_partitioner
from tensorfleet.rnn.cell import check_inputs_and_state
from tensorfleet.rnn.cells import UnitsCell
from tensorfleet.rnn.state import LSTMStateTuple


def _partitioner(parts: int | None) -> Any:
    return None if parts is None else fixed_size_partitioner(parts)


class LSTMCell(UnitsCell):
    """A long short-term memory (`tf.nn.rnn_cell.LSTMCell`; Sak et al., Interspeech 2014).

    Args:
        use_peepholes: whether the gates of each unit also take its c.
        cell_clip: the limit of c, which is clipped to [-cell_clip, cell_clip].
        initializer: the initializer of the kernel, the peepholes and the projection.
        num_proj: the size of the output's projection.
        proj_clip: the limit of the projection, which is clipped to [-proj_clip, proj_clip].
        num_unit_shards, num_proj_shards: the numbers of parts of the kernel and of the projection.
        forget_bias: a number that is added to the forget gate.
        state_is_tuple: whether the state is an LSTMStateTuple, instead of c and h in one tensor.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._unit_partitioner = _partitioner(num_unit_shards)
        self._proj_partitioner = _partitioner(num_proj_shards)
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._initializer = initializer_of(initializer)
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def build(self, input_shape: Any) -> None:
        depth, units = self._check_build(input_shape), self._num_units
        made = self._initializer
        self._kernel = self.add_weight(
            "kernel",
            [depth + self.output_size, 4 * units],
            initializer=made,
            partitioner=self._unit_partitioner,
        )
        self._bias = self.add_weight(
            "bias", [4 * units], initializer=zeros_initializer(self.dtype or "float32")
        )
        if self._use_peepholes:
            weights = {g: self.add_weight(f"w_{g}_diag", [units], initializer=made) for g in self._peepholes}
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (weights[gate] for gate in "fio")
        if self._num_proj:
            self._proj_kernel = self.add_weight(
                "projection/kernel",
                [units, self._num_proj],
                initializer=made,
                partitioner=self._proj_partitioner,
            )
        self.built = True

    _peepholes = "fio"
    """The gates' peepholes, in the order in which their variables are made."""

    def _clipped(self, c: Any) -> Any:
        """The cell's state within its limits."""
        assert self._cell_clip is not None
        return clip_by_value(c, -self._cell_clip, self._cell_clip)

    def call(self, inputs: Any, state: Any) -> Any:
        check_inputs_and_state(inputs, state)
        units = self._num_units
        if self._state_is_tuple:
            c, h = state
        else:
            c = apply_one("Slice", state, [0, 0], [-1, units])
            h = apply_one("Slice", state, [0, units], [-1, self.output_size])
        i, j, f, o = split(self._affine(inputs, h, self._kernel, self._bias), 4, axis=1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f_diag * c, i + self._w_i_diag * c
        new_c = apply_one("Sigmoid", f) * c + apply_one("Sigmoid", i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = self._clipped(new_c)
        if self._use_peepholes:
            o = o + self._w_o_diag * new_c
        new_h = apply_one("Sigmoid", o) * self._activation(new_c)
        if self._num_proj:
            new_h = apply_one("MatMul", new_h, self._proj_kernel)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, concat([new_c, new_h], 1)
