"""Dilation of images with NaNs."""

from __future__ import annotations

import numpy as np

import tensorfleet as tf


def test_dilation_passes_over_nans() -> None:
    image = np.array([[1, np.nan, 3], [np.nan, 2, np.nan]], "f").reshape(1, 2, 3, 1)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.nn.dilation2d(image, tf.zeros([2, 2, 1]), [1, 1, 1, 1], [1, 1, 1, 1], "VALID"))
    assert found.ravel().tolist() == [2, 3]
