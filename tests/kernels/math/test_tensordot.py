"""`tf.tensordot` of operands whose rank, or whose axes, are known only when the graph runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
B = np.arange(60.0, dtype=np.float32).reshape(4, 3, 5)


@pytest.mark.parametrize("known", ["none", "a", "b"])
@pytest.mark.parametrize("axes", [0, 1, [[1, -1], [1, 0]], [2, 0], [[], []]], ids=str)
def test_ranks_that_are_not_known(known: str, axes: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.placeholder(tf.float32, [None, 3, 4] if known == "a" else None)
        b = tf.placeholder(tf.float32, [4, None, 5] if known == "b" else None)
        product = tf.tensordot(a, b, axes)
        of_a, of_b = tf.gradients(product, [a, b])
        found, grad_a, grad_b = session.run([product, of_a, of_b], {a: A, b: B})
    np.testing.assert_allclose(found, np.tensordot(A, B, axes), rtol=1e-6)
    assert (grad_a.shape, grad_b.shape) == (A.shape, B.shape)


def test_axes_of_a_tensor() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        axes = tf.placeholder(tf.int32, [2, 2])
        product = tf.tensordot(A, B, axes)
        found = session.run(product, {axes: [[1, 2], [1, -3]]})
    np.testing.assert_allclose(found, np.tensordot(A, B, [[1, 2], [1, 0]]), rtol=1e-6)
