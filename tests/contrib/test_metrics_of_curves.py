"""Metrics that only tf.contrib.metrics has, against what TensorFlow 1.15.5 returned for the same batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

metrics = tf.contrib.metrics
_random = np.random.RandomState(7)
LABELS = [_random.rand(12) < 0.4 for _ in range(3)]
SCORES = [np.round(0.35 * each + 0.6 * _random.rand(12), 2).astype(np.float32) for each in LABELS]
WEIGHTS = [_random.rand(12).astype(np.float32) * 2 for _ in range(3)]
AT = [0.2, 0.5, 0.7]


def measured(build: Callable[[Any, Any, Any], Any], weighted: bool = False) -> Any:
    """The metric's value after three batches."""
    with tf.Graph().as_default(), tf.Session() as session:
        labels = tf.placeholder(tf.bool, [None])
        scores, weights = (tf.placeholder(tf.float32, [None]) for _ in range(2))
        value, update = build(labels, scores, weights if weighted else None)
        session.run(tf.local_variables_initializer())
        for batch in zip(LABELS, SCORES, WEIGHTS, strict=True):
            given = dict(zip((labels, scores, weights), batch, strict=True))
            session.run(update, given)
        return session.run(value, given)


def whole(labels: Any) -> Any:
    return tf.cast(labels, tf.int32)


CASES: dict[str, tuple[Callable[[Any, Any, Any], Any], Any, Any]] = {
    "histograms": (
        lambda y, p, w: metrics.auc_using_histogram(y, p, [0.0, 1.0], nbins=10),
        0.9531772,
        0.9531772,
    ),
    "roc": (lambda y, p, w: metrics.streaming_dynamic_auc(whole(y), p, weights=w), 0.9598662, 0.9362983),
    "pr": (
        lambda y, p, w: metrics.streaming_dynamic_auc(whole(y), p, "PR", weights=w),
        0.9481121,
        0.9257079,
    ),
    "interval": (
        lambda y, p, w: metrics.auc_with_confidence_intervals(whole(y), p, w),
        [0.9598662, 0.8339833, 0.9912941],
        [0.9362984, 0.8104294, 0.9805951],
    ),
    "plain interval": (
        lambda y, p, w: metrics.auc_with_confidence_intervals(whole(y), p, w, 0.8, False),
        [0.9598662, 0.9205602, 0.9991722],
        [0.9362984, 0.8881378, 0.9844590],
    ),
    "recall at precision": (
        lambda y, p, w: metrics.recall_at_precision(y, p, 0.6, w, num_thresholds=21),
        0.9230769,
        0.8765656,
    ),
    "recall at least precision": (
        lambda y, p, w: metrics.recall_at_precision(y, p, 0.6, w, num_thresholds=21, strict_mode=True),
        0.9230769,
        0.8765656,
    ),
    "precision at recall": (
        lambda y, p, w: metrics.precision_at_recall(y, p, 0.8, w, num_thresholds=21),
        0.8461539,
        0.7693509,
    ),
    "points": (
        lambda y, p, w: metrics.streaming_curve_points(y, p, w, num_thresholds=5),
        [[1, 1], [0.5652173, 1], [0.1304348, 0.8461539], [0, 0.4615385], [0, 0]],
        [[1, 1], [0.6157535, 1], [0.1705290, 0.7718901], [0, 0.4971329], [0, 0]],
    ),
    "points of precision": (
        lambda y, p, w: metrics.streaming_curve_points(y, p, w, num_thresholds=5, curve="PR"),
        [[1, 0.3611111], [1, 0.5], [0.8461539, 0.7857143], [0.4615385, 1], [0, 1]],
        [[1, 0.3935401], [1, 0.5131102], [0.7718901, 0.7460170], [0.4971329, 1], [0, 1]],
    ),
    "false positives": (
        lambda y, p, w: metrics.streaming_false_positive_rate(p > 0.5, y, w),
        0.1304348,
        0.1705290,
    ),
    "false negatives": (
        lambda y, p, w: metrics.streaming_false_negative_rate(p > 0.5, y, w),
        0.1538462,
        0.2281100,
    ),
    "false positives at thresholds": (
        lambda y, p, w: metrics.streaming_false_positive_rate_at_thresholds(p * 3 - 1, y, AT, w),
        [0.2608696, 0.1304348, 0.0869565],
        [0.3211826, 0.1705290, 0.1044366],
    ),
    "false negatives at thresholds": (
        lambda y, p, w: metrics.streaming_false_negative_rate_at_thresholds(p, y, AT, w),
        [0, 0.1538462, 0.4615385],
        [0, 0.2281100, 0.3862441],
    ),
    "true positives at thresholds": (
        lambda y, p, w: metrics.streaming_true_positives_at_thresholds(p * 3 - 1, y, AT, w),
        [12, 11, 11],
        [13.338142, 11.745360, 11.745360],
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_values(case: str, weighted: bool) -> None:
    build, plain, with_weights = CASES[case]
    expected = with_weights if weighted else plain
    np.testing.assert_allclose(measured(build, weighted), expected, rtol=2e-6, atol=1e-6)


def test_all_rates_at_equal_thresholds() -> None:
    def build(labels: Any, scores: Any, weights: Any) -> Any:
        return metrics.precision_recall_at_equal_thresholds(labels, scores, weights, num_thresholds=5)

    found = measured(build)
    expected = {
        "tp": [13, 13, 11, 6, 0],
        "fp": [23, 15, 3, 0, 0],
        "tn": [0, 8, 20, 23, 23],
        "fn": [0, 0, 2, 7, 13],
        "precision": [0.3611111, 0.4642857, 0.7857143, 1, 0],
        "recall": [1, 1, 0.8461539, 0.4615385, 0],
        "thresholds": [0, 0.25, 0.5, 0.75, 1],
    }
    for field, values in expected.items():
        np.testing.assert_allclose(getattr(found, field), values, rtol=1e-6, err_msg=field)
    weighted = measured(build, weighted=True)
    np.testing.assert_allclose(weighted.fp, [23.44899, 16.936, 3.9987323, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(weighted.tp, [15.216365, 15.216365, 11.74536, 7.564555, 0], rtol=1e-6)


def test_an_interval_of_too_little_is_zero_and_keeps_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data, update = metrics.auc_with_confidence_intervals([0, 1, 0], [0.1, 0.7, 0.4], weights=[0.1] * 3)
        session.run(tf.local_variables_initializer())
        session.run(update)
        assert session.run(data) == (0, 0, 0)
    with pytest.raises(ValueError, match="alpha"), tf.Graph().as_default():
        metrics.auc_with_confidence_intervals([0, 1], [0.1, 0.7], alpha=1.0)


def test_labels_besides_zero_and_one_are_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        labels = tf.placeholder(tf.int32, [None])
        _, update = metrics.streaming_dynamic_auc(labels, tf.constant([0.1, 0.7]))
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="at least one is >1"):
            session.run(update, {labels: [0, 2]})


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_values_joined(axis: int) -> None:
    batches = [np.arange(n * 3).reshape((n, 3) if axis == 0 else (3, n)) for n in (2, 1, 4)]
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.int64, [None, 3] if axis == 0 else [3, None])
        value, update = metrics.streaming_concat(given, axis)
        assert [each.op.name for each in tf.local_variables()] == [
            "streaming_concat/array",
            "streaming_concat/size",
        ]
        session.run(tf.local_variables_initializer())
        assert [session.run(update, {given: batch}) for batch in batches] == [2, 3, 7]
        np.testing.assert_array_equal(session.run(value), np.concatenate(batches, axis))


def test_values_joined_up_to_a_size() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.string, [None])
        value, update = metrics.streaming_concat(given, max_size=3)
        session.run(tf.local_variables_initializer())
        assert [session.run(update, {given: ["a", "b"]}) for _ in range(3)] == [2, 3, 3]
        assert session.run(value).tolist() == [b"a", b"b", b"a"]
        wrong = ((None, 0, "rank"), ([None, None], 1, "statically known size"), ([2], 1, "axis = 1 not in"))
        for shape, axis, said in wrong:
            with pytest.raises(ValueError, match=said):
                metrics.streaming_concat(tf.placeholder(tf.int32, shape), axis)


def test_of_classes_that_are_given() -> None:
    best, labels = np.array([[0, 1], [2, 3]]), np.array([[1], [0]])
    with tf.Graph().as_default(), tf.Session() as session:
        pairs = [
            metrics.streaming_sparse_precision_at_top_k(best, labels),
            metrics.sparse_recall_at_top_k(labels, best, class_id=1),
            metrics.streaming_sparse_average_precision_at_top_k(best, labels),
        ]
        session.run(tf.local_variables_initializer())
        session.run([update for _, update in pairs])
        assert session.run([value for value, _ in pairs]) == [0.25, 1, 0.25]
