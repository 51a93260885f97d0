"""Optimizers against TensorFlow's: values step by step, the names of variables, and the graph."""

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

STEPS = 20
INDICES = [3, 0, 3, 1]

Make = Callable[[Any], Any]
"""From the library to an optimizer."""

OPTIMIZERS: dict[str, Make] = {
    "sgd": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "sgd_named": lambda tf: tf.train.GradientDescentOptimizer(lambda: 0.1, use_locking=True, name="Plain"),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(0.5, rho=0.9, epsilon=1e-3),
    "adam": lambda tf: tf.train.AdamOptimizer(0.05),
    "adam_scoped": lambda tf: tf.train.AdamOptimizer(0.05, 0.8, use_own_namescope_for_non_slot_vars=True),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "rmsprop_centered": lambda tf: tf.train.RMSPropOptimizer(0.01, epsilon=1e-3, centered=True),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(
        0.5, l1_regularization_strength=0.05, l2_regularization_strength=0.1
    ),
    "ftrl_power": lambda tf: tf.train.FtrlOptimizer(0.5, learning_rate_power=-0.3, accum_name="a"),
    "ftrl_shrinkage": lambda tf: tf.train.FtrlOptimizer(
        0.5, l2_shrinkage_regularization_strength=0.2, l1_regularization_strength=0.05
    ),
    "ftrl_beta": lambda tf: tf.train.FtrlOptimizer(0.5, beta=0.3),
    "proximal": lambda tf: tf.train.ProximalGradientDescentOptimizer(
        0.1, l1_regularization_strength=0.02, l2_regularization_strength=0.1
    ),
    "proximal_adagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.02),
}


def gradients(step: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(step)
    return {
        "w_grad:0": generator.normal(size=(5, 3)).astype(np.float32),
        "b_grad:0": generator.normal(size=3).astype(np.float32),
        "rows:0": generator.normal(size=(len(INDICES), 3)).astype(np.float32),
    }


def slices(tf: Any) -> Any:
    from tensorfleet.ops.array.indexed_slices import IndexedSlices

    return IndexedSlices if tf is ours else tf.IndexedSlices


class Trained:
    """The outcome of `STEPS` steps in one library."""

    def __init__(self, tf: Any, make: Make, use_resource: bool, sparse: bool) -> None:
        with tf.Graph().as_default() as graph, tf.Session() as session:
            start = np.random.default_rng(99).normal(size=(5, 3)).astype(np.float32)
            w = tf.Variable(start, name="w", use_resource=use_resource)
            with tf.variable_scope("layer"):
                b = tf.get_variable("b", [3], initializer=tf.zeros_initializer(), use_resource=use_resource)
            w_grad = tf.placeholder(tf.float32, [5, 3], name="w_grad")
            b_grad = tf.placeholder(tf.float32, [3], name="b_grad")
            rows = tf.placeholder(tf.float32, [len(INDICES), 3], name="rows")
            step = tf.train.get_or_create_global_step()
            w_gradient = slices(tf)(rows, tf.constant(INDICES), tf.constant([5, 3])) if sparse else w_grad
            optimizer = make(tf)
            train = optimizer.apply_gradients([(w_gradient, w), (b_grad, b)], global_step=step)
            self.name = train.name
            self.names = [v.name for v in tf.global_variables()]
            self.own_names = [v.name for v in optimizer.variables()]
            self.slots = {n: optimizer.get_slot(b, n).name for n in optimizer.get_slot_names()}
            self.collected = [op.name for op in tf.get_collection("train_op")]
            session.run(tf.global_variables_initializer())
            self.values = []
            for i in range(STEPS):
                session.run(train, gradients(i))
                self.values.append(session.run([v.read_value() for v in (w, b)]))
            self.final = session.run(dict(zip(self.names, tf.global_variables(), strict=True)))
            self.nodes = [(n.name, n.op, list(n.input)) for n in graph.as_graph_def().node]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_twenty_steps(name: str, use_resource: bool, sparse: bool) -> None:
    got = Trained(ours, OPTIMIZERS[name], use_resource, sparse)
    expected = Trained(real, OPTIMIZERS[name], use_resource, sparse)
    assert got.names == expected.names
    assert got.own_names == expected.own_names
    assert got.slots == expected.slots
    assert (got.name, got.collected) == (expected.name, expected.collected)
    for step in range(STEPS):
        for a, b in zip(got.values[step], expected.values[step], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6, err_msg=f"step {step}")
    for key, value in expected.final.items():
        np.testing.assert_allclose(got.final[key], value, rtol=1e-6, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("name", ["sgd", "momentum", "adagrad", "adam", "rmsprop", "ftrl"])
def test_update_nodes(name: str, use_resource: bool) -> None:
    def updates(tf: Any) -> list[tuple[str, str, list[str]]]:
        found = Trained(tf, OPTIMIZERS[name], use_resource, False)
        return [node for node in found.nodes if node[0].startswith(found.name)]

    assert updates(ours) == updates(real)
