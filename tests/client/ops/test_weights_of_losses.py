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
