"""A decoder that follows the likeliest beginnings of each sequence (`tf.contrib.seq2seq.BeamSearchDecoder`).

A beam is one such beginning. Cells see the beams of all sequences as one batch, [batch * width, …]; the
decoder keeps them apart, [batch, width, …].

Source of the penalties: Wu et al., Google's Neural Machine Translation System, 2016, equation 14.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorfleet.contrib.decoders import Decoder
from tensorfleet.core import dtypes, structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill, ones, range as range_of, zeros
from tensorfleet.ops.array.indexing import batch_gather, gather_nd, one_hot
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.padding import tile
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.selection import sequence_mask, top_k, where, where_v2
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape, size
from tensorfleet.ops.control_flow.control_flow import cond, while_loop
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.math.arithmetic import minimum
from tensorfleet.ops.math.comparison import equal, less, logical_not, logical_or
from tensorfleet.ops.math.elementwise import log
from tensorfleet.ops.math.reduction import reduce_all, reduce_max, reduce_sum
from tensorfleet.ops.math.scan import cumsum
from tensorfleet.ops.nn.activation import log_softmax
from tensorfleet.ops.nn.embedding import embedding_lookup


class BeamSearchDecoderState(NamedTuple):
    """The state of the search: of the cell, and of each beam."""

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """The output of a step, [batch, width]: scores, symbols, and the beam before that each goes on."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """The output of a search: symbols, the best beam first, [batch, time, width], and those of the steps."""

    predicted_ids: Any
    beam_search_decoder_output: BeamSearchDecoderOutput


class BeamSearchDecoder(Decoder):
    """Follows the likeliest beginnings of each sequence (`tf.contrib.seq2seq.BeamSearchDecoder`).

    Memory of an attention mechanism, and the encoder's state, are to be repeated by `tile_batch`.

    Args:
        cell: an RNN cell.
        embedding: a table of rows, or a function from symbols to inputs.
        start_tokens: int32 [batch].
        end_token: the symbol, int32 of rank 0, that ends a sequence.
        initial_state: of the cell, [batch * width, …].
        beam_width: number of beams of each sequence.
        output_layer: such as a `tf.layers.Dense`; None: outputs are the cell's.
        length_penalty_weight: how much longer sequences are preferred; 0: not.
        coverage_penalty_weight: how much sequences are preferred that attend to all of the input; 0: not.
        reorder_tensor_arrays: whether TensorArrays in the cell's final state follow the beams.

    Raises:
        ValueError: start_tokens is no vector, or end_token no scalar.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: Any = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        if output_layer is not None and not callable(output_layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._layer = cell, output_layer
        self._embedding = (
            embedding if callable(embedding) else lambda symbols: embedding_lookup(embedding, symbols)
        )
        self._start = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        self._end = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._start.ndim != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end.ndim != 0:
            raise ValueError("end_token must be a scalar")
        self._width = beam_width
        self._length_weight, self._coverage_weight = length_penalty_weight, coverage_penalty_weight
        self._reorders = reorder_tensor_arrays
        self._batch = size(self._start)
        self._dtype = structures.flatten(initial_state)[0].dtype.base
        self._initial = structures.map_structure(self._split, initial_state)
        self._start_inputs = self._embedding(tile(expand_dims(self._start, 1), [1, beam_width]))

    @property
    def batch_size(self) -> Any:
        return self._batch

    @property
    def tracks_own_finished(self) -> bool:
        return True

    @property
    def output_size(self) -> Any:
        width = TensorShape([self._width])
        return BeamSearchDecoderOutput(width, width, width)

    @property
    def output_dtype(self) -> Any:
        return BeamSearchDecoderOutput(self._dtype, dtypes.int32, dtypes.int32)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        finished = fill([self._batch, self._width], False)
        finished.set_shape([self._start.shape.as_list()[0], self._width])
        # At first all beams are the same: only one of them counts.
        first = constant([[0.0] + [-np.inf] * (self._width - 1)], self._dtype)
        log_probs = tile(first, [self._batch, 1])
        lengths = zeros([self._batch, self._width], dtypes.int64)
        attended: Any = ()
        if self._coverage_weight != 0.0:
            attended = zeros([self._batch, self._width, self._alignments(self._initial)], self._dtype)
        state = BeamSearchDecoderState(self._initial, log_probs, finished, lengths, attended)
        return finished, self._start_inputs, state

    @staticmethod
    def _alignments(cell_state: Any) -> Any:
        if not hasattr(cell_state, "alignments"):
            raise ValueError("coverage_penalty_weight needs a cell that attends: an AttentionWrapper.")
        alignments = cell_state.alignments
        if isinstance(alignments, tuple):
            raise ValueError("coverage_penalty_weight is for cells with one attention mechanism.")
        return shape(alignments)[-1]

    def _split(self, value: Any) -> Any:
        """[batch, width, …] of [batch * width, …]; what belongs to no beam stays."""
        if not isinstance(value, Tensor) or value.ndim == 0:
            return value
        made = reshape(value, concat([[-1, self._width], shape(value)[1:]], 0))
        made.set_shape([self._start.shape.as_list()[0], self._width, *value.shape.as_list()[1:]])
        return made

    def _merge(self, value: Any) -> Any:
        """[batch * width, …] of [batch, width, …]."""
        if not isinstance(value, Tensor) or value.ndim == 0:
            return value
        made = reshape(value, concat([[-1], shape(value)[2:]], 0))
        made.set_shape([None, *value.shape.as_list()[2:]])
        return made

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        with framework.name_scope(name, "BeamSearchDecoderStep", [time]):
            merged = structures.map_structure(self._merge, state.cell_state)
            outputs, cell_state = self._cell(structures.map_structure(self._merge, inputs), merged)
            if self._layer is not None:
                outputs = self._layer(outputs)
            logits = self._split(outputs)
            cell_state = structures.map_structure(self._split, cell_state)
            output, next_state = self._search(logits, cell_state, state)
            following = cond(
                reduce_all(next_state.finished),
                lambda: self._start_inputs,
                lambda: self._embedding(output.predicted_ids),
            )
            structures.map_structure(lambda new, old: new.set_shape(old.shape), following, self._start_inputs)
            return output, next_state, following, next_state.finished

    def _search(self, logits: Tensor, cell_state: Any, state: BeamSearchDecoderState) -> tuple[Any, Any]:
        """The best of all beams with one symbol more."""
        finished = state.finished
        symbols = shape(logits)[-1]
        total = expand_dims(state.log_probs, 2) + self._masked(log_softmax(logits), finished, symbols)
        goes_on = cast(logical_not(finished), dtypes.int64)
        # All symbols but the end make a beam longer.
        longer = one_hot(
            fill(shape(finished), self._end), symbols, on_value=0, off_value=1, dtype=dtypes.int64
        )
        lengths = expand_dims(state.lengths, 2) + expand_dims(goes_on, 2) * longer
        attended: Any = state.accumulated_attention_probs
        if self._coverage_weight != 0.0:
            attention = where_v2(expand_dims(finished, 2), zeros([], logits.dtype), cell_state.alignments)
            attended = attended + attention
        scores = self._scores(total, lengths, attended)
        best, chosen = top_k(reshape(scores, [self._batch, -1]), self._width)
        best.set_shape(finished.shape)
        chosen.set_shape(finished.shape)
        symbol, parent = chosen % symbols, chosen // symbols
        was_finished = batch_gather(finished, parent)
        following = BeamSearchDecoderState(
            structures.map_structure(lambda value: self._of_parents(value, parent), cell_state),
            batch_gather(reshape(total, [self._batch, -1]), chosen),
            logical_or(was_finished, equal(symbol, self._end)),
            batch_gather(state.lengths, parent) + cast(logical_not(was_finished), dtypes.int64),
            batch_gather(attended, parent) if self._coverage_weight != 0.0 else (),
        )
        return BeamSearchDecoderOutput(best, symbol, parent), following

    def _masked(self, log_probs: Tensor, finished: Tensor, symbols: Tensor) -> Tensor:
        """The end is the one thing that may follow a finished beam, and it costs nothing."""
        only_end = one_hot(
            self._end, symbols, on_value=0.0, off_value=log_probs.dtype.min, dtype=log_probs.dtype
        )
        return where_v2(expand_dims(finished, 2), only_end, log_probs)

    def _scores(self, log_probs: Tensor, lengths: Tensor, attended: Any) -> Tensor:
        scores = log_probs
        if not _is_zero(self._length_weight):
            weight = convert_to_tensor(self._length_weight, dtype=scores.dtype)
            scores = scores / ((5.0 + cast(lengths, scores.dtype)) ** weight / 6.0**weight)
        if self._coverage_weight != 0.0:
            covered = reduce_sum(log(minimum(attended, ones([], scores.dtype))), 2)
            weight = convert_to_tensor(self._coverage_weight, dtype=scores.dtype)
            scores = scores + expand_dims(covered, 2) * weight
        return scores

    def _of_parents(self, value: Any, parent: Tensor) -> Any:
        if not isinstance(value, Tensor) or value.ndim == 0:
            return value
        made = batch_gather(value, parent)
        made.set_shape(value.shape)
        return made

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        longest = cast(reduce_max(final_state.lengths, 1), dtypes.int32)
        predicted = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end)
        if self._reorders:
            ordered = structures.map_structure(
                lambda value: self._ordered(value, outputs.parent_ids, final_state.lengths),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=ordered)
        return FinalBeamSearchDecoderOutput(predicted, outputs), final_state

    def _ordered(self, value: Any, parents: Tensor, lengths: Tensor) -> Any:
        """What a TensorArray holds of each step, of the beams that were followed to the end."""
        if not isinstance(value, TensorArray):
            return value
        steps = value.stack()
        apart = reshape(steps, concat([shape(steps)[:1], [-1, self._width], shape(steps)[2:]], 0))
        return reshape(gather_tree_from_array(apart, parents, lengths), shape(steps))


def _is_zero(weight: Any) -> bool:
    return not isinstance(weight, Tensor) and weight == 0


def gather_tree(step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any) -> Tensor:
    """The symbols of the beams that were followed to the end (`tf.contrib.seq2seq.gather_tree`).

    Args:
        step_ids: symbols of each step, [time, batch, width].
        parent_ids: the beam before that each goes on, [time, batch, width].
        max_sequence_lengths: [batch].
        end_token: symbol of what comes after a sequence's end.

    Returns:
        [time, batch, width].
    """
    ids, parents = convert_to_tensor(step_ids), cast(convert_to_tensor(parent_ids), dtypes.int32)
    end = convert_to_tensor(end_token, dtype=ids.dtype)
    steps, batch, width = shape(ids)[0], shape(ids)[1], shape(ids)[2]
    lengths = expand_dims(minimum(cast(convert_to_tensor(max_sequence_lengths), dtypes.int32), steps), 1)

    def body(time: Any, beams: Any, found: Any) -> Any:
        is_within = less(time, lengths + zeros([1, width], dtypes.int32))
        symbols = where(is_within, batch_gather(ids[time], beams), fill(shape(beams), end))
        before = where(is_within, batch_gather(parents[time], beams), beams)
        return time - 1, before, found.write(time, symbols)

    last = tile(expand_dims(range_of(width), 0), [batch, 1])
    found = TensorArray(ids.dtype, size=steps, element_shape=None)
    *_, found = while_loop(lambda time, *_: time >= 0, body, (steps - 1, last, found))
    gathered = found.stack()
    gathered.set_shape(ids.shape)
    ended_before = cumsum(cast(equal(gathered, end), dtypes.int32), 0, exclusive=True) > 0
    return where_v2(ended_before, end, gathered)


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Tensor:
    """The values of the beams that were followed to the end (`tf.contrib.seq2seq.gather_tree_from_array`).

    Args:
        t: values of each step, [time, batch, width, …].
        parent_ids: the beam before that each goes on, [time, batch, width].
        sequence_length: [batch, width].

    Returns:
        As t; beyond a sequence's length its values stay.
    """
    values, parents = convert_to_tensor(t), convert_to_tensor(parent_ids)
    lengths = convert_to_tensor(sequence_length)
    steps, batch, width = shape(parents)[0], shape(parents)[1], shape(parents)[2]
    own = range_of(width) + zeros(shape(parents), dtypes.int32)
    longest = cast(reduce_max(lengths, 1), dtypes.int32)
    followed = gather_tree(own, parents, longest, width + 1)
    is_within = transpose(sequence_mask(lengths, steps), [2, 0, 1])
    beams = where(is_within, followed, own)
    times = expand_dims(expand_dims(range_of(steps), 1), 2) + zeros(shape(beams), dtypes.int32)
    sequences = expand_dims(expand_dims(range_of(batch), 0), 2) + zeros(shape(beams), dtypes.int32)
    ordered = gather_nd(values, stack([times, sequences, beams], -1))
    ordered.set_shape(values.shape)
    return ordered
