"""Functions of `tf.nn` over volumes and sequences against TensorFlow's: values, shapes, gradients, errors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as real

import tensorfleet as ours
from tests.compat.nn_volume_cases import CASES, ERRORS, WITHOUT_GRADIENTS

real.disable_v2_behavior()


def results(tf: Any, name: str) -> tuple[Any, list[int], list[Any]]:
    """Value, static shape and gradients of a case."""
    call, inputs = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [tf.constant(value) for value in inputs]
        output = call(tf.nn, *tensors)
        weights = np.cos(np.arange(np.prod(output.shape.as_list()))).astype(np.float32)
        loss = tf.reduce_sum(tf.reshape(output, [-1]) * weights)
        gradients = [] if name in WITHOUT_GRADIENTS else tf.gradients(loss, tensors)
        return session.run(output), output.shape.as_list(), session.run(gradients)


@pytest.mark.parametrize("name", list(CASES))
def test_values_and_gradients(name: str) -> None:
    value, shape, gradients = results(ours, name)
    real_value, real_shape, real_gradients = results(real, name)
    assert shape == real_shape
    for got, expected in zip([value, *gradients], [real_value, *real_gradients], strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors(name: str) -> None:
    def kind(tf: Any) -> tuple[str, str]:
        with tf.Graph().as_default(), pytest.raises((ValueError, TypeError)) as caught:
            ERRORS[name](tf)
        return type(caught.value).__name__, str(caught.value)[:30]

    assert kind(ours) == kind(real)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_places_of_maxima(padding: str, whole: bool) -> None:
    images = np.round(np.random.default_rng(2).normal(size=(2, 5, 6, 3)), 1).astype(np.float32)

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(images)
            pooled, places = tf.nn.max_pool_with_argmax(
                x, [1, 3, 2, 1], [1, 2, 1, 1], padding, include_batch_in_index=whole
            )
            return session.run([pooled, places, *tf.gradients(pooled * pooled, x)])

    for got, expected in zip(run(ours), run(real), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_channels_first_is_channels_last_transposed() -> None:
    volumes = np.random.default_rng(3).normal(size=(2, 4, 5, 6, 3)).astype(np.float32)
    weights = np.random.default_rng(4).normal(size=(2, 2, 3, 3, 2)).astype(np.float32)
    with ours.Graph().as_default(), ours.Session() as session:
        x, w = ours.constant(volumes), ours.constant(weights)
        first = ours.transpose(x, [0, 4, 1, 2, 3])
        for function in (
            lambda v, order: ours.nn.conv3d(v, w, 2, "SAME", data_format=order),
            lambda v, order: ours.nn.max_pool3d(v, 2, 2, "SAME", data_format=order),
            lambda v, order: ours.nn.avg_pool3d(v, 3, 2, "SAME", data_format=order),
        ):
            last = function(x, "NDHWC")
            other = ours.transpose(function(first, "NCDHW"), [0, 2, 3, 4, 1])
            values = session.run([last, other, *ours.gradients(last**2, x), *ours.gradients(other**2, x)])
            np.testing.assert_allclose(values[0], values[1], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(values[2], values[3], rtol=1e-5, atol=1e-5)
