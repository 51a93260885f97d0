"""`tf.contrib.legacy_seq2seq`: decoders whose inputs are chosen in each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

BATCH, LENGTH, SYMBOLS, SIZE = 2, 3, 7, 4


def model(attends: bool, feed_previous: Any) -> tuple[list[Any], Any]:
    tf.set_random_seed(3)
    symbols = [tf.constant([i, i + 2]) for i in range(LENGTH)]
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(SIZE) for _ in range(2)])
    legacy: Any = tf.contrib.legacy_seq2seq
    build = legacy.embedding_attention_seq2seq if attends else legacy.embedding_rnn_seq2seq
    with tf.variable_scope("model", initializer=tf.random_uniform_initializer(-1.0, 1.0, seed=5)):
        return build(symbols, symbols, cell, SYMBOLS, SYMBOLS, SIZE, feed_previous=feed_previous)


def values(attends: bool, feed_previous: Any, fed: bool | None = None) -> dict[str, Any]:
    """The outputs, the last state, a gradient's norm, and the names of the variables."""
    with tf.Graph().as_default(), tf.Session() as session:
        chosen = tf.placeholder(tf.bool, []) if fed is not None else feed_previous
        outputs, state = model(attends, chosen)
        loss = tf.add_n([tf.reduce_sum(tf.square(output)) for output in outputs])
        norm = tf.global_norm(tf.gradients(loss, tf.trainable_variables()))
        session.run(tf.global_variables_initializer())
        feeds = {chosen: fed} if fed is not None else {}
        outputs, state, norm = session.run([outputs, state, norm], feeds)
        return {
            "outputs": np.array(outputs),
            "state": np.array(state),
            "norm": norm,
            "names": sorted(v.op.name for v in tf.global_variables()),
        }


@pytest.mark.parametrize("attends", [False, True], ids=["plain", "attention"])
def test_a_tensor_decides_what_is_fed(attends: bool) -> None:
    expected = {feeds: values(attends, feeds) for feeds in (False, True)}
    assert not np.allclose(expected[False]["outputs"], expected[True]["outputs"])
    for feeds in (False, True):
        found = values(attends, None, feeds)
        assert found["names"] == expected[feeds]["names"]
        np.testing.assert_allclose(found["outputs"], expected[feeds]["outputs"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["state"], expected[feeds]["state"], rtol=1e-5, atol=1e-6)
        if not feeds:  # what is fed back teaches the embedding nothing, if a tensor decides
            np.testing.assert_allclose(found["norm"], expected[feeds]["norm"], rtol=1e-4)
