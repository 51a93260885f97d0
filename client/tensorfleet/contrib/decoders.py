"""Decoders and the helpers that choose their inputs: `tf.contrib.seq2seq.BasicDecoder`, `dynamic_decode`."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorfleet.contrib.decoder_helpers import Helper, batch_and_time_exchanged
from tensorfleet.core import dtypes, structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import fill, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.math.comparison import greater_equal, logical_and, logical_not, logical_or
from tensorfleet.ops.math.reduction import reduce_all
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.rnn.lengths import select, share_reads
from tensorfleet.rnn.state import zeros_of


class BasicDecoderOutput(NamedTuple):
    """The output of a BasicDecoder: the outputs of the cell or layer, and the chosen symbols."""

    rnn_output: Any
    sample_id: Any


class Decoder:
    """The interface of decoders, which `dynamic_decode` runs (`tf.contrib.seq2seq.Decoder`)."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The sizes of an output."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The dtypes of an output."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether the `finished` of a step includes the sequences that were finished before."""
        return False

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """(finished, inputs, state) before the first step: whether each sequence is already finished, …"""
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """(outputs, next state, next inputs, finished) of a step."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """The outputs and the state after the last step."""
        raise NotImplementedError


class BasicDecoder(Decoder):
    """A decoder of a cell, a helper and an output layer (`tf.contrib.seq2seq.BasicDecoder`).

    Args:
        cell: an RNN cell.
        helper: the helper, which chooses symbols and inputs.
        initial_state: the cell's initial state.
        output_layer: a layer on the cell's outputs, such as a `tf.layers.Dense`, or None.
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        self._cell, self._helper, self._state, self._layer = cell, helper, initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        units = self._cell.output_size
        if self._layer is not None:
            units = self._layer.units if hasattr(self._layer, "units") else None
            if units is None:
                made = self._layer.compute_output_shape(TensorShape([None, self._cell.output_size]))
                units = TensorShape(made).as_list()[-1]
        return BasicDecoderOutput(units, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        dtype = structures.flatten(self._state)[0].dtype.base
        return BasicDecoderOutput(dtype, self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return (*self._helper.initialize(), self._state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        outputs, state = self._cell(inputs, state)
        if self._layer is not None:
            outputs = self._layer(outputs)
        symbols = self._helper.sample(time=time, outputs=outputs, state=state)
        finished, following, state = self._helper.next_inputs(
            time=time, outputs=outputs, state=state, sample_ids=symbols
        )
        return BasicDecoderOutput(outputs, symbols), state, following, finished


def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Runs a decoder until all sequences are finished (`tf.contrib.seq2seq.dynamic_decode`).

    Args:
        output_time_major: whether outputs are `[time, batch, …]`, instead of `[batch, time, …]`.
        impute_finished: whether a finished sequence keeps its state and gets outputs of zeros.
        maximum_iterations: the greatest number of steps; None for no limit.

    Returns:
        The outputs, the last state, and the lengths of the sequences, int32 `[batch]`.

    Raises:
        TypeError: `decoder` is not a Decoder.
    """
    if not hasattr(decoder, "step") or not hasattr(decoder, "initialize"):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder") as opened:
        share_reads(opened)
        finished, inputs, state = decoder.initialize()
        batch = decoder.batch_size
        # All steps have the shapes of the first one.
        kinds = decoder.output_dtype
        flat_kinds = structures.flatten(kinds)
        sizes = [TensorShape(s) if isinstance(s, (int, TensorShape, list)) else s for s in _sizes(decoder)]
        nothing = structures.pack(
            kinds, [zeros_of(s, batch, d) for s, d in zip(sizes, flat_kinds, strict=True)]
        )
        arrays = [TensorArray(d, size=0, dynamic_size=True, element_shape=None) for d in flat_kinds]
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, dtype=dtypes.int32)
            finished = logical_or(finished, greater_equal(constant(0), maximum_iterations))
        lengths = zeros_like(finished, dtype=dtypes.int32)

        def goes_on(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
            return logical_not(reduce_all(finished))

        def body(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
            outputs, new_state, following, over = decoder.step(time, inputs, state)
            if not decoder.tracks_own_finished:
                over = logical_or(over, finished)
            if maximum_iterations is not None:
                over = logical_or(over, greater_equal(time + 1, maximum_iterations))
            structures.assert_same_structure(state, new_state)
            structures.assert_same_structure(nothing, outputs)
            counted = where(logical_and(logical_not(finished), over), fill(shape(lengths), time + 1), lengths)
            if impute_finished:
                outputs = structures.map_structure(
                    lambda new, zero: select(finished, zero, new), outputs, nothing
                )
                new_state = structures.map_structure(
                    lambda new, old: select(finished, old, new), new_state, state
                )
            for tensor, old in zip(structures.flatten(new_state), structures.flatten(state), strict=True):
                if isinstance(tensor, Tensor) and isinstance(old, Tensor):
                    tensor.set_shape(old.dims)
            emitted = structures.flatten(outputs)
            arrays = [a.write(time, value) for a, value in zip(arrays, emitted, strict=True)]
            return time + 1, arrays, new_state, following, over, counted

        _, arrays, state, _, _, lengths = while_loop(
            goes_on,
            body,
            (constant(0), arrays, state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        stacked = [array.stack() for array in arrays]
        for tensor, zero in zip(stacked, structures.flatten(nothing), strict=True):
            tensor.set_shape([None, *(zero.dims or ())])
        outputs = structures.pack(kinds, stacked)
        if hasattr(decoder, "finalize"):
            try:
                outputs, state = decoder.finalize(outputs, state, lengths)
            except NotImplementedError:  # `finalize` is optional
                pass
        if not output_time_major:
            outputs = structures.map_structure(batch_and_time_exchanged, outputs)
        return outputs, state, lengths


def _sizes(decoder: Any) -> list[Any]:
    sizes: list[Any] = []
    for part in structures.flatten(decoder.output_size):
        sizes.append(TensorShape([part]) if isinstance(part, int) else part)
    return sizes


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each element of the batch repeated `multiplier` times (`tf.contrib.seq2seq.tile_batch`)."""
    from tensorfleet.ops.array.padding import tile
    from tensorfleet.ops.array.shaping import expand_dims, reshape

    def tiled(tensor: Any) -> Any:
        tensor = convert_to_tensor(tensor)
        dims = tensor.shape.as_list()
        repeated = tile(expand_dims(tensor, 1), [1, multiplier, *([1] * (len(dims) - 1))])
        made = reshape(repeated, concat([[-1], shape(tensor)[1:]], 0))
        made.set_shape([None if dims[0] is None else dims[0] * multiplier, *dims[1:]])
        return made

    return structures.map_structure(tiled, t)
