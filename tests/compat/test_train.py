"""Schedules, moving averages, global steps, device setters and minimize, against TensorFlow's."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as real

import tensorfleet as ours

real.disable_v2_behavior()

SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "exponential": lambda tf, s: tf.train.exponential_decay(0.1, s, 7, 0.9),
    "exponential_stairs": lambda tf, s: tf.train.exponential_decay(0.1, s, 7, 0.9, staircase=True),
    "natural": lambda tf, s: tf.train.natural_exp_decay(0.1, s, 7, 0.4),
    "inverse": lambda tf, s: tf.train.inverse_time_decay(0.1, s, 7, 0.4, staircase=True),
    "polynomial": lambda tf, s: tf.train.polynomial_decay(0.1, s, 10, power=0.5),
    "polynomial_cycle": lambda tf, s: tf.train.polynomial_decay(0.1, s, 10, cycle=True),
    "cosine": lambda tf, s: tf.train.cosine_decay(0.1, s, 20, alpha=0.1),
    "restarts": lambda tf, s: tf.train.cosine_decay_restarts(0.1, s, 4, m_mul=0.8),
    "restarts_equal": lambda tf, s: tf.train.cosine_decay_restarts(0.1, s, 4, t_mul=1.0, alpha=0.1),
    "linear_cosine": lambda tf, s: tf.train.linear_cosine_decay(0.1, s, 20, num_periods=1.5),
    "piecewise": lambda tf, s: tf.train.piecewise_constant(s, [3, 10], [1.0, 0.5, 0.1]),
    "piecewise_decay": lambda tf, s: tf.train.piecewise_constant_decay(s, [2], [1.0, 0.5]),
}


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_schedules(name: str) -> None:
    def rates(tf: Any) -> list[float]:
        with tf.Graph().as_default(), tf.Session() as session:
            step = tf.placeholder(tf.int32, [])
            rate = SCHEDULES[name](tf, step)
            return [session.run(rate, {step: i}) for i in range(25)]

    np.testing.assert_allclose(rates(ours), rates(real), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("counted", [False, True])
def test_moving_averages(counted: bool, use_resource: bool) -> None:
    def averages(tf: Any) -> tuple[list[Any], list[str], Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            w = tf.Variable([1.0, 2.0], name="w", use_resource=use_resource)
            step = tf.Variable(0, trainable=False, name="n", use_resource=use_resource)
            loss = tf.multiply(w, 2.0, name="loss")
            ema = tf.train.ExponentialMovingAverage(0.9, step if counted else None, zero_debias=True)
            assert ema.average(w) is None
            update = ema.apply([w, loss])
            names = [v.name for v in tf.global_variables()] + [update.name, ema.average_name(w)]
            names += sorted(ema.variables_to_restore()) + [v.name for v in tf.moving_average_variables()]
            session.run(tf.global_variables_initializer())
            seen = []
            for i in range(5):
                session.run(tf.assign(w, [i * 1.5, i * i]))
                session.run(tf.assign(step, i * 10))
                session.run(update)
                seen += session.run([ema.average(w).read_value(), ema.average(loss).read_value()])
            return seen, names, update.type

    got, expected = averages(ours), averages(real)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-6)
    assert got[1:] == expected[1:]


def test_global_step() -> None:
    def made(tf: Any) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            assert tf.train.get_global_step() is None
            step = tf.train.create_global_step()
            session.run(step.initializer)
            with pytest.raises(ValueError, match='"global_step" already exists'):
                tf.train.create_global_step()
            with pytest.raises(TypeError, match="does not have integer type"):
                tf.train.assert_global_step(tf.constant(1.0))
            with pytest.raises(TypeError, match="is not scalar"):
                tf.train.assert_global_step(tf.constant([1, 2]))
            assert tf.train.get_or_create_global_step() is step
            found = [step.name, step.dtype.name, step.trainable, tf.train.global_step(session, step)]
            return [*found, [len(tf.get_collection(k)) for k in ("global_step", "trainable_variables")]]

    assert made(ours) == made(real)


def test_schedules_need_a_step() -> None:
    with ours.Graph().as_default(), pytest.raises(ValueError, match="global_step is required for exp"):
        ours.train.exponential_decay(0.1, None, 3, 0.9)


SETTERS: list[dict[str, Any]] = [
    {"ps_tasks": 2},
    {"ps_tasks": 2, "worker_device": "/job:worker/task:1"},
    {
        "cluster": {"ps": ["a:1", "b:1", "c:1"], "worker": ["d:1"]},
        "worker_device": "/job:worker/task:0/gpu:0",
    },
    {"cluster": {"worker": ["d:1"]}},
    {"ps_tasks": 2, "merge_devices": False},
    {"ps_tasks": 2, "ps_device": "/job:server", "ps_ops": ["Const"]},
    {},
]


@pytest.mark.parametrize("arguments", SETTERS, ids=str)
def test_replica_device_setter(arguments: dict[str, Any]) -> None:
    def devices(tf: Any) -> dict[str, str]:
        with tf.Graph().as_default() as graph:
            with tf.device(tf.train.replica_device_setter(**arguments)):
                tf.Variable(1.0, name="a", use_resource=False)
                tf.Variable(1.0, name="b", use_resource=True)
                with tf.device("/job:other/cpu:0"):
                    tf.Variable(1.0, name="c", use_resource=False)
                with tf.device("/gpu:1"):
                    tf.Variable(1.0, name="d", use_resource=False)
                tf.constant(1, name="e")
            return {n.name: n.device for n in graph.as_graph_def().node}

    assert devices(ours) == devices(real)


def test_greedy_strategy() -> None:
    with ours.Graph().as_default():
        strategy = ours.contrib.training.GreedyLoadBalancingStrategy(
            2, ours.contrib.training.byte_size_load_fn
        )
        with ours.device(ours.train.replica_device_setter(2, ps_strategy=strategy)):
            sizes = [100, 10, 20, 80, 5]
            made = [ours.Variable(ours.zeros([n]), use_resource=n == 20) for n in sizes]
        assert [v.device for v in made] == [f"/job:ps/task:{i}" for i in (0, 1, 1, 1, 0)]


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("gate", [0, 1, 2])
def test_minimize(gate: int, use_resource: bool) -> None:
    def trained(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32))
            y = tf.constant(np.random.default_rng(1).normal(size=(20, 2)).astype(np.float32))
            w = tf.Variable(tf.zeros([3, 2]), name="w", use_resource=use_resource)
            b = tf.Variable(
                tf.zeros([2]), name="b", use_resource=use_resource, constraint=lambda v: tf.minimum(v, 0.1)
            )
            unused = tf.Variable(1.0, name="unused", use_resource=use_resource)
            loss = tf.reduce_mean(tf.square(tf.nn.bias_add(tf.matmul(x, w), b) - y))
            optimizer = tf.train.MomentumOptimizer(0.1, 0.5)
            pairs = optimizer.compute_gradients(loss, gate_gradients=gate)
            assert [g is None for g, _ in pairs] == [False, False, True]
            step = tf.train.get_or_create_global_step()
            train = optimizer.minimize(loss, step, gate_gradients=gate)
            session.run(tf.global_variables_initializer())
            for _ in range(10):
                session.run(train)
            return session.run([loss, w.read_value(), b.read_value(), unused.read_value(), step])

    for got, expected in zip(trained(ours), trained(real), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda tf, o, v: o.apply_gradients([]), ValueError),
        (lambda tf, o, v: o.apply_gradients([(None, v)]), ValueError),
        (lambda tf, o, v: o.apply_gradients([(object(), v)]), TypeError),
        (lambda tf, o, v: o.minimize(tf.constant(1.0)), ValueError),
        (lambda tf, o, v: o.minimize(tf.constant(1)), ValueError),
        (lambda tf, o, v: o.minimize(v * 2, gate_gradients=5), ValueError),
        (lambda tf, o, v: o.minimize(v * 2, var_list=[]), ValueError),
        (lambda tf, o, v: tf.train.piecewise_constant(1, [1, 2], [1.0]), ValueError),
        (lambda tf, o, v: tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.0), ValueError),
        (lambda tf, o, v: tf.train.FtrlOptimizer(0.1, learning_rate_power=1.0), ValueError),
        (lambda tf, o, v: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0), ValueError),
        (lambda tf, o, v: tf.train.GradientDescentOptimizer(0.1, name=""), ValueError),
    ],
)
def test_errors(call: Callable[..., Any], error: type[Exception]) -> None:
    def text(tf: Any) -> str:
        with tf.Graph().as_default():
            v = tf.Variable(1.0, use_resource=False)
            with pytest.raises(error) as caught:
                call(tf, tf.train.GradientDescentOptimizer(0.1), v)
            # What objects look like differs.
            return str(caught.value).partition("<")[0].partition("[")[0]

    assert text(ours)[:60] == text(real)[:60]
