"""The further optimizers of tf.contrib.opt, against their formulas."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

opt = tf.contrib.opt
STEPS = 5
START = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
GRADIENTS = [np.random.default_rng(step + 9).normal(size=(4, 3)).astype(np.float32) for step in range(STEPS)]
ROWS = np.array([2, 0])


def trained(optimizer: Any, use_resource: bool, sparse: bool = False) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(START, use_resource=use_resource)
        grad = tf.placeholder(tf.float32, [None, 3])
        given = tf.IndexedSlices(grad, tf.constant(ROWS), tf.constant([4, 3])) if sparse else grad
        global_step = tf.train.get_or_create_global_step()
        step = optimizer().apply_gradients([(given, variable)], global_step=global_step)
        session.run(tf.global_variables_initializer())
        for g in GRADIENTS:
            session.run(step, {grad: g[ROWS] if sparse else g})
        return np.asarray(session.run(variable))


def adam_like(kind: str, sparse: bool) -> np.ndarray:
    rate, b1, b2, eps = 0.05, 0.8, 0.95, 1e-8
    w, m, v = START.astype(np.float64), np.zeros((4, 3)), np.zeros((4, 3))
    at: Any = ROWS if sparse else slice(None)
    for t, full in enumerate(GRADIENTS, 1):
        g = full[at]
        if kind == "nadam" and sparse:
            m, v = m * b1, v * b2
            m[at], v[at] = m[at] + (1 - b1) * g, v[at] + (1 - b2) * g * g
        else:
            m[at] = b1 * m[at] + (1 - b1) * g
            v[at] = np.maximum(b2 * v[at], abs(g)) if kind == "adamax" else b2 * v[at] + (1 - b2) * g * g
        corrected = rate / (1 - b1**t)
        if kind == "adamax":
            w[at] -= corrected * m[at] / (v[at] + eps)
        else:
            ahead = b1 * m[at] + (1 - b1) * g if kind == "nadam" else m[at]
            w[at] -= corrected * np.sqrt(1 - b2**t) * ahead / (np.sqrt(v[at]) + eps)
    return w


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        pytest.param("adamax", opt.AdaMaxOptimizer, id="adamax"),
        pytest.param("nadam", opt.NadamOptimizer, id="nadam"),
        pytest.param("lazy", opt.LazyAdamOptimizer, id="lazy"),
    ],
)
def test_variants_of_adam(kind: str, cls: Any, sparse: bool, use_resource: bool) -> None:
    got = trained(lambda: cls(0.05, 0.8, 0.95), use_resource, sparse)
    np.testing.assert_allclose(got, adam_like(kind, sparse), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("power", [False, True])
def test_sign_optimizers(power: bool, sparse: bool, use_resource: bool) -> None:
    decay = opt.get_linear_decay_fn(8)
    made = opt.PowerSignOptimizer if power else opt.AddSignOptimizer
    w, m = START.astype(np.float64), np.zeros((4, 3))
    for t, full in enumerate(GRADIENTS):
        g = np.zeros((4, 3))
        g[ROWS if sparse else slice(None)] = full[ROWS if sparse else slice(None)]
        m = 0.8 * m + 0.2 * g
        agree = (1 - t / 8) * np.sign(g) * np.sign(m)
        w -= 0.1 * (2.0**agree if power else 2.0 + agree) * g
    got = trained(lambda: made(0.1, 2.0, 0.8, sign_decay_fn=decay), use_resource, sparse)
    np.testing.assert_allclose(got, w, rtol=1e-4, atol=1e-5)


def test_decays_of_signs() -> None:
    with tf.Session() as session:
        values = [
            session.run(decay(tf.constant(3, tf.int64)))
            for decay in (
                opt.get_cosine_decay_fn(4, num_periods=1),
                opt.get_cosine_decay_fn(4, num_periods=1, zero_after=0.5),
                opt.get_restart_decay_fn(4, num_periods=2),
                opt.get_restart_decay_fn(4, num_periods=2, zero_after=1),
            )
        ]
    np.testing.assert_allclose(values, [0.5, 0.0, 0.5, 0.0], atol=1e-6)


@pytest.mark.parametrize("use_resource", [False, True])
def test_lars_scales_each_step_by_norms(use_resource: bool) -> None:
    w, a = START.astype(np.float64), 0.0
    for g in GRADIENTS:
        rate = 0.5 * 0.1 * np.linalg.norm(w) / (np.linalg.norm(g) + 0.01 * np.linalg.norm(w))
        # The momentum holds steps: a later rate is for the later gradient alone. Weights decay as well.
        a = 0.9 * a + rate * (g + 0.01 * w)
        w = w - a
    got = trained(lambda: opt.LARSOptimizer(0.5, 0.9, weight_decay=0.01, eeta=0.1), use_resource)
    np.testing.assert_allclose(got, w, rtol=1e-4, atol=1e-5)


def test_moving_averages_are_saved_in_place_of_variables(tmp_path: Path) -> None:
    v = tf.Variable([4.0], name="v")
    optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), average_decay=0.5)
    with pytest.raises(RuntimeError, match="Must call apply_gradients"):
        optimizer.swapping_saver()
    step = optimizer.minimize(2.0 * v)
    saver = optimizer.swapping_saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = saver.save(session, str(tmp_path / "model"))
    # 4 - 2 = 2, and the average of 4 and 2.
    assert tf.train.load_variable(path, "v") == [3.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_clipped_variables(sparse: bool) -> None:
    def clipping() -> Any:
        [variable] = tf.trainable_variables()
        return opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(0.0), {variable: [1]}, 0.5)

    got = trained(clipping, False, sparse)
    norms = np.linalg.norm(START, axis=1, keepdims=True)
    expected = START * np.minimum(1.0, 0.5 / norms)
    if sparse:
        others = [row for row in range(4) if row not in ROWS]
        expected[others] = START[others]
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_a_task_without_a_gradient_keeps_its_momentum() -> None:
    v = tf.Variable([1.0])
    grad = tf.placeholder(tf.float32, [1])
    wrapped = opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(1.0, 0.5))
    step = wrapped.apply_gradients([(grad, v)])
    pairs, norm = opt.clip_gradients_by_global_norm([(grad, v), (None, v)], 2.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for g in (1.0, 0.0, 1.0):
            session.run(step, {grad: [g]})
        # Momenta 1 and 1.5; with the zero between them it would have been 1.25.
        assert session.run(v) == [1.0 - 1.0 - 1.5]
        assert session.run([pairs[0][0], norm], {grad: [4.0]}) == [[2.0], 4.0]
        assert session.run(norm, {grad: [0.0]}) == 0.0
    assert pairs[1] == (None, v)


def test_stale_gradients_are_dropped() -> None:
    global_step = tf.train.get_or_create_global_step()
    v = tf.Variable(1.0)
    others = tf.placeholder(tf.int64, [])
    optimizer = opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(1.0), 2)
    pairs = optimizer.compute_gradients(3.0 * v)
    with tf.control_dependencies([pairs[0][0]]):
        late = tf.assign_add(global_step, others)
    with tf.control_dependencies([late]):
        pairs = [(tf.identity(pairs[0][0]), v)]
    step = optimizer.apply_gradients(pairs, global_step=global_step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(step, {others: 0}) == 0.0
        assert session.run(step, {others: 3}) == 1.0
        assert session.run(v) == -2.0


def test_elastic_averaging_moves_worker_and_center_towards_each_other() -> None:
    getter = opt.ElasticAverageCustomGetter("/cpu:0")
    with tf.variable_scope("", custom_getter=getter):
        v = tf.get_variable("v", initializer=10.0)
    optimizer = opt.ElasticAverageOptimizer(
        tf.train.GradientDescentOptimizer(1.0), 1, getter, communication_period=2, moving_rate=0.25, rho=0.0
    )
    global_step = tf.train.get_or_create_global_step()
    step = optimizer.minimize(2.0 * v, global_step=global_step)
    hook = optimizer.make_session_run_hook(is_chief=True, task_index=0)
    assert v not in tf.global_variables()
    [center] = [x for x in tf.global_variables() if "global_center" in x.name]
    hook.begin()
    with tf.Session() as session:
        session.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
        hook.after_create_session(session, None)
        session.run(step)
        assert session.run([v, center, global_step]) == [8.0, 10.0, 0]
        session.run(step)
        # 6 and 10, each moved by a quarter of the difference.
        assert session.run([v, center, global_step]) == [7.0, 9.0, 1]


def test_an_optimizer_of_another_library() -> None:
    vector = tf.Variable([7.0, 7.0])
    seen: list[Any] = []

    class Descent(opt.ExternalOptimizerInterface):
        def _minimize(self, **given: Any) -> Any:
            packed = given["initial_val"]
            for _ in range(given["optimizer_kwargs"]["steps"]):
                _, gradient = given["loss_grad_func"](packed)
                low = [bound[0] for bound in given["packed_bounds"]]
                packed = np.maximum(packed - 0.25 * gradient, low)
                given["step_callback"](packed)
            assert given["equality_funcs"][0](packed) == packed[1] - 1.0
            assert list(given["equality_grad_funcs"][0](packed)) == [0.0, 1.0]
            return packed

    made = Descent(
        tf.reduce_sum(tf.square(vector)),
        equalities=[vector[1] - 1.0],
        var_to_bounds={vector: ([1.0, 2.0], np.inf)},
        steps=6,
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made.minimize(session, fetches=[vector], loss_callback=seen.append, step_callback=lambda x: None)
        assert list(session.run(vector)) == [1.0, 2.0]
    assert list(seen[0]) == [7.0, 7.0]
    assert len(seen) == 6


def test_scipy_gets_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    vector = tf.Variable([7.0, 7.0])
    loss = tf.reduce_sum(tf.square(vector))
    made = opt.ScipyOptimizerInterface(loss, inequalities=[vector[0]], method="SLSQP", options={"maxiter": 9})

    class Result(dict):  # type: ignore[type-arg]
        message, fun = "done", 0.0

    def minimize(function: Any, initial: Any, **given: Any) -> Any:
        assert given["method"] == "SLSQP"
        assert given["options"] == {"maxiter": 9}
        assert [c["type"] for c in given["constraints"]] == ["ineq"]
        value, gradient = function(initial)
        assert value == 98.0
        assert gradient.dtype == np.float64
        return Result(x=initial - gradient / 2)

    scipy, optimize = ModuleType("scipy"), ModuleType("scipy.optimize")
    optimize.minimize = minimize  # type: ignore[attr-defined]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        monkeypatch.setitem(sys.modules, "scipy", None)  # type: ignore[arg-type]
        monkeypatch.setitem(sys.modules, "scipy.optimize", None)  # type: ignore[arg-type]
        with pytest.raises(ImportError, match="needs scipy"):
            made.minimize(session)
        monkeypatch.setitem(sys.modules, "scipy", scipy)
        monkeypatch.setitem(sys.modules, "scipy.optimize", optimize)
        made.minimize(session)
        assert list(session.run(vector)) == [0.0, 0.0]
