"""Training on GPUs of the stand-in: the CPU's numbers, and nothing but feeds and fetches on the bus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.gpu.strict_array import Counters, Machine

Gpus = Callable[..., Machine]
Model = Callable[[], tuple[tf.Tensor, dict[tf.Tensor, Any]]]

STEPS = 3


def _values(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _weights(name: str, *shape: int) -> tf.Variable:
    return tf.get_variable(name, initializer=_values(*shape, seed=len(name)) * np.float32(0.3))


def mlp(seed: int | None = 3) -> tuple[tf.Tensor, dict[tf.Tensor, Any]]:
    x, labels = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int64, [None])
    hidden = tf.nn.dropout(tf.nn.relu(tf.matmul(x, _weights("w1", 6, 8)) + _weights("b1", 8)), 0.8, seed=seed)
    logits = tf.nn.bias_add(tf.matmul(hidden, _weights("w2", 8, 4)), _weights("b2", 4))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss + 1e-3 * tf.nn.l2_loss(logits), {x: _values(5, 6), labels: np.array([0, 1, 2, 3, 0])}


def cnn() -> tuple[tf.Tensor, dict[tf.Tensor, Any]]:
    images, labels = tf.placeholder(tf.float32, [None, 12, 12, 1]), tf.placeholder(tf.float32, [None, 3])
    x = tf.nn.conv2d(images, _weights("c1", 3, 3, 1, 4), [1, 1, 1, 1], "SAME")
    x, _, _ = tf.nn.fused_batch_norm(x, _weights("scale", 4), _weights("offset", 4))
    x = tf.nn.max_pool(tf.nn.relu(x), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    x = tf.nn.relu(tf.nn.conv2d(x, _weights("conv2", 5, 5, 4, 4), [1, 1, 1, 1], "VALID"))
    logits = tf.matmul(tf.reshape(x, [-1, 2 * 2 * 4]), _weights("dense", 16, 3))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {images: _values(4, 12, 12, 1), labels: np.eye(3, dtype=np.float32)[[0, 1, 2, 0]]}


def lstm() -> tuple[tf.Tensor, dict[tf.Tensor, Any]]:
    x, target = tf.placeholder(tf.float32, [3, 5, 4]), tf.placeholder(tf.float32, [3, 6])
    with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.1)):
        cell = tf.nn.rnn_cell.LSTMCell(6)
        outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
    return tf.reduce_mean(tf.square(outputs[-1] - target)), {x: _values(3, 5, 4), target: _values(3, 6)}


def dynamic_lstm() -> tuple[tf.Tensor, dict[tf.Tensor, Any]]:
    x, target = tf.placeholder(tf.float32, [3, 5, 4]), tf.placeholder(tf.float32, [3, 6])
    with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.1)):
        cell = tf.nn.rnn_cell.LSTMCell(6)
        _, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    return tf.reduce_mean(tf.square(state.h - target)), {x: _values(3, 5, 4), target: _values(3, 6)}


OPTIMIZERS: dict[str, Callable[[], tf.train.Optimizer]] = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "centered rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
}


def _train(
    model: Model, optimizer: str, gpus: int, machine: Machine | None = None
) -> tuple[list[Any], Any, Counters]:
    """The losses and the variables after some steps, and what the last step copied, where that is counted."""
    with tf.Graph().as_default():
        loss, feeds = model()
        step = tf.train.get_or_create_global_step()
        train = OPTIMIZERS[optimizer]().minimize(loss, step)
        config = tf.ConfigProto(device_count={"GPU": gpus})
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            losses = []
            for _ in range(STEPS):
                if machine is not None:
                    machine.counters = Counters()
                losses.append(session.run([loss, train], feeds)[0])
            counters = Counters()
            if machine is not None:
                counters, machine.counters = machine.counters, counters
            return losses, session.run(tf.global_variables()), counters


@pytest.mark.parametrize("model", [mlp, cnn, lstm, dynamic_lstm])
def test_a_model_trains_as_on_the_cpu(gpus: Gpus, model: Model) -> None:
    gpus()
    losses, variables, _ = _train(model, "momentum", 1)
    expected, expected_variables, _ = _train(model, "momentum", 0)
    np.testing.assert_allclose(losses, expected, 1e-4)
    for found, wanted in zip(variables, expected_variables, strict=True):
        np.testing.assert_allclose(found, wanted, 1e-3, 1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_waits_for_nothing(gpus: Gpus, optimizer: str) -> None:
    """Its numbers are read where they are, such as the powers of Adam's betas on the device."""
    machine = gpus()
    _, _, counters = _train(mlp, optimizer, 1, machine)
    assert (counters.to_host, counters.synchronizations) == ([()], 1)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_does_as_on_the_cpu(gpus: Gpus, optimizer: str) -> None:
    gpus()
    losses, variables, _ = _train(mlp, optimizer, 1)
    expected, expected_variables, _ = _train(mlp, optimizer, 0)
    np.testing.assert_allclose(losses, expected, 1e-4)
    for found, wanted in zip(variables, expected_variables, strict=True):
        np.testing.assert_allclose(found, wanted, 1e-3, 1e-5)


def unseeded_mlp() -> tuple[tf.Tensor, dict[tf.Tensor, Any]]:
    return mlp(seed=None)


@pytest.mark.parametrize("model", [unseeded_mlp, cnn, lstm, dynamic_lstm])
def test_a_step_copies_its_feeds_and_fetches_alone(gpus: Gpus, model: Model) -> None:
    machine = gpus()
    with tf.Graph().as_default():
        _, feeds = model()
        shapes = sorted(np.shape(value) for value in feeds.values())
    _, _, counters = _train(model, "momentum", 1, machine)
    assert sorted(shape for shape in counters.to_device if shape) == shapes
    assert counters.to_host == [()]
    assert counters.synchronizations == 1
    # Numbers that are made of shapes, such as that of the elements that a mean divides by.
    assert counters.to_device.count(()) <= 2
