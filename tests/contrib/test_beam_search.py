"""BeamSearchDecoder beside all sequences, and its parts beside loops over NumPy arrays."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

seq2seq = tf.contrib.seq2seq
RANDOM = np.random.RandomState(2)
SYMBOLS, STEPS, END = 4, 3, 0
# The logits of a symbol depend on the sequence, and on the symbol before.
TABLE = RANDOM.randn(2, SYMBOLS, SYMBOLS).astype(np.float32)
LOG_PROBS = TABLE - np.log(np.exp(TABLE).sum(-1, keepdims=True))


class Markov(tf.nn.rnn_cell.RNNCell):
    """Gives the logits of the table, for the sequence whose number is the state."""

    @property
    def state_size(self) -> Any:
        return 1

    @property
    def output_size(self) -> Any:
        return SYMBOLS

    def call(self, inputs: Any, state: Any) -> Any:
        before = tf.argmax(inputs, -1, output_type=tf.int32)
        return tf.gather_nd(tf.constant(TABLE), tf.stack([tf.cast(state[:, 0], tf.int32), before], 1)), state


def decode(width: int, steps: int = STEPS, **arguments: Any) -> Any:
    """The outputs, the state and the lengths of a search from symbol 1 on, over two sequences."""
    with tf.Graph().as_default(), tf.Session() as session:
        state = seq2seq.tile_batch(tf.constant([[0.0], [1.0]]), width)
        decoder = seq2seq.BeamSearchDecoder(
            Markov(), np.eye(SYMBOLS, dtype=np.float32), [1, 1], END, state, width, **arguments
        )
        outputs, final, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
        kept = (final.log_probs, final.finished, final.lengths)
        return session.run((outputs.predicted_ids, outputs.beam_search_decoder_output.scores, kept, lengths))


def all_beams(index: int, steps: int = STEPS, weight: float = 0.0) -> list[tuple[float, tuple[int, ...]]]:
    """All sequences that end, or have as many symbols, by their scores."""
    found = {}
    for symbols in product(range(SYMBOLS), repeat=steps):
        ended = symbols.index(END) + 1 if END in symbols else steps
        kept = (*symbols[:ended], *([END] * (steps - ended)))
        score = sum(LOG_PROBS[index, a, b] for a, b in pairwise((1, *symbols[:ended])))
        # As in TensorFlow, the end counts only from the step after it on.
        length = steps - 1 if END in symbols and ended == steps else ended
        found[kept] = score / ((5 + length) / 6) ** weight
    return sorted(((score, beam) for beam, score in found.items()), reverse=True)


@pytest.mark.parametrize("weight", [0.0, 0.8])
def test_wide_beams_find_the_best_of_all_sequences(weight: float) -> None:
    width = SYMBOLS**STEPS
    predicted, scores, _, _ = decode(width, length_penalty_weight=weight)
    assert predicted.dtype == np.int32
    for index in range(2):
        for place, (score, beam) in enumerate(all_beams(index, weight=weight)[:5]):
            assert tuple(predicted[index, :, place]) == beam
            np.testing.assert_allclose(scores[index, -1, place], score, rtol=1e-4)


def test_a_width_of_one_is_greedy() -> None:
    predicted, _, (log_probs, _, _), _ = decode(1, steps=6)
    for index in range(2):
        before, total = 1, 0.0
        wanted: list[int] = []
        while len(wanted) < predicted.shape[1]:
            if wanted and wanted[-1] == END:
                wanted.append(END)
                continue
            symbol = int(TABLE[index, before].argmax())
            total += LOG_PROBS[index, before, symbol]
            wanted.append(symbol)
            before = symbol
        assert predicted[index, :, 0].tolist() == wanted
        np.testing.assert_allclose(log_probs[index, 0], total, rtol=1e-5)


def test_it_ends_when_all_beams_have() -> None:
    table = TABLE.copy()
    TABLE[..., END] += 20
    try:
        predicted, _, (_, finished, lengths), _ = decode(2, steps=50)
    finally:
        TABLE[...] = table
    assert finished.all()
    assert predicted.shape[1] < 6
    assert (lengths >= 1).all()
    assert (predicted[:, 0, 0] == END).all()


def test_following_beams_to_the_end() -> None:
    ids = RANDOM.randint(1, 9, (4, 2, 3))
    parents = RANDOM.randint(0, 3, (4, 2, 3))
    ids[2, 0, 1] = 99
    lengths = [4, 3]
    wanted = np.full_like(ids, 99)
    for b in range(2):
        for beam in range(3):
            at = beam
            for time in range(lengths[b] - 1, -1, -1):
                wanted[time, b, beam] = ids[time, b, at]
                at = parents[time, b, at]
            ends = np.flatnonzero(wanted[:, b, beam] == 99)
            if len(ends):
                wanted[ends[0] :, b, beam] = 99
    with tf.Graph().as_default(), tf.Session() as session:
        found = seq2seq.gather_tree(ids, parents, lengths, 99)
        np.testing.assert_array_equal(session.run(found), wanted)


def test_values_follow_the_beams() -> None:
    values = RANDOM.randn(4, 2, 3, 5)
    parents = RANDOM.randint(0, 3, (4, 2, 3))
    lengths = np.array([[4, 4, 4], [2, 2, 2]])
    wanted = values.copy()
    for b in range(2):
        for beam in range(3):
            at = beam
            for time in range(lengths[b, 0] - 1, -1, -1):
                wanted[time, b, beam] = values[time, b, at]
                at = parents[time, b, at]
    with tf.Graph().as_default(), tf.Session() as session:
        found = seq2seq.gather_tree_from_array(values, parents, lengths)
        np.testing.assert_array_equal(session.run(found), wanted)


@pytest.mark.parametrize("coverage", [0.0, 0.4])
def test_with_attention_and_its_history(coverage: float) -> None:
    width, batch, memory_steps = 3, 2, 5
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(4)
        memory = seq2seq.tile_batch(
            tf.constant(RANDOM.randn(batch, memory_steps, 6).astype(np.float32)), width
        )
        mechanism = seq2seq.LuongAttention(6, memory)
        cell = seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.LSTMCell(6), mechanism, attention_layer_size=6, alignment_history=True
        )
        embedding = tf.get_variable("embedding", [SYMBOLS, 4])
        decoder = seq2seq.BeamSearchDecoder(
            *(cell, embedding, tf.fill([batch], 1), END, cell.zero_state(batch * width, tf.float32), width),
            output_layer=tf.layers.Dense(SYMBOLS),
            coverage_penalty_weight=coverage,
        )
        outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
        session.run(tf.global_variables_initializer())
        predicted, history, parents = session.run(
            (
                outputs.predicted_ids,
                state.cell_state.alignment_history,
                outputs.beam_search_decoder_output.parent_ids,
            )
        )
        assert predicted.shape == (batch, len(history), width)
        assert history.shape[1:] == (batch * width, memory_steps)
        np.testing.assert_allclose(history.sum(-1), 1, rtol=1e-5)
        assert ((parents >= 0) & (parents < width)).all()


def test_what_is_refused() -> None:
    with tf.Graph().as_default():
        state = tf.zeros([2, 1])
        with pytest.raises(ValueError, match="start_tokens must be a vector"):
            seq2seq.BeamSearchDecoder(Markov(), lambda x: x, 1, END, state, 2)
        with pytest.raises(ValueError, match="end_token must be a scalar"):
            seq2seq.BeamSearchDecoder(Markov(), lambda x: x, [1], [END], state, 2)
        decoder = seq2seq.BeamSearchDecoder(
            Markov(), np.eye(SYMBOLS, dtype=np.float32), [1], END, state, 2, coverage_penalty_weight=1.0
        )
        with pytest.raises(ValueError, match="AttentionWrapper"):
            seq2seq.dynamic_decode(decoder)
