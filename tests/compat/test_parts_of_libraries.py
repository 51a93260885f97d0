"""What libraries on TensorFlow use and programs seldom do, beside TensorFlow: by values and by errors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as real
from tensorflow.python.ops import metrics_impl as real_metrics

import tensorfleet as ours
from tensorfleet.run.paths import module

real.disable_v2_behavior()

random = np.random.default_rng(5)
IMAGES = random.normal(size=(2, 7, 8, 3)).astype(np.float32)


@pytest.mark.parametrize("kind", ["MAX", "AVG"])
def test_pools_with_dilations(kind: str) -> None:
    for window, rates, x in (([3, 2], [2, 1], IMAGES), ([2], [3], IMAGES[0])):
        found = []
        for tf in (real, ours):
            with tf.Graph().as_default(), tf.Session() as session:
                y = tf.nn.pool(x, window, kind, "VALID", dilation_rate=rates)
                found.append((y.name, y.shape.as_list(), session.run(y)))
        assert found[0][:2] == found[1][:2]
        np.testing.assert_allclose(found[1][2], found[0][2], rtol=1e-6)


@pytest.mark.parametrize(("padding", "strides"), [("SAME", 1), ("VALID", 2)])
def test_pools_that_cannot_have_dilations(padding: str, strides: int) -> None:
    for tf in (real, ours):
        with tf.Graph().as_default(), pytest.raises(ValueError, match=r"dilation|strides"):
            tf.nn.pool(IMAGES, [2, 2], "MAX", padding, dilation_rate=[2, 2], strides=[strides] * 2)


RANKS = [((3, 1), (3,), (3, 1)), ((3,), (3,), (3, 1)), ((3,), (3, 1), (3,)), ((3, 1), (3, 1), (3,))]


@pytest.mark.parametrize("shapes", [*RANKS, ((3,), (3,), ())])
def test_metrics_of_ranks_that_only_the_run_knows(shapes: tuple[tuple[int, ...], ...]) -> None:
    values = [np.arange(1, 1 + np.prod(s, dtype=int), dtype=np.float32).reshape(s) ** 2 for s in shapes]
    values[1] = values[1] / 3
    found = []
    for tf in (real, ours):
        with tf.Graph().as_default(), tf.Session() as session:
            labels, predictions, weights = fed = [tf.placeholder(tf.float32) for _ in shapes]
            updates = [
                tf.metrics.mean_squared_error(labels, predictions, weights)[1],
                tf.metrics.accuracy(labels, predictions * 3, weights)[1],
            ]
            session.run(tf.local_variables_initializer())
            found.append(session.run(updates, dict(zip(fed, values, strict=True))))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_sparse_labels_of_a_rank_that_only_the_run_knows() -> None:
    found = []
    for tf in (real, ours):
        with tf.Graph().as_default(), tf.Session() as session:
            labels, logits = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
            loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
            fed: Any = {logits: [[1, 2], [4, 3]]}
            found.append([session.run(loss, {**fed, labels: given}) for given in ([[0], [1]], [0, 1])])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_average_precision_of_classes_that_are_given() -> None:
    metrics_impl: Any = module("python.ops.metrics_impl")
    found = []
    for tf, metrics in ((real, real_metrics), (ours, metrics_impl)):
        with tf.Graph().as_default(), tf.Session() as session:
            labels = tf.constant([[0, 2], [1, 3]], tf.int64)
            value, update = metrics._streaming_sparse_average_precision_at_top_k(
                labels, tf.constant([[2, 1, 0], [0, 1, 2]], tf.int64), weights=[0.5, 2.0]
            )
            session.run(tf.local_variables_initializer())
            found.append([session.run(update), session.run(value)])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_a_confusion_matrix_of_all_batches() -> None:
    metrics_impl: Any = module("python.ops.metrics_impl")
    found: list[Any] = []
    for tf, metrics in ((real, real_metrics), (ours, metrics_impl)):
        with tf.Graph().as_default(), tf.Session() as session:
            tags, mask = tf.constant([[0, 2, 1], [1, 1, 0]]), tf.sequence_mask([3, 2])
            matrix, update = metrics._streaming_confusion_matrix(tags, [[0, 1, 1], [2, 1, 1]], 3, mask)
            assert matrix.shape[0] == 3
            assert matrix.dtype.base_dtype == tf.float64
            # as tf_metrics does, which takes a number of rows and a masked sum of it
            positive = tf.reduce_sum(matrix * np.ones([matrix.shape[0], 3]))
            session.run(tf.local_variables_initializer())
            found.append([session.run(update), session.run(update), session.run(positive)])
    for mine, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("shape", [(1, 3, 2), (6,), (2,), (3, 1)])
def test_seeds_of_gradients_of_another_shape(shape: tuple[int, ...]) -> None:
    found = []
    for tf in (real, ours):
        for function in (lambda tf, x: tf.reshape(x, [3, 2]), lambda tf, x: tf.exp(x), lambda tf, x: x):
            with tf.Graph().as_default(), tf.Session() as session:
                x = tf.constant(np.arange(6.0).reshape(3, 2))
                try:
                    [gradient] = tf.gradients(function(tf, x), x, np.ones(shape))
                except ValueError:
                    found.append("refused")
                else:
                    found.append(session.run(gradient).round(6).tolist())
    assert found[3:] == found[:3]


def test_an_average_that_moves_in_two_places_without_its_bias() -> None:
    from tensorflow.python.training import moving_averages as real_averages

    found = []
    for tf, averages in ((real, real_averages), (ours, module("python.training.moving_averages"))):
        move: Any = averages.assign_moving_average
        with tf.Graph().as_default(), tf.Session() as session:
            average = tf.Variable(0.0, name="average")
            first, second = (move(average, value, 0.9, zero_debias=True) for value in (2.0, 5.0))
            session.run(tf.global_variables_initializer())
            values = [float(session.run(step)) for step in (first, second, first)]
            found.append((sorted(v.op.name for v in tf.global_variables()), values))
    assert found[0][0] == found[1][0]
    assert found[1][1] == pytest.approx(found[0][1])
