"""`tf.metrics` beside TensorFlow's: values and updates after each of several batches, with and without "
"weights."""

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

BATCHES = 3
ROWS, COLUMNS = 8, 5
random = np.random.default_rng(4)
REALS = random.normal(size=(2, BATCHES, ROWS, COLUMNS)).astype(np.float32)
UNIT = random.uniform(size=(BATCHES, ROWS, COLUMNS)).astype(np.float32)
UNIT.flat[:2] = 0, 1
TRUTHS = random.integers(0, 2, (2, BATCHES, ROWS, COLUMNS)).astype(bool)
CLASSES = random.integers(0, 4, (2, BATCHES, ROWS, COLUMNS))
WEIGHTS = random.uniform(0, 2, (BATCHES, ROWS, COLUMNS)).astype(np.float32)
GRID = [0.1, 0.5, 0.9]

Call = Callable[[Any, Any, Any], Any]
"""(tf.metrics, weights, data) to a metric; data(array) is what is fed."""

METRICS: dict[str, Call] = {
    "mean": lambda m, w, d: m.mean(d(REALS[0]), w),
    "mean_tensor": lambda m, w, d: m.mean_tensor(d(REALS[0]), w),
    "accuracy": lambda m, w, d: m.accuracy(d(CLASSES[0]), d(CLASSES[1].astype(np.int32)), w),
    "mean_absolute_error": lambda m, w, d: m.mean_absolute_error(d(REALS[0]), d(REALS[1]), w),
    "mean_relative_error": lambda m, w, d: m.mean_relative_error(
        d(REALS[0]), d(REALS[1]), d(np.abs(REALS[0])), w
    ),
    "mean_squared_error": lambda m, w, d: m.mean_squared_error(d(REALS[0]), d(REALS[1]), w),
    "root_mean_squared_error": lambda m, w, d: m.root_mean_squared_error(d(REALS[0]), d(REALS[1]), w),
    "mean_cosine_distance": lambda m, w, d: m.mean_cosine_distance(d(REALS[0]), d(REALS[1]), 1),
    "percentage_below": lambda m, w, d: m.percentage_below(d(REALS[0]), 0.3, w),
    "true_positives": lambda m, w, d: m.true_positives(d(TRUTHS[0]), d(TRUTHS[1]), w),
    "true_negatives": lambda m, w, d: m.true_negatives(d(TRUTHS[0]), d(TRUTHS[1]), w),
    "false_positives": lambda m, w, d: m.false_positives(d(TRUTHS[0]), d(TRUTHS[1]), w),
    "false_negatives": lambda m, w, d: m.false_negatives(d(TRUTHS[0]), d(CLASSES[1]), w),
    "precision": lambda m, w, d: m.precision(d(TRUTHS[0]), d(TRUTHS[1]), w),
    "recall": lambda m, w, d: m.recall(d(TRUTHS[0]), d(TRUTHS[1]), w),
    "mean_iou": lambda m, w, d: m.mean_iou(d(CLASSES[0]), d(CLASSES[1]), 5, w),
    "mean_per_class_accuracy": lambda m, w, d: m.mean_per_class_accuracy(d(CLASSES[0]), d(CLASSES[1]), 5, w),
    "auc": lambda m, w, d: m.auc(d(TRUTHS[0]), d(UNIT), w),
    "auc few": lambda m, w, d: m.auc(d(TRUTHS[0]), d(UNIT), w, num_thresholds=7, summation_method="minoring"),
    "auc pr": lambda m, w, d: m.auc(d(TRUTHS[0]), d(UNIT), w, curve="PR", summation_method="majoring"),
    "auc careful": lambda m, w, d: m.auc(
        d(TRUTHS[0]), d(UNIT), w, curve="PR", summation_method="careful_interpolation"
    ),
    "auc thresholds": lambda m, w, d: m.auc(d(TRUTHS[0]), d(UNIT), w, thresholds=GRID),
    "true_positives_at": lambda m, w, d: m.true_positives_at_thresholds(d(TRUTHS[0]), d(UNIT), GRID, w),
    "true_negatives_at": lambda m, w, d: m.true_negatives_at_thresholds(d(TRUTHS[0]), d(UNIT), GRID, w),
    "false_positives_at": lambda m, w, d: m.false_positives_at_thresholds(d(TRUTHS[0]), d(UNIT), GRID, w),
    "false_negatives_at": lambda m, w, d: m.false_negatives_at_thresholds(d(TRUTHS[0]), d(UNIT), GRID, w),
    "precision_at": lambda m, w, d: m.precision_at_thresholds(d(TRUTHS[0]), d(UNIT), GRID, w),
    "recall_at": lambda m, w, d: m.recall_at_thresholds(d(TRUTHS[0]), d(UNIT), GRID, w),
    "sensitivity": lambda m, w, d: m.sensitivity_at_specificity(d(TRUTHS[0]), d(UNIT), 0.7, w),
    "specificity": lambda m, w, d: m.specificity_at_sensitivity(d(TRUTHS[0]), d(UNIT), 0.6, w),
}


def results(tf: Any, call: Call, weights: str) -> tuple[list[str], list[Any]]:
    """Names of the variables, and value and update before and after each batch."""
    fed: list[tuple[Any, Any]] = []

    def data(array: Any) -> Any:
        fed.append((tf.placeholder(tf.as_dtype(array.dtype), array.shape[1:]), array))
        return fed[-1][0]

    with tf.Graph().as_default(), tf.Session() as session:
        given = {"none": lambda: None, "scalar": lambda: 0.5, "all": lambda: data(WEIGHTS)}
        given["rows"] = lambda: data(WEIGHTS[:, :, :1])
        value, update = call(tf.metrics, given[weights](), data)
        names = sorted(v.op.name for v in tf.local_variables())
        assert [v.name for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)]
        session.run(tf.local_variables_initializer())
        fetched = [session.run(value)]
        for batch in range(BATCHES):
            fetched.append(session.run(update, {p: array[batch] for p, array in fed}))
            fetched.append(session.run(value))
    return names, fetched


CASES = [(name, weights) for name in METRICS for weights in ("none", "all")]
CASES += [(name, weights) for name in ("mean", "recall", "auc") for weights in ("scalar", "rows")]


@pytest.mark.parametrize(("name", "weights"), CASES)
def test_metrics_are_tensorflows(name: str, weights: str) -> None:
    names, values = results(ours, METRICS[name], weights)
    wanted_names, wanted = results(real, METRICS[name], weights)
    assert names == wanted_names
    for got, expected in zip(values, wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6)


def test_collections_and_reset() -> None:
    with ours.Graph().as_default(), ours.Session() as session:
        value, update = ours.metrics.mean([1.0, 3.0], None, "values", ["updates"])
        assert ours.get_collection("values") == [value]
        assert ours.get_collection("updates") == [update]
        for _ in range(2):
            session.run(ours.local_variables_initializer())
            assert session.run(value) == 0
            assert session.run(update) == 2


@pytest.mark.parametrize("tf", [ours, real], ids=["ours", "real"])
def test_mistakes(tf: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="weights can not be broadcast to values"):
            tf.metrics.mean(tf.zeros([2, 3]), tf.zeros([2, 2]))
        with pytest.raises(ValueError, match="compatible"):
            tf.metrics.accuracy(tf.zeros([2]), tf.zeros([3]))
        with pytest.raises(ValueError, match="Curve must be either ROC or PR"):
            tf.metrics.auc([True], [0.5], curve="XY")
        with pytest.raises(ValueError, match="specificity"):
            tf.metrics.sensitivity_at_specificity([True], [0.5], 2.0)
        probability = tf.placeholder(tf.float32, [1])
        _, update = tf.metrics.auc([True], probability)
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            session.run(update, {probability: [1.5]})


def test_confusion_matrix() -> None:
    def matrices(tf: Any) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            labels, predictions = (tf.constant(c[0].ravel()) for c in CLASSES)
            weights = tf.constant(WEIGHTS[0].ravel())
            fetches = [
                tf.confusion_matrix(labels, predictions),
                tf.math.confusion_matrix(labels, predictions, 6, tf.float32, weights=weights),
            ]
            with pytest.raises(tf.errors.InvalidArgumentError, match="out of bound"):
                session.run(tf.confusion_matrix([7], [1], 3))
            return list(session.run(fetches))

    for got, expected in zip(matrices(ours), matrices(real), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6)
