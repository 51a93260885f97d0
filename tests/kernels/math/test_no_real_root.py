"""Real matrices without a real square root, and means of integers by segments, as in TensorFlow 1.15."""

from __future__ import annotations

import numpy as np

import tensorfleet as tf


def test_square_roots_of_matrices_with_negative_eigenvalues() -> None:
    given = np.array([[[4.0, 0.0], [0.0, 9.0]], [[-1.0, 0.0], [0.0, 4.0]]])
    with tf.Graph().as_default(), tf.Session() as session:
        real, other = session.run([tf.linalg.sqrtm(given), tf.linalg.sqrtm(given.astype(np.complex128))])
    np.testing.assert_allclose(real, [[[2, 0], [0, 3]], np.full((2, 2), np.nan)], atol=1e-6)
    np.testing.assert_allclose(other[1], [[1j, 0], [0, 2]], atol=1e-6)


def test_means_of_integers_by_segments() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        mean = tf.math.unsorted_segment_mean(tf.constant([1, 2, 4]), [0, 0, 1], 3)
        assert mean.dtype == tf.float64
        assert session.run(mean).tolist() == [1.5, 4, 0]
