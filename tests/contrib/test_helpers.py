"""The helpers of tf.contrib.seq2seq that mix given inputs with the decoder's own, and that of inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

seq2seq = tf.contrib.seq2seq
INPUTS = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
LENGTHS = [4, 2]


class Echo(tf.nn.rnn_cell.RNNCell):
    """A cell whose output is its input plus 100."""

    output_size = state_size = 3

    def call(self, inputs: Any, state: Any) -> Any:
        return inputs + 100.0, state


def outputs(helper: Any, layer: Any = None, steps: int | None = None) -> Any:
    start = tf.zeros([2, 3])
    decoder = seq2seq.BasicDecoder(Echo(), helper, start, output_layer=layer)
    final, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(final)


def test_outputs_become_inputs_with_their_probability() -> None:
    # The first sequence always takes its outputs, the second never does.
    helper = seq2seq.ScheduledOutputTrainingHelper(INPUTS, LENGTHS, [1.0, 0.0])
    final = outputs(helper)
    np.testing.assert_array_equal(final.rnn_output[0], INPUTS[0, 0] + 100.0 * np.arange(1, 5)[:, np.newaxis])
    np.testing.assert_array_equal(final.rnn_output[1, :2], INPUTS[1, :2] + 100.0)
    np.testing.assert_array_equal(final.sample_id[:, :2], [[1, 1], [0, 0]])


def test_outputs_are_changed_and_get_more_inputs() -> None:
    more = np.full((2, 4, 1), 7.0, np.float32) * np.arange(1, 5, dtype=np.float32).reshape(1, 4, 1)
    helper = seq2seq.ScheduledOutputTrainingHelper(
        INPUTS[..., :2], LENGTHS, 1.0, next_inputs_fn=lambda x: x[:, :2] * 2.0, auxiliary_inputs=more
    )
    first = [100.0, 101.0, 107.0]
    np.testing.assert_array_equal(outputs(helper).rnn_output[0, :2], [first, [300.0, 302.0, 114.0]])


def test_drawn_symbols_are_embedded() -> None:
    table = np.eye(3, dtype=np.float32) * 1000.0

    def logits(output: Any) -> Any:  # the symbol is always 2
        return output * 0.0 + [[-1e9, -1e9, 0.0]]

    helper = seq2seq.ScheduledEmbeddingTrainingHelper(INPUTS, LENGTHS, table, [1.0, 0.0])
    decoder = seq2seq.BasicDecoder(Echo(), helper, tf.zeros([2, 3]))
    finished, first, state = decoder.initialize()
    ids = helper.sample(0, logits(first), state)
    _, following, _ = helper.next_inputs(tf.constant(0), first, state, ids)
    with tf.Session() as session:
        assert session.run(ids).tolist() == [2, -1]
        assert session.run(following).tolist() == [[0.0, 0.0, 1000.0], INPUTS[1, 1].tolist()]
        assert not session.run(finished).any()


def test_probabilities_have_a_rank() -> None:
    with pytest.raises(ValueError, match="must be either a scalar or a vector"):
        seq2seq.ScheduledOutputTrainingHelper(INPUTS, LENGTHS, [[0.5]])


def test_inference_goes_on_until_the_end() -> None:
    helper = seq2seq.InferenceHelper(
        sample_fn=lambda x: x,
        sample_shape=[3],
        sample_dtype=tf.float32,
        start_inputs=INPUTS[:, 0],
        end_fn=lambda samples: samples[:, 0] > 205.0,
    )
    final = outputs(helper)
    np.testing.assert_array_equal(final.rnn_output[0, :, 0], [100.0, 200.0, 300.0])
    np.testing.assert_array_equal(final.rnn_output[1, :2, 0], [112.0, 212.0])
