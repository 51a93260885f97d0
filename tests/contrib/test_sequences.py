"""`tf.contrib.seq2seq.sequence_loss` against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

RNG = np.random.default_rng(1)
LOGITS = RNG.normal(size=(2, 3, 4)).astype(np.float32)
TARGETS = np.array([[0, 3, 1], [2, 2, 0]])
WEIGHTS = np.array([[1, 1, 0], [1, 0.5, 2]], np.float32)


def entropies() -> Any:
    normed = LOGITS - np.log(np.exp(LOGITS).sum(-1, keepdims=True))
    return -np.take_along_axis(normed, TARGETS[..., None], -1)[..., 0] * WEIGHTS


@pytest.mark.parametrize(("time", "batch"), [(True, True), (True, False), (False, True), (False, False)])
def test_means_are_weighted(time: bool, batch: bool) -> None:
    axes = tuple(axis for axis, mean in enumerate((batch, time)) if mean)
    expected = entropies().sum(axes) / WEIGHTS.sum(axes) if axes else entropies()
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.contrib.seq2seq.sequence_loss(LOGITS, TARGETS, WEIGHTS, time, batch)
        np.testing.assert_allclose(session.run(loss), expected, rtol=1e-5)


def test_a_batch_without_weight_costs_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.contrib.seq2seq.sequence_loss(LOGITS, TARGETS, np.zeros_like(WEIGHTS))
        assert session.run(loss) == 0


def test_another_function_gives_the_losses() -> None:
    def squares(labels: Any, logits: Any) -> Any:
        return tf.square(tf.cast(labels, tf.float32))

    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.contrib.seq2seq.sequence_loss(LOGITS, TARGETS, WEIGHTS, False, False, squares)
        np.testing.assert_array_equal(session.run(loss), TARGETS**2 * WEIGHTS)


def test_ranks_are_checked() -> None:
    with pytest.raises(ValueError, match=r"Logits must be .* not one of shape \(3, 4\)"):
        tf.contrib.seq2seq.sequence_loss(LOGITS[0], TARGETS, WEIGHTS)
    with pytest.raises(ValueError, match=r"Targets must be .* not one of shape \(3,\)"):
        tf.contrib.seq2seq.sequence_loss(LOGITS, TARGETS[0], WEIGHTS)


def test_the_older_names_of_the_global_step_and_of_tables() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.contrib.framework.get_or_create_global_step()
        assert step is tf.train.get_global_step()
        ready = tf.Variable(0, trainable=False)
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, tf.assign(ready, 1).op)
        session.run(tf.global_variables_initializer())
        session.run(tf.tables_initializer())
        assert session.run(ready) == 1
    with tf.Graph().as_default():
        assert tf.initialize_all_tables().name == "init_all_tables"
