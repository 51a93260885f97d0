"""Metrics of tf.contrib.metrics, which take the predictions first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

SCORES = np.array([[0.1, 0.5, 0.4], [0.8, 0.15, 0.05], [0.3, 0.3, 0.6]], np.float32)
CLASSES = np.array([2, 0, 1], np.int64)
CHANCES = np.array([0.9, 0.6, 0.4, 0.2], np.float32)
TRUE = np.array([True, False, True, False])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def measured(metric: Any, times: int = 1) -> Any:
    value, update = metric
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for _ in range(times):
            session.run(update)
        return session.run(value)


def test_recall_among_the_best_classes() -> None:
    metrics = tf.contrib.metrics
    assert measured(metrics.streaming_recall_at_k(SCORES, CLASSES, 1)) == pytest.approx(1 / 3)
    value, update = metrics.streaming_recall_at_k(SCORES, CLASSES, 2, weights=[1.0, 3.0, 0.0])
    assert value.op.name.startswith("recall_at_2/")
    assert update.op.name.startswith("recall_at_2/")
    assert measured((value, update), 2) == 1
    assert measured(tf.contrib.slim.metrics.streaming_recall_at_k(SCORES, CLASSES, 2)) == 1


def test_at_thresholds() -> None:
    metrics = tf.contrib.metrics
    at = [0.5, 0.1]
    assert measured(metrics.streaming_precision_at_thresholds(CHANCES, TRUE, at)) == pytest.approx([0.5, 0.5])
    assert measured(metrics.streaming_recall_at_thresholds(CHANCES, TRUE, at)) == pytest.approx([0.5, 1])
    for name, expected in (
        ("true_positives", [1, 2]),
        ("false_positives", [1, 2]),
        ("true_negatives", [1, 0]),
        ("false_negatives", [1, 0]),
    ):
        metric = getattr(metrics, f"streaming_{name}_at_thresholds")(CHANCES, TRUE, at)
        assert measured(metric).tolist() == expected, name
    assert measured(metrics.streaming_sensitivity_at_specificity(CHANCES, TRUE, 0.5)) == 1
    assert measured(metrics.streaming_specificity_at_sensitivity(CHANCES, TRUE, 1.0)) == pytest.approx(0.5)


def test_of_sparse_labels() -> None:
    metrics = tf.contrib.metrics
    labels = CLASSES[:, np.newaxis]
    for name, expected in (("precision", 1 / 3), ("recall", 2 / 3), ("average_precision", 0.5)):
        metric = getattr(metrics, f"streaming_sparse_{name}_at_k")
        assert metric.__name__ == f"streaming_sparse_{name}_at_k"
        scores = np.array([[1.0, 0.0, 0.5]] * 3, np.float32)
        assert measured(metric(scores, labels, 2)) == pytest.approx(expected)
