"""Optimizers of tf.contrib.opt against what TensorFlow 1.15.5 made of the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

opt = tf.contrib.opt
START = np.random.RandomState(1).randn(4, 3).astype(np.float32)
GRADIENTS = [np.random.RandomState(step + 9).randn(4, 3).astype(np.float32) for step in range(4)]
ROWS = np.array([2, 0])

# The first and the third row after four steps; those of dense gradients train a second variable beside.
CASES: dict[str, tuple[Callable[[Any], Any], bool, list[float]]] = {
    "adam of the global step": (
        lambda step: opt.AdamGSOptimizer(step, 0.05, 0.8, 0.95),
        False,
        [1.449926, -0.571608, -0.354156, 1.870164, -0.69122, 0.401293],
    ),
    "adam of the global step, sparse": (
        lambda step: opt.AdamGSOptimizer(step, 0.05, 0.8, 0.95),
        True,
        [1.449926, -0.571608, -0.354156, 1.870164, -0.69122, 0.401293],
    ),
    "lazy adam of the global step, sparse": (
        lambda step: opt.LazyAdamGSOptimizer(step, 0.05, 0.8, 0.95),
        True,
        [1.449926, -0.571608, -0.354156, 1.870164, -0.69122, 0.401293],
    ),
    "adagrad": (
        lambda step: opt.RegAdagradOptimizer(0.3),
        False,
        [1.032645, -0.385674, 0.037124, 2.083812, -0.651747, 0.523078],
    ),
    "ggt": (
        lambda step: opt.GGTOptimizer(0.05, 0.8, window=4, svd_eps=1e-2),
        False,
        [1.575528, -0.608763, -0.485133, 1.767511, -0.759468, 0.324545],
    ),
    "shampoo": (
        lambda step: opt.ShampooOptimizer(step, learning_rate=0.1),
        False,
        [1.443203, -0.671824, -0.280896, 1.911146, -0.714813, 0.349652],
    ),
    "shampoo, sparse": (
        lambda step: opt.ShampooOptimizer(step, learning_rate=0.1),
        True,
        [1.36401, -0.532393, -0.22192, 1.949322, -0.74542, 0.3577],
    ),
    "shampoo with momentum": (
        lambda step: opt.ShampooOptimizer(step, learning_rate=0.1, gbar_decay=0.5, mat_gbar_decay=0.9),
        False,
        [1.360918, -0.706004, -0.132581, 2.028483, -0.698464, 0.358817],
    ),
    "shampoo with a diagonal": (
        lambda step: opt.ShampooOptimizer(step, learning_rate=0.1, max_matrix_size=3),
        False,
        [1.43413, -0.606493, -0.274712, 1.926984, -0.73628, 0.368923],
    ),
    "shampoo with a diagonal, sparse": (
        lambda step: opt.ShampooOptimizer(step, learning_rate=0.1, max_matrix_size=3),
        True,
        [1.446773, -0.553353, -0.313031, 1.886882, -0.753157, 0.357705],
    ),
    "shampoo with diagonals": (
        lambda step: opt.ShampooOptimizer(step, learning_rate=0.1, max_matrix_size=2),
        False,
        [1.40165, -0.559122, -0.273574, 1.928396, -0.722474, 0.365994],
    ),
    "shampoo now and then": (
        lambda step: opt.ShampooOptimizer(step, learning_rate=0.1, svd_interval=2, precond_update_interval=2),
        False,
        [1.015556, -0.345833, -0.337956, 3.064775, -1.422544, 0.207188],
    ),
    "shampoo by iterations": (
        lambda step: opt.ShampooOptimizer(step, learning_rate=0.1, use_iterative_root=True),
        False,
        [1.443203, -0.671825, -0.280895, 1.911145, -0.714812, 0.349652],
    ),
    "shampoo by functions of the step": (
        lambda step: opt.ShampooOptimizer(
            step,
            learning_rate=lambda t: 0.1 / t,
            mat_gbar_weight=lambda t: t * 0.5,
            gbar_decay=lambda t: 0.5,
        ),
        False,
        [1.565376, -0.748378, -0.231964, 2.038495, -0.66777, 0.357348],
    ),
}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_values(case: str, use_resource: bool) -> None:
    make, sparse, expected = CASES[case]
    global_step = tf.train.get_or_create_global_step()
    v = tf.Variable(START, use_resource=use_resource, name="v")
    w = tf.Variable(START * 0.5, use_resource=use_resource, name="w")
    given = tf.placeholder(tf.float32, [2, 3] if sparse else [4, 3])
    grad = tf.IndexedSlices(given, tf.constant(ROWS), tf.constant([4, 3])) if sparse else given
    pairs = [(grad, v)] if sparse else [(grad, v), (given * 2, w)]
    train = make(global_step).apply_gradients(pairs, global_step=global_step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for gradient in GRADIENTS:
            session.run(train, {given: gradient[ROWS] if sparse else gradient})
        found = session.run(v)[[0, 2]].reshape(-1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((5,), [1.402992, -0.505893, -0.199687, -0.76695, 0.704719]),
        ((2, 3, 2), [1.457605, -0.571306, -0.313807, -0.936935, 0.835505, -2.15292, 1.867021, -0.765665]),
    ],
)
def test_shampoo_of_other_ranks(shape: tuple[int, ...], expected: list[float]) -> None:
    size = int(np.prod(shape))
    global_step = tf.train.get_or_create_global_step()
    v = tf.Variable(START.reshape(-1)[:size].reshape(shape), name="v")
    given = tf.placeholder(tf.float32, shape)
    optimizer = opt.ShampooOptimizer(global_step, learning_rate=0.1)
    train = optimizer.apply_gradients([(given, v)], global_step=global_step)
    assert optimizer.get_slot(v, "Gbar_0").name == "v/Shampoo_1:0"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for gradient in GRADIENTS:
            session.run(train, {given: gradient.reshape(-1)[:size].reshape(shape)})
        found = session.run(v).reshape(-1)[: len(expected)]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_updates_without_accumulation() -> None:
    v = tf.Variable([1.0, 1.0])
    optimizer = opt.RegAdagradOptimizer(1.0)
    grad = tf.constant([3.0, 4.0])
    with optimizer.avoid_updating_slots():
        quiet = optimizer.apply_gradients([(grad, v)])
    loud = optimizer.apply_gradients([(grad, v)])
    slot = optimizer.get_slot(v, "accumulator")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(quiet)
        np.testing.assert_allclose(session.run(slot), [0.1, 0.1])
        session.run(loud)
        np.testing.assert_allclose(session.run(slot), [9.1, 16.1], rtol=1e-6)


def test_ggt_takes_no_sparse_gradient_and_names_its_variables() -> None:
    optimizer = opt.GGTOptimizer(window=2)
    v = tf.Variable(tf.zeros([3]))
    optimizer.apply_gradients([(tf.ones([3]), v)])
    assert [each.op.name for each in optimizer.variables()] == [
        "flat_grad",
        "global_step",
        "grad_buffer",
        "moment1",
    ]
    slices = tf.IndexedSlices(tf.ones([1]), tf.constant([0]), tf.constant([3]))
    with pytest.raises(NotImplementedError):
        optimizer.apply_gradients([(slices, v)])


# The loss is x · v + x · sum(u²), with v of 10 and u of ones, and x in turn; steps are exchanged every third.
FEEDS = [1.0, 2.0, 0.5, 3.0]
EXCHANGED: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any], dict[str, Any]]] = {
    "accumulated gradients": (
        opt.AGNCustomGetter,
        lambda made, getter: opt.AGNOptimizer(made, 1, getter, communication_period=3),
        {
            "v": 9.858056,
            "u": [0.858562] * 2,
            "global_center_variable/v": 9.941887,
            "grad_variable/u": [5.651324] * 2,
            "global_step": 1,
        },
    ),
    "elastic averaging": (
        opt.ElasticAverageCustomGetter,
        lambda made, getter: opt.ElasticAverageOptimizer(
            made, 1, getter, communication_period=3, moving_rate=0.25, rho=0.1
        ),
        {
            "v": 8.908218,
            "u": [-0.366333] * 2,
            "global_center_variable/v": 9.826198,
            "local_center_variable/v": 10,
            "v/Momentum": 5.703749,
            "global_step": 1,
        },
    ),
    "model averaging": (
        opt.ModelAverageCustomGetter,
        lambda made, getter: opt.ModelAverageOptimizer(made, 1, True, getter, interval_steps=3),
        {"v": 8.7191, "u": [-0.504] * 2, "global_center_variable/v": 9.299, "global_step": 1},
    ),
}


@pytest.mark.parametrize("case", EXCHANGED)
def test_one_worker_with_variables_of_its_own(case: str) -> None:
    make_getter, build, expected = EXCHANGED[case]
    getter = make_getter("/cpu:0")
    global_step = tf.train.get_or_create_global_step()
    with tf.variable_scope("", custom_getter=getter):
        v = tf.get_variable("v", initializer=10.0)
        u = tf.get_variable("u", shape=[2], initializer=tf.ones_initializer())
    x = tf.placeholder(tf.float32, [])
    is_adam = "gradients" in case
    inner = tf.train.AdamOptimizer(0.1) if is_adam else tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer = build(inner, getter)
    step = optimizer.minimize(x * v + tf.reduce_sum(u * u) * x, global_step=global_step)
    is_model = "model" in case
    hook = optimizer.make_session_run_hook() if is_model else optimizer.make_session_run_hook(True, 0)
    hook.begin()
    if not is_model:
        slots = [each for each in tf.global_variables() if each.op.name.startswith(("v/", "u/", "beta"))]
        assert not slots, "the slots of a worker's own variables are its own, too"
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        hook.after_create_session(session, None)
        for feed in FEEDS:
            session.run(step, {x: feed})
        for name, value in expected.items():
            found = session.run(tf.get_default_graph().get_tensor_by_name(f"{name}:0"))
            np.testing.assert_allclose(found, value, rtol=1e-4, err_msg=name)


def test_getters_mirror_each_part_of_a_variable() -> None:
    getter = opt.AGNCustomGetter("/cpu:0")
    parts = tf.fixed_size_partitioner(2)
    with tf.variable_scope("", custom_getter=getter, partitioner=parts):
        v = tf.get_variable("v", [4, 2])
    assert [getter.global_of[part].op.name for part in v] == [
        "global_center_variable/v/part_0",
        "global_center_variable/v/part_1",
    ]
    with tf.variable_scope("", custom_getter=getter, partitioner=parts, reuse=True):
        tf.get_variable("v", [4, 2])
    assert len(getter.global_of) == 2


def test_a_saver_of_centers(tmp_path: Path) -> None:
    getter = opt.ElasticAverageCustomGetter("/cpu:0")
    optimizer = opt.ElasticAverageOptimizer(
        tf.train.GradientDescentOptimizer(1.0), 1, getter, communication_period=1, moving_rate=0.5
    )
    with pytest.raises(RuntimeError, match="ElasticAverageCustomGetter"):
        optimizer.swapping_saver()
    with tf.variable_scope("", custom_getter=getter):
        v = tf.get_variable("v", initializer=10.0)
    saver = optimizer.swapping_saver()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run([v.assign(1.0), getter.global_of[v].assign(2.0)])
        path = saver.save(session, str(tmp_path / "centers"))
    assert tf.train.load_checkpoint(path).get_tensor("v") == 2.0
