"""`tf.losses` against TensorFlow's: values, gradients, collections and errors."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as real

import tensorfleet as ours

real.disable_v2_behavior()

LABELS = np.array([[0, 1, 0], [1, 0, 0]], np.float32)
VALUES = np.array([[0.2, 0.7, 0.1], [0.9, 0.05, 0.3]], np.float32)
CLASSES = np.array([1, 0])

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "absolute": lambda tf, x: tf.losses.absolute_difference(LABELS, x),
    "squared": lambda tf, x: tf.losses.mean_squared_error(LABELS, x),
    "log": lambda tf, x: tf.losses.log_loss(LABELS, x),
    "hinge": lambda tf, x: tf.losses.hinge_loss(LABELS, x),
    "huber": lambda tf, x: tf.losses.huber_loss(LABELS, x * 3, delta=0.5),
    "cosine": lambda tf, x: tf.losses.cosine_distance(LABELS, x, axis=1),
    "sigmoid": lambda tf, x: tf.losses.sigmoid_cross_entropy(LABELS, x, label_smoothing=0.1),
    "softmax": lambda tf, x: tf.losses.softmax_cross_entropy(LABELS, x),
    "softmax_smooth": lambda tf, x: tf.losses.softmax_cross_entropy(LABELS, x, label_smoothing=0.2),
    "sparse": lambda tf, x: tf.losses.sparse_softmax_cross_entropy(CLASSES, x),
    "sparse_column": lambda tf, x: tf.losses.sparse_softmax_cross_entropy(CLASSES[:, None], x),
    "weights": lambda tf, x: tf.losses.mean_squared_error(LABELS, x, weights=[[0.0], [2.0]]),
    "pairwise": lambda tf, x: tf.losses.mean_pairwise_squared_error(LABELS, x),
    "pairwise_weights": lambda tf, x: tf.losses.mean_pairwise_squared_error(LABELS, x, [[0.0], [2.0]]),
    "pairwise_scalar": lambda tf, x: tf.losses.mean_pairwise_squared_error(LABELS, x, 0.5, scope="mine"),
    "pairwise_none": lambda tf, x: tf.losses.mean_pairwise_squared_error(LABELS, x, 0.0),
    "pairwise_of_one": lambda tf, x: tf.losses.mean_pairwise_squared_error(LABELS[:, :1], x[:, :1]),
    **{
        f"reduction_{name}": lambda tf, x, name=name: tf.losses.mean_squared_error(
            LABELS, x, weights=[[0.0], [2.0]], reduction=getattr(tf.losses.Reduction, name)
        )
        for name in ("NONE", "SUM", "MEAN", "SUM_OVER_BATCH_SIZE", "SUM_OVER_NONZERO_WEIGHTS")
    },
}


@pytest.mark.parametrize("name", list(CALLS))
def test_losses(name: str) -> None:
    def run(tf: Any) -> tuple[list[np.ndarray], list[str], Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(VALUES)
            loss = CALLS[name](tf, x)
            collected = [t.name for t in tf.losses.get_losses()]
            return session.run([loss, tf.gradients(loss, x)[0]]), collected, loss.shape.as_list()

    got, expected = run(ours), run(real)
    for a, b in zip(got[0], expected[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert got[1:] == expected[1:]


def test_total_loss() -> None:
    def run(tf: Any) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.losses.mean_squared_error(LABELS, VALUES)
            tf.losses.add_loss(tf.constant(3.0))
            tf.add_to_collection("regularization_losses", tf.constant(0.5))
            total, regular = tf.losses.get_total_loss(), tf.losses.get_regularization_loss()
            return [total.name, *session.run([total, regular, tf.losses.get_total_loss(False)])]

    got, expected = run(ours), run(real)
    assert got[0] == expected[0]
    np.testing.assert_allclose(got[1:], expected[1:], rtol=1e-6)


ERRORS: dict[str, Callable[[Any], Any]] = {
    "pairwise": lambda tf: tf.losses.mean_pairwise_squared_error(LABELS, VALUES[:1]),
    "pairwise of nothing": lambda tf: tf.losses.mean_pairwise_squared_error(None, VALUES),
    "none": lambda tf: tf.losses.mean_squared_error(None, VALUES),
    "shapes": lambda tf: tf.losses.mean_squared_error(LABELS, VALUES[:1]),
    "reduction": lambda tf: tf.losses.mean_squared_error(LABELS, VALUES, reduction="other"),
    "weights": lambda tf: tf.losses.mean_squared_error(LABELS, VALUES, weights=np.ones((3, 4), np.float32)),
    "rank": lambda tf: tf.losses.mean_squared_error(LABELS, VALUES, weights=np.ones(3, np.float32)),
    "axis": lambda tf: tf.losses.cosine_distance(LABELS, VALUES),
    "labels": lambda tf: tf.losses.softmax_cross_entropy(None, VALUES),
}


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors(name: str) -> None:
    def text(tf: Any) -> str:
        with tf.Graph().as_default(), pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
            ERRORS[name](tf)
        return str(caught.value).partition("Received weights")[0]

    assert text(ours) == text(real)
