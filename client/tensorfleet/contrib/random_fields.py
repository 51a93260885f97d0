"""The functions of `tf.contrib.crf`. A step's state is a vector over tags, so sequences are RNNs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill, zeros_like
from tensorfleet.ops.array.indexing import gather_nd, one_hot
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.rearranging import reverse_sequence
from tensorfleet.ops.array.selection import sequence_mask, where
from tensorfleet.ops.array.shaping import expand_dims, shape, squeeze
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.comparison import less_equal
from tensorfleet.ops.math.extrema import argmax
from tensorfleet.ops.math.reduction import reduce_logsumexp, reduce_max, reduce_sum
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.rnn.cell import RNNCell
from tensorfleet.rnn.dynamic import dynamic_rnn


def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Tensor:
    """The unnormalized score of each sequence of tags (`tf.contrib.crf.crf_sequence_score`).

    Args:
        inputs: scores of the tags at each place, [batch, time, tags].
        tag_indices: [batch, time] of int32.
        sequence_lengths: [batch].
        transition_params: scores of one tag after another, [tags, tags].

    Returns:
        [batch]; 0 for sequences of length 0.
    """
    inputs = convert_to_tensor(inputs)
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    binary = crf_binary_score(tag_indices, sequence_lengths, transition_params)
    return unary + binary


def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Tensor:
    """The unnormalized score of all sequences of allowed tags (`tf.contrib.crf.crf_multitag_sequence_score`).

    Args:
        inputs, sequence_lengths, transition_params: as in `crf_sequence_score`.
        tag_bitmap: [batch, time, tags] of bool: which tags are allowed at each place.

    Returns:
        The logarithm of the sum of the exponentials of their scores, [batch].
    """
    inputs = convert_to_tensor(inputs)
    impossible = fill(shape(inputs), -np.inf)
    allowed = where(convert_to_tensor(tag_bitmap, dtypes.bool), inputs, cast(impossible, inputs.dtype))
    return crf_log_norm(allowed, sequence_lengths, transition_params)


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The normalization: the score of all sequences of tags (`tf.contrib.crf.crf_log_norm`).

    Args:
        inputs, sequence_lengths, transition_params: as in `crf_sequence_score`.

    Returns:
        The logarithm of the sum of the exponentials of their scores, [batch].
    """
    inputs = convert_to_tensor(inputs)
    lengths = cast(convert_to_tensor(sequence_lengths), dtypes.int32)
    first = inputs[:, 0]
    if inputs.shape.as_list()[1] == 1:
        alphas = first
    else:
        # The first place is the initial state.
        _, alphas = dynamic_rnn(
            CrfForwardRnnCell(transition_params),
            inputs[:, 1:],
            sequence_length=maximum(0, lengths - 1),
            initial_state=first,
            dtype=inputs.dtype,
        )
    norm = reduce_logsumexp(alphas, [1])
    return where(less_equal(lengths, 0), zeros_like(norm), norm)


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Tensor, Any]:
    """The log-likelihood of each sequence of tags (`tf.contrib.crf.crf_log_likelihood`).

    Args:
        inputs, tag_indices, sequence_lengths: as in `crf_sequence_score`.
        transition_params: [tags, tags]; None: the variable "transitions".

    Returns:
        The log-likelihoods, [batch], and the transitions.
    """
    inputs = convert_to_tensor(inputs)
    if transition_params is None:
        tags = inputs.shape.as_list()[2]
        transition_params = get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Tensor:
    """The part of a score that single tags have (`tf.contrib.crf.crf_unary_score`), [batch].

    The arguments are those of `crf_sequence_score`.
    """
    inputs = convert_to_tensor(inputs)
    chosen = one_hot(tag_indices, shape(inputs)[2], dtype=inputs.dtype)
    # Not a product: a score of a tag that was not chosen may be infinite.
    scores = reduce_sum(where(chosen > 0, inputs, zeros_like(inputs)), -1)
    mask = sequence_mask(sequence_lengths, shape(inputs)[1], inputs.dtype)
    return reduce_sum(scores * mask, 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The part of a score that neighbours have (`tf.contrib.crf.crf_binary_score`), [batch].

    The arguments are those of `crf_sequence_score`.
    """
    transitions = convert_to_tensor(transition_params)
    tags = convert_to_tensor(tag_indices)
    pairs = gather_nd(transitions, stack([tags[:, :-1], tags[:, 1:]], -1))
    mask = sequence_mask(sequence_lengths, shape(tags)[1], transitions.dtype)[:, 1:]
    return reduce_sum(pairs * mask, 1)


class CrfForwardRnnCell(RNNCell):
    """Scores of all sequences that end with each tag, one place further (`tf.contrib.crf.CrfForwardRnnCell`).

    Args:
        transition_params: [tags, tags].
    """

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transitions = expand_dims(convert_to_tensor(transition_params), 0)
        self._tags = self._transitions.shape.as_list()[1]

    @property
    def state_size(self) -> Any:
        return self._tags

    @property
    def output_size(self) -> Any:
        return self._tags

    def call(self, inputs: Any, state: Any) -> Any:
        alphas = inputs + reduce_logsumexp(expand_dims(state, 2) + self._transitions, [1])
        return alphas, alphas


class CrfDecodeForwardRnnCell(RNNCell):
    """Scores of the best sequences by their last tags, and the tags before (`tf.contrib.crf`).

    Args:
        transition_params: [tags, tags].
    """

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transitions = expand_dims(convert_to_tensor(transition_params), 0)
        self._tags = self._transitions.shape.as_list()[1]

    @property
    def state_size(self) -> Any:
        return self._tags

    @property
    def output_size(self) -> Any:
        return self._tags

    def call(self, inputs: Any, state: Any) -> Any:
        candidates = expand_dims(state, 2) + self._transitions
        best = inputs + reduce_max(candidates, [1])
        return cast(argmax(candidates, 1), dtypes.int32), best


class CrfDecodeBackwardRnnCell(RNNCell):
    """The tag before each place of the best sequence (`tf.contrib.crf.CrfDecodeBackwardRnnCell`).

    Args:
        num_tags: number of tags.
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._tags = num_tags

    @property
    def state_size(self) -> Any:
        return 1

    @property
    def output_size(self) -> Any:
        return 1

    def call(self, inputs: Any, state: Any) -> Any:
        chosen = one_hot(squeeze(state, [1]), self._tags, dtype=inputs.dtype)
        before = expand_dims(reduce_sum(inputs * chosen, -1), -1)
        return before, before


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Tensor, Tensor]:
    """The best sequences of tags, by Viterbi's algorithm (`tf.contrib.crf.crf_decode`).

    Args:
        potentials: scores of the tags at each place, [batch, time, tags].
        transition_params: scores of one tag after another, [tags, tags].
        sequence_length: [batch].

    Returns:
        The tags, [batch, time] of int32, 0 beyond the lengths, and the scores, [batch].
    """
    potentials = convert_to_tensor(potentials)
    lengths = cast(convert_to_tensor(sequence_length), dtypes.int32)
    first = potentials[:, 0]
    if potentials.shape.as_list()[1] == 1:
        return cast(expand_dims(argmax(first, 1), 1), dtypes.int32), reduce_max(first, [1])
    tags = potentials.shape.as_list()[2]
    further = maximum(0, lengths - 1)
    with variable_scope("crf_fwd"):
        before, scores = dynamic_rnn(
            CrfDecodeForwardRnnCell(transition_params),
            potentials[:, 1:],
            sequence_length=further,
            initial_state=first,
            dtype=dtypes.int32,
        )
    last = expand_dims(cast(argmax(scores, 1), dtypes.int32), 1)
    with variable_scope("crf_bwd"):
        found, _ = dynamic_rnn(
            CrfDecodeBackwardRnnCell(tags),
            reverse_sequence(before, further, seq_axis=1),
            sequence_length=further,
            initial_state=last,
            dtype=dtypes.int32,
        )
    backwards = concat([last, squeeze(found, [2])], 1)
    return reverse_sequence(backwards, lengths, seq_axis=1), reduce_max(scores, 1)


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """The best sequence of tags, computed with NumPy (`tf.contrib.crf.viterbi_decode`).

    Args:
        score: scores of the tags at each place, an array [time, tags].
        transition_params: scores of one tag after another, an array [tags, tags].

    Returns:
        The tags, and the score.
    """
    best = np.asarray(score[0])
    before = []
    for scores in score[1:]:
        candidates = best[:, None] + transition_params
        before.append(np.argmax(candidates, 0))
        best = scores + np.max(candidates, 0)
    path = [int(np.argmax(best))]
    for places in reversed(before):
        path.append(int(places[path[-1]]))
    return path[::-1], np.max(best)
