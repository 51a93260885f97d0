"""Mini-batches of `tf.contrib.factorization.KMeans`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf

RNG = np.random.RandomState(0)
POINTS = np.concatenate([RNG.normal(mean, 1.2, (20, 2)) for mean in ((0, 1), (5, 5), (1, 6))])
POINTS = RNG.permutation(POINTS).astype("f")
BATCHES = np.split(POINTS, 3)


def normal(x: np.ndarray, metric: str) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True) if metric == "cosine" else x


def model(metric: str, steps: int, count: int) -> np.ndarray:
    """The centers after so many steps, point by point: each moves its center to the mean of all it had."""
    centers = normal(POINTS[:3].astype("f8"), metric)
    copy, counts, left = centers.copy(), np.full(3, 1.0 if steps == 1 else 0.0), steps
    for number in range(count):
        batch = normal(BATCHES[number % 3].astype("f8"), metric)
        compared = normal(copy if steps == 1 else centers, metric)
        nearest = ((batch[:, None] - compared) ** 2).sum(2).argmin(1)
        if steps > 1 and left <= 0:
            centers, counts, left = normal(copy, metric).copy(), np.zeros(3), steps
        left -= 1
        for point, index in zip(batch, nearest, strict=True):
            counts[index] += 1
            copy[index] += (point - copy[index]) / counts[index]
    return copy if steps == 1 else centers


@pytest.mark.parametrize("metric", ["squared_euclidean", "cosine"])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_centers_are_the_means_of_their_points_and_change_every_few_steps(metric: str, steps: int) -> None:
    points = tf.placeholder(tf.float32, [None, 2])
    made = tf.contrib.factorization.KMeans(
        points,
        3,
        POINTS[:3],
        distance_metric=metric,
        use_mini_batch=True,
        mini_batch_steps_per_iteration=steps,
    ).training_graph()
    init_op, train_op = made[-2:]
    (centers,) = (v for v in tf.global_variables() if v.op.name == "clusters")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(init_op, {points: POINTS})
        seen = []
        for number in range(7):
            session.run(train_op, {points: BATCHES[number % 3]})
            seen.append(session.run(centers))
    for number, found in enumerate(seen):
        np.testing.assert_allclose(found, model(metric, steps, number + 1), rtol=1e-4, atol=1e-5)
    changes = [not np.array_equal(a, b) for a, b in pairwise(seen)]
    # With a copy, they change in the step after as many as that, and then after as many again.
    assert (
        changes
        == {
            1: [True] * 6,
            2: [False, True, False, True, False, True],
            3: [False, False, True, False, False, True],
        }[steps]
    )


def test_an_estimator_has_them(tmp_path: Path) -> None:
    def input_fn() -> tf.Tensor:
        return tf.data.Dataset.from_tensor_slices(POINTS).batch(20).repeat()

    estimator = tf.contrib.factorization.KMeansClustering(
        3, str(tmp_path), POINTS[:3], use_mini_batch=True, mini_batch_steps_per_iteration=2
    )
    estimator.train(input_fn, steps=2)
    np.testing.assert_array_equal(estimator.cluster_centers(), POINTS[:3])
    estimator.train(input_fn, steps=1)
    assert not np.array_equal(estimator.cluster_centers(), POINTS[:3])
    assert {"clusters", "clusters_updated", "update_in_steps"} < set(estimator.get_variable_names())
