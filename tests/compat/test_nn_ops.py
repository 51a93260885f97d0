"""Functions of `tf.nn` against TensorFlow's: values, static shapes, gradients and errors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as real

import tensorfleet as ours
from tests.compat.nn_cases import CASES, ERRORS

real.disable_v2_behavior()


def results(tf: Any, name: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Values, static shapes and gradients of a case."""
    call, inputs = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [tf.constant(value) for value in inputs]
        found = call(tf.nn, *tensors)
        outputs = found if isinstance(found, list) else [found]
        weights = [
            tf.constant(np.cos(np.arange(np.prod(t.shape.as_list()))).astype(np.float32)) for t in outputs
        ]
        loss = tf.add_n(
            [tf.reduce_sum(tf.reshape(t, [-1]) * w) for t, w in zip(outputs, weights, strict=True)]
        )
        gradients = [tf.convert_to_tensor(g) for g in tf.gradients(loss, tensors) if g is not None]
        return session.run(outputs), [t.shape.as_list() for t in outputs], session.run(gradients)


@pytest.mark.parametrize("name", list(CASES))
def test_values_and_gradients(name: str) -> None:
    values, shapes, gradients = results(ours, name)
    real_values, real_shapes, real_gradients = results(real, name)
    assert shapes == real_shapes
    assert len(gradients) == len(real_gradients)
    for got, expected in zip([*values, *gradients], [*real_values, *real_gradients], strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors(name: str) -> None:
    def text(tf: Any) -> tuple[str, str]:
        with tf.Graph().as_default(), pytest.raises((ValueError, TypeError)) as caught:
            ERRORS[name](tf)
        return type(caught.value).__name__, str(caught.value)[:38]

    assert text(ours) == text(real)


def test_labels_out_of_range() -> None:
    def text(tf: Any) -> str:
        with tf.Graph().as_default(), tf.Session() as session:
            labels = tf.placeholder(tf.int32, [2])
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.zeros([2, 3]))
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(loss, {labels: [1, 5]})
        return str(caught.value)

    message = text(ours).partition("\n")[0].partition("[[")[0].strip()
    assert "label value of 5" in message
    assert message in text(real)


@pytest.mark.parametrize("op", ["conv", "max", "avg", "norm", "depthwise"])
def test_channels_first_is_channels_last_transposed(op: str) -> None:
    tf = ours
    images = np.random.default_rng(3).normal(size=(2, 6, 5, 4)).astype(np.float32)
    weights = np.random.default_rng(4).normal(size=(3, 3, 4, 2)).astype(np.float32)

    def run(x: Any, data_format: str) -> Any:
        match op:
            case "conv":
                return tf.nn.conv2d(x, weights, 2, "SAME", data_format=data_format)
            case "max":
                return tf.nn.max_pool(x, 3, 2, "SAME", data_format=data_format)
            case "avg":
                return tf.nn.avg_pool(x, 3, 2, "SAME", data_format=data_format)
            case "norm":
                vector = tf.constant([1.0, 2.0, 3.0, 4.0])
                return tf.nn.fused_batch_norm(x, vector, vector, data_format=data_format)[0]
        return tf.nn.depthwise_conv2d(x, weights, [1, 1, 1, 1], "SAME", data_format=data_format)

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(images)
        last = run(x, "NHWC")
        first = tf.transpose(run(tf.transpose(x, [0, 3, 1, 2]), "NCHW"), [0, 2, 3, 1])
        assert first.shape.as_list() == last.shape.as_list()
        pairs = session.run([first, last, *(tf.gradients(tf.square(y), x)[0] for y in (first, last))])
    np.testing.assert_allclose(pairs[0], pairs[1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(pairs[2], pairs[3], rtol=1e-4, atol=1e-4)


def test_dilation_is_a_filter_with_holes() -> None:
    weights = np.random.default_rng(4).normal(size=(3, 2, 4, 2)).astype(np.float32)
    holes = np.zeros((5, 4, 4, 2), np.float32)
    holes[::2, ::3] = weights
    images = np.random.default_rng(3).normal(size=(2, 9, 8, 4)).astype(np.float32)
    with ours.Graph().as_default(), ours.Session() as session:
        x, w, h = ours.constant(images), ours.constant(weights), ours.constant(holes)
        dilated = ours.nn.conv2d(x, w, 1, "SAME", dilations=[1, 2, 3, 1])
        plain = ours.nn.conv2d(x, h, 1, "SAME")
        values = session.run([dilated, plain])
        of_dilated = session.run(ours.gradients(ours.square(dilated), [x, w]))
        of_plain = session.run(ours.gradients(ours.square(plain), [x, h]))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(of_dilated[0], of_plain[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(of_dilated[1], of_plain[1][::2, ::3], rtol=1e-4, atol=1e-3)
    with real.Graph().as_default(), real.Session() as session:
        expected = session.run(real.nn.conv2d(images, weights, 1, "SAME", dilations=[1, 2, 3, 1]))
    np.testing.assert_allclose(values[0], expected, rtol=1e-4, atol=1e-4)


def test_dropout() -> None:
    with ours.Graph().as_default(), ours.Session() as session:
        x = ours.ones([1000, 10])
        kept = ours.nn.dropout(x, keep_prob=0.25, seed=3)
        rows = ours.nn.dropout(x, rate=0.5, noise_shape=[1000, 1])
        value, by_row, gradient = session.run([kept, rows, ours.gradients(rows, x)[0]])
        assert set(np.unique(value)) == {0.0, 4.0}
        assert 0.2 < (value > 0).mean() < 0.3
        assert (by_row == by_row[:, :1]).all()
        np.testing.assert_array_equal(gradient, by_row)
        assert ours.nn.dropout(x, rate=0) is x


@pytest.mark.parametrize("name", ["conv_same", "max_pool_ties", "avg_pool", "softmax_xent"])
def test_half_precision(name: str) -> None:
    call, inputs = CASES[name]

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            result = call(tf.nn, *(tf.constant(value.astype(np.float16)) for value in inputs))
            return session.run(result)

    got, expected = run(ours), run(real)
    assert got.dtype == expected.dtype == np.float16
    np.testing.assert_allclose(got.astype(np.float32), expected.astype(np.float32), rtol=5e-3, atol=5e-2)
