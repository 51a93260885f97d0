"""Regularizers, initializers and flatten of `tf.contrib.layers` against their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

WEIGHTS = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)
L1, L2 = 6.5, 0.5 * (1 + 4 + 9 + 0.25)
layers = tf.contrib.layers


def value(regularizer: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(regularizer(tf.constant(WEIGHTS)))


def test_values() -> None:
    assert value(layers.l1_regularizer(0.5)) == pytest.approx(0.5 * L1)
    assert value(layers.l2_regularizer(0.5)) == pytest.approx(0.5 * L2)
    assert value(layers.l1_l2_regularizer(0.5, 0.25)) == pytest.approx(0.5 * L1 + 0.25 * L2)
    assert value(layers.l1_l2_regularizer(0.0, 0.25)) == pytest.approx(0.25 * L2)
    assert value(layers.l1_l2_regularizer(0.5, 0.0)) == pytest.approx(0.5 * L1)
    both = [layers.l1_regularizer(1.0), None, layers.l2_regularizer(0.0), layers.l2_regularizer(2.0)]
    assert value(layers.sum_regularizer(both)) == pytest.approx(L1 + 2 * L2)


def test_no_loss() -> None:
    assert layers.sum_regularizer([None]) is None
    with tf.Graph().as_default():
        assert layers.l1_regularizer(0.0)(tf.constant(WEIGHTS)) is None
        assert layers.sum_regularizer([layers.l2_regularizer(0.0)])(tf.constant(WEIGHTS)) is None


@pytest.mark.parametrize("make", [layers.l1_regularizer, layers.l2_regularizer])
def test_wrong_scales(make: Any) -> None:
    with pytest.raises(ValueError, match="cannot be an integer"):
        make(1)
    with pytest.raises(ValueError, match="less than 0"):
        make(-0.1)


def test_losses_of_variables_and_layers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=tf.constant(WEIGHTS), regularizer=layers.l2_regularizer(0.1))
        with tf.variable_scope("net", regularizer=layers.l1_regularizer(0.1)):
            tf.layers.dense(tf.zeros([1, 2]), 2, kernel_initializer=tf.ones_initializer(), use_bias=False)
        tf.layers.dense(
            tf.zeros([1, 2]),
            3,
            kernel_initializer=tf.ones_initializer(),
            kernel_regularizer=layers.l2_regularizer(1.0),
        )
        losses = tf.losses.get_regularization_losses()
        assert len(losses) == 3
        assert len(tf.losses.get_regularization_losses("net")) == 1
        session.run(tf.global_variables_initializer())
        assert session.run(losses) == pytest.approx([0.1 * L2, 0.4, 3.0])
        assert session.run(tf.losses.get_regularization_loss()) == pytest.approx(0.1 * L2 + 3.4)


def test_apply_regularization() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        total = layers.apply_regularization(layers.l1_regularizer(1.0), [tf.constant(WEIGHTS)] * 2)
        assert session.run(total) == pytest.approx(2 * L1)
        assert tf.losses.get_regularization_losses() == [total]
        with pytest.raises(ValueError, match="No weights"):
            layers.apply_regularization(layers.l1_regularizer(1.0))


@pytest.mark.parametrize(
    ("make", "variance", "limit"),
    [
        (lambda: layers.xavier_initializer(seed=1), 2 / 500, np.sqrt(6 / 500)),
        (lambda: layers.xavier_initializer(False, seed=1), 2 / 500, 2 * np.sqrt(1.3 * 2 / 500)),
        (lambda: layers.variance_scaling_initializer(seed=1), 2 / 200, 2 * np.sqrt(1.3 * 2 / 200)),
        (
            lambda: layers.variance_scaling_initializer(3.0, "FAN_OUT", True, seed=1),
            3 / 300,
            np.sqrt(9 / 300),
        ),
    ],
)
def test_initializers(make: Any, variance: float, limit: float) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sample = session.run(make()([200, 300]))
    assert sample.var() == pytest.approx(variance, rel=0.03)
    assert abs(sample.mean()) < 3 * np.sqrt(variance / sample.size)
    assert 0.97 * limit < abs(sample).max() <= limit


def test_wrong_initializers() -> None:
    with pytest.raises(TypeError, match="Unknown mode"):
        layers.variance_scaling_initializer(mode="fan_in")
    with pytest.raises(TypeError, match="non-floating"):
        layers.xavier_initializer(dtype=tf.int32)


def test_flatten() -> None:
    with tf.Graph().as_default():
        flat = layers.flatten(tf.placeholder(tf.float32, [None, 3, 4]), outputs_collections="outputs")
        assert flat.shape.as_list() == [None, 12]
        assert tf.get_collection("outputs") == [flat]


def test_names_of_contrib_rnn_are_those_of_rnn_cell() -> None:
    assert tf.contrib.rnn.BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell
    assert tf.contrib.rnn.static_rnn is tf.nn.static_rnn
