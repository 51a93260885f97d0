"""Second and third derivatives of pooling and batch normalization are TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as real

import tensorfleet as ours

real.disable_v2_behavior()

RANDOM = np.random.RandomState(5)
IMAGES = RANDOM.normal(size=(3, 5, 4, 2)).astype(np.float32)
SCALE, OFFSET, MEAN = (RANDOM.normal(size=2).astype(np.float32) for _ in range(3))
VARIANCE = RANDOM.uniform(0.5, 1.5, 2).astype(np.float32)


def values(tf: Any, build: Any) -> list[Any]:
    """The values of `build`, and their first to third derivatives, with respect to all that it lists."""
    with tf.Graph().as_default(), tf.Session() as session:
        y, xs = build(tf)
        fetches = [y]
        for _ in range(3):
            y = tf.add_n([tf.reduce_sum(tf.sin(g * 1.5)) for g in tf.gradients(y, xs) if g is not None])
            fetches.append(y)
        found = tf.gradients(y, xs)
        fetches += [g for g in found if g is not None]
        return session.run(fetches)  # type: ignore[no-any-return]


def compare(build: Any) -> None:
    for own, their in zip(values(ours, build), values(real, build), strict=True):
        np.testing.assert_allclose(own, their, rtol=1e-9, atol=1e-9 * float(np.max(np.abs(their))))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("size", [[2, 2], [3, 2]])
def test_max_pool(padding: str, size: list[int]) -> None:
    def build(tf: Any) -> Any:
        x = tf.constant(IMAGES.astype(np.float64))
        pooled = tf.nn.max_pool(x * x + x, [1, *size, 1], [1, 2, 1, 1], padding)
        return tf.reduce_sum(tf.tanh(pooled)), [x]

    compare(build)


@pytest.mark.parametrize("training", [True, False])
def test_fused_batch_norm(training: bool) -> None:
    def build(tf: Any) -> Any:
        x, scale, offset = tf.constant(IMAGES), tf.constant(SCALE), tf.constant(OFFSET)
        moments = {} if training else {"mean": tf.constant(MEAN), "variance": tf.constant(VARIANCE)}
        y, _, _ = tf.nn.fused_batch_norm(x, scale, offset, is_training=training, epsilon=0.01, **moments)
        return tf.reduce_sum(tf.tanh(y)), [x, scale, offset]

    def second(tf: Any) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            y, xs = build(tf)
            first = tf.gradients(y, xs)
            weighted = tf.add_n([tf.reduce_sum(tf.sin(g * 1.5)) for g in first])
            return session.run([*first, *(g for g in tf.gradients(weighted, xs) if g is not None)])  # type: ignore[no-any-return]

    for own, their in zip(second(ours), second(real), strict=True):
        np.testing.assert_allclose(own, their, rtol=1e-3, atol=1e-4 * float(np.max(np.abs(their))))
