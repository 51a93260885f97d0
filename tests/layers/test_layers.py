"""`tf.layers` against formulas in NumPy, and what layers do with variables and collections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
IMAGES = np.random.default_rng(1).normal(size=(2, 5, 6, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def names() -> list[str]:
    return [v.op.name for v in tf.global_variables()]


def test_dense(session: tf.Session) -> None:
    output = tf.layers.dense(tf.constant(X), 4, tf.nn.relu, name="fc")
    session.run(tf.global_variables_initializer())
    value, kernel, bias = session.run([output, *tf.trainable_variables()])
    assert names() == ["fc/kernel", "fc/bias"]
    assert not bias.any()
    assert abs(kernel).max() <= np.sqrt(6 / 7)
    np.testing.assert_allclose(value, np.maximum(X @ kernel, 0), rtol=1e-5, atol=1e-6)


def test_layers_of_one_class_are_numbered() -> None:
    x = tf.constant(X)
    for _ in range(3):
        x = tf.layers.dense(x, 3)
    assert names()[::2] == ["dense/kernel", "dense_1/kernel", "dense_2/kernel"]
    with tf.variable_scope("other"):
        tf.layers.dense(x, 3)
    assert names()[6] == "other/dense/kernel"


def test_a_layer_object_keeps_its_variables() -> None:
    layer = tf.layers.Dense(3)
    first = layer(tf.constant(X))
    second = layer(first)
    assert len(tf.global_variables()) == 2
    assert layer.variables == tf.global_variables()
    assert first.op.name == "dense/BiasAdd"
    assert second.op.name == "dense/BiasAdd_1"
    assert layer.count_params() == 12
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 3"):
        layer(tf.zeros([1, 4]))


def test_reuse() -> None:
    for reuse in (False, True):
        tf.layers.conv2d(tf.constant(IMAGES), 2, 3, name="conv", reuse=reuse)
    assert names() == ["conv/kernel", "conv/bias"]
    with pytest.raises(ValueError, match="already exists"):
        tf.layers.conv2d(tf.constant(IMAGES), 2, 3, name="conv")


def test_regularizers_count_each_variable_once(session: tf.Session) -> None:
    for reuse in (None, True):
        tf.layers.dense(
            tf.constant(X),
            2,
            kernel_initializer=tf.ones_initializer(),
            kernel_regularizer=lambda w: 0.5 * tf.reduce_sum(w),
            name="fc",
            reuse=reuse,
        )
    losses = tf.losses.get_regularization_losses()
    session.run(tf.global_variables_initializer())
    assert session.run(losses) == [3.0]
    assert losses[0].op.name.startswith("fc/kernel/Regularizer/")


def test_constraints_hold_after_training(session: tf.Session) -> None:
    output = tf.layers.dense(tf.constant(X), 2, kernel_constraint=lambda w: tf.clip_by_value(w, 0.0, 0.1))
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(output))
    session.run(tf.global_variables_initializer())
    session.run(step)
    kernel = session.run(tf.trainable_variables()[0])
    assert kernel.min() >= 0
    assert kernel.max() <= np.float32(0.1)


def test_frozen_layers() -> None:
    layer = tf.layers.Dense(2, trainable=False)
    layer(tf.constant(X))
    assert tf.trainable_variables() == []
    assert layer.trainable_variables == []
    assert len(layer.non_trainable_variables) == 2


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_batch_normalization(session: tf.Session, fused: bool, known: bool) -> None:
    training = tf.placeholder_with_default(True, [])
    output = tf.layers.batch_normalization(
        tf.constant(IMAGES), momentum=0.9, epsilon=0.01, training=True if known else training, fused=fused
    )
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    session.run(tf.global_variables_initializer())
    mean, variance = IMAGES.mean((0, 1, 2)), IMAGES.var((0, 1, 2))
    np.testing.assert_allclose(
        session.run(output), (IMAGES - mean) / np.sqrt(variance + 0.01), rtol=1e-3, atol=1e-4
    )
    session.run(updates)
    count = IMAGES.size / 3
    kept = variance * count / (count - 1) if fused else variance
    moving_mean, moving_variance = session.run(tf.global_variables()[2:])
    np.testing.assert_allclose(moving_mean, 0.1 * mean, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(moving_variance, 0.9 + 0.1 * kept, rtol=1e-4)
    if known:
        return
    session.run(updates, {training: False})
    np.testing.assert_array_equal(session.run(tf.global_variables()[2]), moving_mean)
    np.testing.assert_allclose(
        session.run(output, {training: False}),
        (IMAGES - moving_mean) / np.sqrt(moving_variance + 0.01),
        rtol=1e-3,
        atol=1e-4,
    )


def test_batch_normalization_when_only_run(session: tf.Session) -> None:
    tf.layers.batch_normalization(tf.constant(X))
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    assert [v.op.name for v in tf.trainable_variables()] == [
        f"batch_normalization/{part}" for part in ("gamma", "beta")
    ]


def test_channels_first_is_channels_last_transposed(session: tf.Session) -> None:
    first = tf.transpose(tf.constant(IMAGES), [0, 3, 1, 2])
    calls: list[Any] = [
        lambda x, order: tf.layers.conv2d(x, 4, 3, data_format=order, name="c", reuse=tf.AUTO_REUSE),
        lambda x, order: tf.layers.separable_conv2d(
            x, 4, 3, data_format=order, name="s", reuse=tf.AUTO_REUSE
        ),
        lambda x, order: tf.layers.conv2d_transpose(
            x, 4, 3, 2, data_format=order, name="t", reuse=tf.AUTO_REUSE
        ),
        lambda x, order: tf.layers.max_pooling2d(x, 2, 2, data_format=order),
        lambda x, order: tf.layers.average_pooling2d(x, 2, 1, "same", data_format=order),
        lambda x, order: tf.layers.batch_normalization(
            x, 3 if order == "channels_last" else 1, training=True, name="b", reuse=tf.AUTO_REUSE
        ),
    ]
    for call in calls:
        last, other = call(tf.constant(IMAGES), "channels_last"), call(first, "channels_first")
        session.run(tf.global_variables_initializer())
        value, moved = session.run([last, tf.transpose(other, [0, 2, 3, 1])])
        np.testing.assert_allclose(value, moved, rtol=1e-4, atol=1e-5)


def test_unknown_sizes(session: tf.Session) -> None:
    images = tf.placeholder(tf.float32, [None, None, None, 3])
    enlarged = tf.layers.conv2d_transpose(images, 2, 3, strides=2)
    flat = tf.layers.flatten(tf.placeholder_with_default(IMAGES, [None, 5, None, 3]))
    assert enlarged.shape.as_list() == [None, None, None, 2]
    assert flat.shape.as_list() == [None, None]
    session.run(tf.global_variables_initializer())
    assert session.run(enlarged, {images: IMAGES}).shape == (2, 11, 13, 2)
    np.testing.assert_array_equal(session.run(flat), IMAGES.reshape(2, -1))


def test_shapes_that_layers_tell_beforehand() -> None:
    x = tf.constant(IMAGES)
    for layer in (
        tf.layers.Dense(4),
        tf.layers.Flatten(),
        tf.layers.Conv2D(4, 3, strides=2),
        tf.layers.Conv2D(4, 3, dilation_rate=2),
        tf.layers.Conv2DTranspose(4, 3, strides=2),
        tf.layers.MaxPooling2D(2, 2, padding="same"),
        tf.layers.BatchNormalization(),
    ):
        assert layer.compute_output_shape(x.shape).as_list() == layer(x).shape.as_list()


def test_activations_and_initializers_by_name(session: tf.Session) -> None:
    output = tf.layers.dense(tf.constant(X), 2, "softplus", kernel_initializer="ones")
    session.run(tf.global_variables_initializer())
    expected = np.log1p(np.exp(X.sum(1, keepdims=True)))
    np.testing.assert_allclose(session.run(output)[:, :1], expected, rtol=1e-5)
    with pytest.raises(ValueError, match="Unknown activation function"):
        tf.layers.Dense(2, "rleu")
    with pytest.raises(ValueError, match="Unknown initializer"):
        tf.layers.Dense(2, kernel_initializer="one")
