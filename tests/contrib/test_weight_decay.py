"""Optimizers with decoupled weight decay, against the formulas of Loshchilov and Hutter's two algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

STEPS, DECAY = 12, 0.02
START = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
GRADIENTS = [np.random.default_rng(step + 9).normal(size=(4, 3)).astype(np.float32) for step in range(STEPS)]


def adam_w(lr: float, beta1: float, beta2: float, epsilon: float) -> np.ndarray:
    w, m, v = START.astype(np.float64), 0.0, 0.0
    for t, g in enumerate(GRADIENTS, 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        # TensorFlow's Adam adds epsilon before the moments are corrected.
        step = lr * np.sqrt(1 - beta2**t) / (1 - beta1**t) * m / (np.sqrt(v) + epsilon)
        w = w - step - DECAY * w
    return w


def momentum_w(lr: float, momentum: float) -> np.ndarray:
    w, a = START.astype(np.float64), 0.0
    for g in GRADIENTS:
        a = momentum * a + g
        w = w - lr * a - DECAY * w
    return w


def trained(optimizer: Any, use_resource: bool = False, **more: Any) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(START, use_resource=use_resource)
        grad = tf.placeholder(tf.float32, START.shape)
        step = optimizer().apply_gradients([(grad, variable)], **more)
        session.run(tf.global_variables_initializer())
        for g in GRADIENTS:
            session.run(step, {grad: g})
        return np.asarray(session.run(variable))


@pytest.mark.parametrize("use_resource", [False, True])
def test_adam_w(use_resource: bool) -> None:
    got = trained(lambda: tf.contrib.opt.AdamWOptimizer(DECAY, 0.05, 0.8, 0.95), use_resource)
    np.testing.assert_allclose(got, adam_w(0.05, 0.8, 0.95, 1e-8), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("use_resource", [False, True])
def test_momentum_w(use_resource: bool) -> None:
    got = trained(lambda: tf.contrib.opt.MomentumWOptimizer(DECAY, 0.05, 0.9), use_resource)
    np.testing.assert_allclose(got, momentum_w(0.05, 0.9), rtol=1e-4, atol=1e-5)


def test_an_extended_optimizer() -> None:
    made = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)
    got = trained(lambda: made(DECAY, learning_rate=0.1))
    w = START.astype(np.float64)
    for g in GRADIENTS:
        w = w - 0.1 * g - DECAY * w
    np.testing.assert_allclose(got, w, rtol=1e-4, atol=1e-5)


def test_a_decay_that_follows_the_learning_rate() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        count = tf.train.create_global_step()
        rate = tf.train.piecewise_constant(count, [1], [1.0, 0.5])
        variable = tf.Variable([8.0])
        optimizer = tf.contrib.opt.MomentumWOptimizer(0.1 * rate, 1.0 * rate, 0.0)
        step = optimizer.apply_gradients([(tf.zeros([1]), variable)], global_step=count)
        session.run(tf.global_variables_initializer())
        values = []
        for _ in range(3):
            session.run(step)
            values.append(session.run(variable)[0])
    np.testing.assert_allclose(values, [8 * 0.9, 8 * 0.9**2, 8 * 0.9**2 * 0.95], rtol=1e-6)


def test_only_the_listed_variables_decay() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        weights, bias = tf.Variable([2.0], name="w"), tf.Variable([2.0], name="b")
        loss = tf.reduce_sum(0.0 * weights + 0.0 * bias)
        optimizer = tf.contrib.opt.AdamWOptimizer(0.25)
        step = optimizer.minimize(loss, decay_var_list=[weights])
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run([weights, bias]) == [[1.5], [2.0]]


@pytest.mark.parametrize("use_resource", [False, True])
def test_sparse_gradients_decay_their_rows(use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(np.ones((4, 2), np.float32), use_resource=use_resource)
        rows = tf.gather(table, [2, 0, 2])
        optimizer = tf.contrib.opt.MomentumWOptimizer(0.5, 0.1, 0.0)
        step = optimizer.minimize(tf.reduce_sum(rows))
        session.run(tf.global_variables_initializer())
        session.run(step)
        expected = [[0.4, 0.4], [1, 1], [0.3, 0.3], [1, 1]]
        np.testing.assert_allclose(session.run(table), expected, rtol=1e-6)


def test_gradients_are_taken_before_the_decay() -> None:
    """The gradient of w² at 1 is 2, whatever the decay makes of w meanwhile."""
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(1.0)
        step = tf.contrib.opt.MomentumWOptimizer(0.5, 0.1, 0.0).minimize(variable * variable)
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(variable) == pytest.approx(0.5 - 0.2)


def names(optimizer: Callable[[], Any]) -> list[str]:
    with tf.Graph().as_default():
        variable = tf.Variable([1.0], name="w")
        made = optimizer().minimize(tf.reduce_sum(variable))
        return [made.name, *[v.op.name for v in tf.global_variables()]]


def test_names() -> None:
    assert names(lambda: tf.contrib.opt.AdamWOptimizer(0.1)) == [
        *("AdamW", "w", "beta1_power", "beta2_power", "w/AdamW", "w/AdamW_1")
    ]
    assert names(lambda: tf.contrib.opt.MomentumWOptimizer(0.1, 0.1, 0.9)) == [
        "MomentumW",
        "w",
        "w/MomentumW",
    ]
