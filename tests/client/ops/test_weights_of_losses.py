"""Weights whose shapes are known in the run alone."""

from __future__ import annotations

import numpy as np
import pytest

import tensorfleet as tf


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("shape", [(), (1, 3), (3,), (1,), (1, 1, 3), (3, 1), (2, 2)])
def test_weights_that_would_repeat_the_losses_are_refused_in_the_run(
    rows: int, shape: tuple[int, ...]
) -> None:
    fits = shape in ((), (1, 3), (rows, 1))
    with tf.Graph().as_default(), tf.Session() as session:
        values, weights = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32)
        loss = tf.losses.absolute_difference(values, values * 2.0, weights)
        feed = {values: np.ones([rows, 3]), weights: np.ones(shape)}
        if fits:
            assert session.run(loss, feed) == 1
        else:
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(loss, feed)


@pytest.mark.parametrize("shape", [(2, 1), (2,), ()])
def test_weights_of_sparse_labels_may_have_a_last_dimension_that_shows_in_the_run(
    shape: tuple[int, ...],
) -> None:
    logits, labels = [[1.0, 2.0], [3.0, 5.0]], [0, 1]
    with tf.Graph().as_default(), tf.Session() as session:
        parts = [tf.placeholder(dtype) for dtype in (tf.int32, tf.float32, tf.float32)]
        loss = tf.losses.sparse_softmax_cross_entropy(*parts)
        given = np.full(shape, 2.0)
        found = session.run(loss, dict(zip(parts, (labels, logits, given), strict=True)))
        expected = session.run(tf.losses.sparse_softmax_cross_entropy(labels, logits, 2.0))
        assert found == pytest.approx(expected)


def test_a_loss_names_its_axis_once() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Cannot specify both 'dim' and 'axis'"):
        tf.losses.cosine_distance(tf.ones([1, 2]), tf.ones([1, 2]), axis=1, dim=1)


def test_a_pointwise_filter_is_of_one_point() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Dimensions 2 and 1 are not compatible"):
        tf.nn.separable_conv2d(
            tf.zeros([1, 4, 4, 2]), tf.zeros([2, 2, 2, 3]), tf.zeros([2, 1, 6, 4]), [1, 1, 1, 1], "SAME"
        )
