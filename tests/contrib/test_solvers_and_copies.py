"""tf.contrib.solvers, tf.contrib.copy_graph, and the metrics of how two values go together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

solvers, metrics, copies = tf.contrib.solvers, tf.contrib.metrics, tf.contrib.copy_graph
RNG = np.random.default_rng(6)


def run(*tensors: Any) -> list[Any]:
    with tf.Session() as session:
        return session.run(list(tensors))  # type: ignore[no-any-return]


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_conjugate_gradients(preconditioned: bool, begins: bool) -> None:
    root = RNG.normal(size=(6, 6))
    matrix, rhs = root @ root.T + np.diag(10.0 ** np.arange(6)), RNG.normal(size=6)
    inverse = np.diag(1 / np.diag(matrix))
    found = solvers.linear_equations.conjugate_gradient(
        solvers.util.create_operator(tf.constant(matrix)),
        tf.constant(rhs),
        solvers.util.create_operator(inverse) if preconditioned else None,
        tf.constant(RNG.normal(size=6)) if begins else None,
        tol=1e-10,
        max_iter=100,
    )
    few = solvers.linear_equations.conjugate_gradient(
        solvers.util.create_operator(tf.constant(matrix)), tf.constant(rhs), max_iter=2
    )
    steps, x, r, other_steps = run(found.i, found.x, found.r, few.i)
    np.testing.assert_allclose(x, np.linalg.solve(matrix, rhs), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(r, 0, atol=1e-4)
    assert steps < (12 if preconditioned else 100)
    assert other_steps == 2


def test_least_squares() -> None:
    matrix, rhs = RNG.normal(size=(8, 3)), RNG.normal(size=8)
    found = solvers.least_squares.cgls(solvers.util.create_operator(matrix), tf.constant(rhs), tol=1e-12)
    x, r, gamma = run(found.x, found.r, found.gamma)
    expected = np.linalg.lstsq(matrix, rhs, rcond=None)[0]
    np.testing.assert_allclose(x, expected, rtol=1e-8)
    np.testing.assert_allclose(r, rhs - matrix @ expected, rtol=1e-8)
    assert gamma < 1e-12


def test_norms_of_operators() -> None:
    v = tf.constant([[3.0], [4.0]])
    zero = solvers.util.l2normalize(tf.zeros([2, 1]))
    same = solvers.util.identity_operator(tf.zeros([2, 2]))
    w = tf.constant([1 + 2j, 3j], tf.complex64)
    got = run(
        solvers.util.l2norm(v), *solvers.util.l2normalize(v), *zero, same.apply(v), solvers.util.dot(w, w)
    )
    np.testing.assert_allclose(got[0], 5)
    np.testing.assert_allclose(got[1], [[0.6], [0.8]])
    np.testing.assert_allclose(got[3], 0)
    np.testing.assert_array_equal(got[5], [[3], [4]])
    np.testing.assert_allclose(got[6], 14)


def test_operations_in_another_graph() -> None:
    with tf.Graph().as_default() as first:
        x = tf.placeholder(tf.float32, [2], name="x")
        w = tf.Variable(tf.random_normal([2]), name="w", collections=[tf.GraphKeys.GLOBAL_VARIABLES, "mine"])
        y = tf.multiply(x, w, name="y")
        more = y + 1.0
        with tf.control_dependencies([tf.no_op(name="before")]):
            z = tf.identity(more, name="z")
    other = tf.Graph()
    copied = copies.copy_variable_to_graph(w, other, "s")
    found = copies.copy_op_to_graph(z, other, [copied], "s")
    assert found.name == "s/z:0"
    assert [op.name for op in found.op.control_inputs] == ["s/before"]
    assert copies.copy_op_to_graph(z, other, [copied], "s") is found
    assert copies.get_copied_op(y, other, "s").graph is other
    assert copies.get_copied_op(w, other, "s") is copied
    with other.as_default():
        assert tf.get_collection("s/mine") == [copied]
        assert tf.trainable_variables() == [copied]
        assert tf.global_variables() == [copied]
    with tf.Session(graph=other) as session:
        session.run(copied.initializer)
        weights, value = session.run([copied, found], {"s/x:0": [2.0, 3.0]})
    np.testing.assert_allclose(value, weights * [2, 3] + 1, rtol=1e-6)
    assert first.get_operation_by_name("z") is z.op
    with pytest.raises(TypeError, match="not a Variable"):
        copies.copy_variable_to_graph(z, other)
    with pytest.raises(TypeError, match="Could not copy"):
        copies.copy_op_to_graph("z", other, [])


def streamed(metric: Any, feeds: list[Any], places: Any) -> tuple[list[Any], Any]:
    """The values of the updates, and the value at the end."""
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        updates = [session.run(metric[1], dict(zip(places, feed, strict=True))) for feed in feeds]
        return updates, session.run(metric[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_values_that_go_together(weighted: bool) -> None:
    p = (RNG.normal(size=12) + 1e3).astype("f")
    y = (0.5 * p + RNG.normal(size=12)).astype("f")
    w = RNG.integers(0, 3, size=12).astype("f") if weighted else np.ones(12, "f")
    places = [tf.placeholder(tf.float32, [None]) for _ in range(3)]
    given = (*places[:2], places[2] if weighted else None)
    feeds = [(p[s], y[s], w[s]) for s in (slice(0, 1), slice(1, 5), slice(5, 12))]
    repeats = w.astype(int)
    expected = np.cov(np.repeat(p.astype("d"), repeats), np.repeat(y.astype("d"), repeats))
    updates, value = streamed(metrics.streaming_covariance(*given), feeds, places)
    np.testing.assert_allclose([updates[-1], value], expected[0, 1], rtol=1e-3)
    if not weighted:
        assert np.isnan(updates[0])
        np.testing.assert_allclose(updates[1], np.cov(p[:5].astype("d"), y[:5].astype("d"))[0, 1], rtol=1e-3)
    updates, value = streamed(metrics.streaming_pearson_correlation(*given), feeds, places)
    correlation = expected[0, 1] / np.sqrt(expected[0, 0] * expected[1, 1])
    np.testing.assert_allclose([updates[-1], value], correlation, rtol=1e-3)
    updates, value = streamed(metrics.count(places[0], given[2]), feeds, places)
    assert [updates[-1], value] == [w.sum()] * 2


def test_agreement_beyond_chance() -> None:
    labels, found = RNG.integers(0, 3, size=(2, 40))
    found = np.where(RNG.uniform(size=40) < 0.5, labels, found)
    places = [tf.placeholder(tf.int64, [None]) for _ in range(2)]
    updates, value = streamed(
        metrics.cohen_kappa(*places, 3), [(labels[:15], found[:15]), (labels[15:], found[15:])], places
    )
    agreed = (labels == found).mean()
    chance = sum((labels == c).mean() * (found == c).mean() for c in range(3))
    np.testing.assert_allclose([updates[-1], value], (agreed - chance) / (1 - chance), rtol=1e-5)


def test_best_f1_score() -> None:
    labels = RNG.integers(0, 2, size=50)
    found = np.clip(0.3 * labels + RNG.uniform(size=50) * 0.7, 0, 1).astype("f")
    places = [tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])]
    feeds = [(labels[:20], found[:20]), (labels[20:], found[20:])]
    updates, value = streamed(metrics.f1_score(*places, num_thresholds=101), feeds, places)

    def f1(threshold: float) -> float:
        said = found > threshold
        return 2 * (said & (labels == 1)).sum() / (said.sum() + labels.sum())

    np.testing.assert_allclose([updates[-1], value], max(f1(t / 100) for t in range(100)), rtol=1e-5)


def test_sets_among_the_metrics() -> None:
    both = metrics.set_intersection(tf.constant([[1, 2, 3]]), tf.constant([[2, 3, 4]]))
    assert run(both.values, metrics.set_size(both))[0].tolist() == [2, 3]
