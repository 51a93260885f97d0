"""Resized images against the definition of their method, and sizes that keep the ratio."""

from __future__ import annotations

import numpy as np
import pytest

import tensorfleet as tf
from tests.kernels.harness import run_op


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_areas_mean_has_nan_and_infinity_of_the_pixels_that_it_covers(value: float) -> None:
    image = np.ones((1, 6, 6, 1), np.float32)
    image[0, 1, 4] = value
    mean = run_op("ResizeArea", image, [3, 3], align_corners=False)
    expected = np.ones((3, 3), np.float32)
    expected[0, 2] = value
    np.testing.assert_allclose(mean[0, :, :, 0], expected, rtol=1e-6)


def test_resize_image_with_pad_computes_sizes_in_float64() -> None:
    # 9 / (9 / 14) is 13.999999999999998, which float32 rounds to 14; TensorFlow 1.15 gives 13 columns.
    with tf.Graph().as_default(), tf.Session() as session:
        image = np.ones((1, 7, 9, 1), np.float32)
        padded = session.run(tf.image.resize_image_with_pad(image, 20, 14))
    assert padded[0, 5, :, 0].tolist() == [1] * 13 + [0]
    assert padded[0, :, 0, 0].sum() == 10
