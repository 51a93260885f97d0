"""K-means, scaled losses, and the loops of `tf.contrib.training`."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.contrib import clustering

contrib = tf.contrib
RNG = np.random.default_rng(5)
CENTERS = np.array([[0.0, 0.0], [8.0, 8.0], [0.0, 8.0]], "f")
POINTS = np.concatenate([center + 0.3 * RNG.normal(size=(20, 2)) for center in CENTERS]).astype("f")


def nearest(found: Any) -> Any:
    return found[np.argsort(found.sum(1) + 0.1 * found[:, 0])]


@pytest.mark.parametrize("mini_batch", [True, False])
@pytest.mark.parametrize("begin", ["kmeans_plus_plus", "centers"])
def test_the_graph_of_k_means(mini_batch: bool, begin: str) -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    kmeans = contrib.factorization.KMeans(
        x,
        3,
        initial_clusters=begin if begin != "centers" else CENTERS + 1.0,
        use_mini_batch=mini_batch,
        random_seed=1,
    )
    all_scores, index, scores, initialized, init_op, train_op = kmeans.training_graph()
    (centers,) = (v for v in tf.global_variables() if v.op.name == "clusters")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer(), {x: POINTS})
        assert not session.run(initialized)
        session.run(init_op, {x: POINTS})
        assert session.run(initialized)
        for _ in range(8):
            session.run(train_op, {x: POINTS})
        session.run(init_op, {x: POINTS})  # does nothing a second time
        values = session.run([centers, index[0], scores[0], all_scores[0]], {x: POINTS})
    means = np.stack([POINTS[20 * n : 20 * n + 20].mean(0) for n in range(3)])
    np.testing.assert_allclose(
        nearest(values[0]), nearest(means), rtol=1e-3, atol=0.3 if mini_batch else 1e-4
    )
    assert [len(set(values[1][20 * n : 20 * n + 20])) for n in range(3)] == [1, 1, 1]
    np.testing.assert_allclose(values[2], values[3].min(1), rtol=1e-5)


def test_k_means_by_the_cosine() -> None:
    angles = np.concatenate([0.1 * RNG.normal(size=20), 1.5 + 0.1 * RNG.normal(size=20)])
    points = np.stack([np.cos(angles), np.sin(angles)], 1) * RNG.uniform(1, 9, size=(40, 1))
    x = tf.constant(points, tf.float32)
    kmeans = contrib.factorization.KMeans(x, 2, "kmeans_plus_plus", "cosine")
    _, index, _, _, init_op, train_op = kmeans.training_graph()
    (centers,) = (v for v in tf.global_variables() if v.op.name == "clusters")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(init_op)
        for _ in range(4):
            session.run(train_op)
        found, members = session.run([centers, index[0]])
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)
    assert len(set(members[:20])) == len(set(members[20:])) == 1
    with pytest.raises(ValueError, match="distance metric"):
        contrib.factorization.KMeans(x, 2, distance_metric="city")


def test_the_estimator_of_k_means(tmp_path: Path) -> None:
    def input_fn() -> Any:
        return tf.train.limit_epochs(tf.constant(POINTS), num_epochs=1)

    kmeans = contrib.factorization.KMeansClustering(
        3, str(tmp_path), initial_clusters="kmeans_plus_plus", use_mini_batch=False, relative_tolerance=1e-4
    )
    kmeans.train(lambda: tf.constant(POINTS), steps=12)
    means = np.stack([POINTS[20 * n : 20 * n + 20].mean(0) for n in range(3)])
    np.testing.assert_allclose(nearest(kmeans.cluster_centers()), nearest(means), rtol=1e-3, atol=1e-3)
    expected = sum(((POINTS[20 * n : 20 * n + 20] - means[n]) ** 2).sum() for n in range(3))
    np.testing.assert_allclose(kmeans.score(input_fn), expected, rtol=1e-3)
    found = list(kmeans.predict_cluster_index(input_fn))
    assert (len(found), len(set(found[:20])), len(set(found))) == (60, 1, 3)


def test_k_means_goes_on_over_trainings_of_one_batch_each(tmp_path: Path) -> None:
    """The first training makes the centers of its only batch, and no step; each one after that makes one."""
    kmeans = contrib.factorization.KMeansClustering(3, str(tmp_path), use_mini_batch=False)
    steps = []
    for _ in range(3):
        kmeans.train(lambda: tf.train.limit_epochs(tf.constant(POINTS), num_epochs=1))
        steps.append(int(kmeans.get_variable_value("global_step")))
        if len(steps) == 1:
            rows = {tuple(row) for row in kmeans.cluster_centers()}
            assert len(rows) == 3
            assert rows < {tuple(row) for row in POINTS}
    assert steps == [0, 1, 2]
    assert not {tuple(row) for row in kmeans.cluster_centers()} & rows


def test_the_first_centers_of_k_means_come_from_a_dataset(tmp_path: Path) -> None:
    kmeans = contrib.factorization.KMeansClustering(3, str(tmp_path), use_mini_batch=False)
    kmeans.train(lambda: tf.data.Dataset.from_tensors(tf.constant(POINTS)).repeat(4))
    assert int(kmeans.get_variable_value("global_step")) == 3
    assert len({tuple(row) for row in kmeans.cluster_centers()}) == 3


def test_a_worker_waits_for_the_first_centers_of_k_means() -> None:
    initialized = tf.Variable(False)
    hook = clustering._AwaitCenters(initialized, 30.0)
    hook.PAUSE = 0.01
    with tf.Session() as session:
        session.run(initialized.initializer)
        chief = threading.Timer(0.05, session.run, [initialized.assign(True)])
        chief.start()
        hook.after_create_session(session, None)
        assert session.run(initialized)
        chief.join(30)
        session.run(initialized.assign(False))
        hook = clustering._AwaitCenters(initialized, 0.0)
        hook.PAUSE = 0.01
        with pytest.raises(tf.errors.DeadlineExceededError, match="has not made the first centers"):
            hook.after_create_session(session, None)


def test_a_scale_of_losses_grows_and_shrinks() -> None:
    manager = contrib.mixed_precision.ExponentialUpdateLossScaleManager(
        8.0, incr_every_n_steps=2, decr_every_n_nan_or_inf=1, decr_ratio=0.5
    )
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    factor = tf.placeholder(tf.float32, [])
    optimizer = contrib.mixed_precision.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), manager)
    step = tf.train.get_or_create_global_step()
    pairs = optimizer.compute_gradients(v * factor)
    train = optimizer.apply_gradients(pairs, step)
    scale = manager.get_loss_scale()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(pairs[0][0], {factor: 3.0}) == 3.0  # not scaled any more
        seen = []
        for value in (1.0, 1.0, np.inf, 1.0):
            session.run(train, {factor: value})
            seen.append((float(session.run(v)), float(session.run(scale)), int(session.run(step))))
    assert seen == [(0.5, 8.0, 1), (0.0, 16.0, 2), (0.0, 8.0, 2), (-0.5, 8.0, 3)]
    with pytest.raises(ValueError, match="at least 1"):
        contrib.mixed_precision.FixedLossScaleManager(0.5)


def test_training_and_evaluations_with_hooks(tmp_path: Path) -> None:
    training = contrib.training
    directory = str(tmp_path / "model")
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=4.0)
        train_op = training.create_train_op(tf.square(v), tf.train.GradientDescentOptimizer(0.25))
        hooks = [tf.train.StopAtStepHook(3)]
        loss = training.train(train_op, directory, hooks=hooks, save_summaries_steps=None)
        assert loss == 1.0
        with pytest.raises(ValueError, match="logdir cannot be None"):
            training.train(train_op, None)
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=0.0)
        tf.train.get_or_create_global_step()
        value, update = tf.metrics.mean(v)
        tf.summary.scalar("mean", value)
        logs = str(tmp_path / "logs")
        found = training.evaluate_once(
            tf.train.latest_checkpoint(directory),
            eval_ops=update,
            final_ops={"mean": value},
            hooks=[training.StopAfterNEvalsHook(2), training.SummaryAtEndHook(logs)],
        )
        assert found == {"mean": 0.5}
        again = training.evaluate_repeatedly(
            directory,
            eval_ops=update,
            final_ops=value,
            hooks=[training.StopAfterNEvalsHook(1)],
            max_number_of_evaluations=1,
        )
        assert again == 0.5
    [events] = tf.gfile.Glob(f"{logs}/*tfevents*")
    written = [v.simple_value for event in tf.train.summary_iterator(events) for v in event.summary.value]
    assert written == [0.5]


def test_evaluations_of_one_checkpoint_after_another(tmp_path: Path) -> None:
    training = contrib.training
    prefix = str(tmp_path / "model")

    class SaveNext(tf.train.SessionRunHook):
        def __init__(self) -> None:
            self.written = 0

        def end(self, session: Any) -> None:
            self.written += 1
            saver.save(session, prefix, global_step=self.written)

    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=4.0)
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(v.initializer)
            saver.save(session, prefix, global_step=0)
        count = training.get_or_create_eval_step()
        saving = SaveNext()
        found = training.evaluate_repeatedly(
            str(tmp_path),
            eval_ops={"v": v},
            final_ops=[v, count],
            eval_interval_secs=0,
            hooks=[training.StopAfterNEvalsHook(3, False), saving],
            max_number_of_evaluations=2,
            timeout=60,
        )
        assert (saving.written, list(found)) == (2, [4.0, 3])
    with tf.Graph().as_default():
        value = tf.get_variable("v", initializer=1.0)
        assert training.evaluate_once(None, final_ops=value) == 1.0  # without eval_ops no step is run


@pytest.mark.parametrize("retries", [2, -1])
def test_first_centers_are_the_best_of_several_drawn_points(retries: int) -> None:
    """Of eight clusters far apart each gets one, which single draws miss for one seed in three."""
    rng = np.random.RandomState(0)
    means = rng.uniform(-50, 50, [8, 2])
    points = (np.repeat(means, 75, 0) + rng.normal(size=(600, 2))).astype(np.float32)
    for seed in range(1, 9):
        with tf.Graph().as_default(), tf.Session() as session:
            made = contrib.factorization.KMeans(
                tf.constant(points),
                8,
                "kmeans_plus_plus",
                random_seed=seed,
                kmeans_plus_plus_num_retries=retries,
            ).training_graph()
            session.run(tf.global_variables_initializer())
            session.run(made[-2])
            indices = session.run(made[1][0])
        assert {frozenset(indices[i : i + 75]) for i in range(0, 600, 75)} == {
            frozenset([i]) for i in range(8)
        }
