"""Rarer layers of `tf.contrib.layers` against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

layers = tf.contrib.layers
GIVEN = np.random.default_rng(3).normal(2, 3, size=(2, 4, 3, 6)).astype("f")


def run(*tensors: Any) -> list[Any]:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(list(tensors))


def normal(x: Any, axes: tuple[int, ...], epsilon: float = 1e-6) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def test_instance_norm() -> None:
    x = tf.constant(GIVEN)
    last = layers.instance_norm(x, scope="a")
    first = layers.instance_norm(
        x, data_format="NCHW", param_initializers={"gamma": tf.constant_initializer(3.0)}, scope="b"
    )
    got, got_first = run(last, first)
    np.testing.assert_allclose(got, normal(GIVEN, (1, 2)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(got_first, 3 * normal(GIVEN, (2, 3)), rtol=1e-4, atol=1e-4)
    assert [v.op.name for v in tf.model_variables()] == ["a/beta", "a/gamma", "b/beta", "b/gamma"]
    with pytest.raises(ValueError, match="data_format has to be"):
        layers.instance_norm(x, data_format="NC")


def test_group_norm() -> None:
    x = tf.placeholder_with_default(GIVEN, [None, 4, 3, 6])
    two = layers.group_norm(x, groups=2, reduction_axes=[-3, -2])
    by_squares = layers.group_norm(x, groups=3, mean_close_to_zero=True)
    first = layers.group_norm(x, groups=2, channels_axis=-3, reduction_axes=[-2, -1])
    assert two.shape.as_list() == [None, 4, 3, 6]
    got = run(two, by_squares, first)
    expected = [
        normal(GIVEN.reshape(2, 4, 3, 2, 3), (1, 2, 4)),
        normal(GIVEN.reshape(2, 4, 3, 3, 2), (1, 2, 4)),
        normal(GIVEN.reshape(2, 2, 2, 3, 6), (2, 3, 4)),
    ]
    for found, wanted in zip(got, expected, strict=True):
        np.testing.assert_allclose(found, wanted.reshape(GIVEN.shape), rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="not commensurate"):
        layers.group_norm(x, groups=4)


def test_spatial_softmax_is_the_expected_place() -> None:
    out = layers.spatial_softmax(tf.constant(GIVEN))
    weights = np.exp(GIVEN - GIVEN.max((1, 2), keepdims=True))
    weights /= weights.sum((1, 2), keepdims=True)
    rows = (weights * np.linspace(-1, 1, 4)[None, :, None, None]).sum((1, 2))
    columns = (weights * np.linspace(-1, 1, 3)[None, None, :, None]).sum((1, 2))
    np.testing.assert_allclose(run(out)[0], np.stack([rows, columns], -1).reshape(2, 12), rtol=1e-4)
    assert tf.trainable_variables()[0].op.name == "spatial_softmax/temperature"


def test_small_layers() -> None:
    x = tf.constant(GIVEN)
    sparse = layers.dense_to_sparse(tf.constant([[5, 0], [7, 8]]))
    plane = layers.conv2d_in_plane(
        x,
        [2, 1],
        padding="VALID",
        activation_fn=None,
        weights_initializer=tf.constant_initializer(np.array([1.0, -1.0]).reshape(2, 1, 1, 1)),
    )
    ids = tf.constant([[1, 2], [2, 0]])
    bag = layers.bow_encoder(ids, 3, 2, initializer=tf.constant_initializer([[9.0, 9], [1, 2], [3, 5]]))
    scaled = layers.scale_gradient(x, 0.5)
    got = run(
        layers.maxout(x, 2),
        sparse.values,
        sparse.indices,
        plane,
        bag,
        layers.sequence_to_images(layers.images_to_sequence(x), 4),
        layers.pool(x, 2, "MAX", stride=2),
        scaled,
        tf.gradients(scaled, x)[0],
        layers.poincare_normalize(tf.constant([[3.0, 4.0], [0.3, 0.4]])),
        layers.legacy_relu(x, 2, weight_init=tf.ones_initializer()),
        layers.elu(tf.constant([[-1.0]]), 1, weights_initializer=tf.ones_initializer()),
    )
    np.testing.assert_array_equal(got[0], GIVEN.reshape(2, 4, 3, 2, 3).max(-1))
    assert (got[1].tolist(), got[2].tolist()) == ([5, 7, 8], [[0, 0], [1, 0], [1, 1]])
    np.testing.assert_allclose(got[3], GIVEN[:, :-1] - GIVEN[:, 1:], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(got[4], [[2.0, 3.5], [3.0, 5.0]])  # symbol 0 does not count
    np.testing.assert_array_equal(got[5], GIVEN)
    np.testing.assert_array_equal(got[6], GIVEN[:, :4, :2].reshape(2, 2, 2, 1, 2, 6).max((2, 4)))
    np.testing.assert_array_equal(got[7], GIVEN)
    assert (got[8] == 0.5).all()
    np.testing.assert_allclose(got[9], [[0.6 * 0.99999, 0.8 * 0.99999], [0.3, 0.4]], rtol=1e-5)
    np.testing.assert_allclose(got[10], np.maximum(GIVEN.sum(-1, keepdims=True), 0).repeat(2, -1), rtol=1e-4)
    np.testing.assert_allclose(got[11], [[np.expm1(-1.0)]], rtol=1e-5)
