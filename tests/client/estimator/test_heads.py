"""Heads: losses and metrics against NumPy, labels that do not fit, several heads at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

LOGITS = np.array([[2.0], [-1.0], [0.5], [-3.0]], np.float32)
BINARY = np.array([[1.0], [0.0], [0.0], [1.0]], np.float32)
WEIGHTS = np.array([[1.0], [2.0], [0.5], [0.0]], np.float32)


def evaluated(head: Any, logits: Any, labels: Any, features: Any = None) -> dict[str, Any]:
    spec = head.create_estimator_spec(features or {}, "eval", tf.constant(logits), labels)
    with tf.Session() as session:
        session.run([tf.local_variables_initializer(), tf.tables_initializer()])
        session.run([update for _, update in spec.eval_metric_ops.values()])
        return {
            "loss": session.run(spec.loss),
            **session.run({key: value for key, (value, _) in spec.eval_metric_ops.items()}),
        }


def cross_entropy(labels: Any, logits: Any) -> Any:
    return np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-abs(logits)))


@pytest.mark.parametrize("reduction", ["weighted_sum", "sum_over_batch_size", "weighted_mean"])
def test_two_classes(reduction: str) -> None:
    head = tf.estimator.BinaryClassHead(weight_column="w", thresholds=[0.2], loss_reduction=reduction)
    found = evaluated(head, LOGITS, BINARY[:, 0].astype(np.int64), {"w": tf.constant(WEIGHTS[:, 0])})
    losses = cross_entropy(BINARY, LOGITS) * WEIGHTS
    total = losses.sum()
    expected = {
        "weighted_sum": total,
        "sum_over_batch_size": total / 4,
        "weighted_mean": total / WEIGHTS.sum(),
    }
    np.testing.assert_allclose(found["loss"], expected[reduction], rtol=1e-5)
    np.testing.assert_allclose(found["average_loss"], total / WEIGHTS.sum(), rtol=1e-5)
    np.testing.assert_allclose(found["accuracy"], 3.0 / 3.5)
    np.testing.assert_allclose(found["precision"], 1.0 / 1.5)
    np.testing.assert_allclose(found["recall"], 1.0)
    np.testing.assert_allclose(found["label/mean"], 1.0 / 3.5)
    np.testing.assert_allclose(found["accuracy_baseline"], 2.5 / 3.5)
    logistic = 1 / (1 + np.exp(-LOGITS))
    np.testing.assert_allclose(found["prediction/mean"], (logistic * WEIGHTS).sum() / 3.5, rtol=1e-5)
    np.testing.assert_allclose(found["accuracy/positive_threshold_0.2"], 1.0 / 3.5)
    np.testing.assert_allclose(found["auc"], 1.0, atol=0.01)


def test_several_classes_by_words() -> None:
    head = tf.estimator.MultiClassHead(3, label_vocabulary=["a", "b", "c"], name="h")
    logits = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 0.0]], np.float32)
    found = evaluated(head, logits, tf.constant([["c"], ["b"]]))
    softmax = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    loss = -(np.log(softmax[0, 2]) + np.log(softmax[1, 1])) / 2
    np.testing.assert_allclose(found["loss"], loss, rtol=1e-5)
    np.testing.assert_allclose(found["average_loss/h"], loss, rtol=1e-5)
    np.testing.assert_allclose(found["accuracy/h"], 0.5)
    with tf.Session() as session:
        predictions = head.predictions(tf.constant(logits))
        session.run(tf.tables_initializer())
        classes = session.run(predictions["classes"])
    assert classes.tolist() == [[b"c"], [b"a"]]


@pytest.mark.parametrize("sparse", [False, True])
def test_any_number_of_classes(sparse: bool) -> None:
    head = tf.estimator.MultiLabelHead(2)
    labels = np.array([[1, 0], [1, 1], [0, 0]])
    logits = np.array([[1.0, -1.0], [0.5, 2.0], [-2.0, 0.1]], np.float32)
    given: Any = tf.constant(labels)
    if sparse:
        given = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], tf.constant([0, 0, 1], tf.int64), [3, 2])
    found = evaluated(head, logits, given)
    np.testing.assert_allclose(found["loss"], cross_entropy(labels, logits).mean(), rtol=1e-5)
    assert set(found) == {"loss", "average_loss", "auc", "auc_precision_recall"}


def test_numbers() -> None:
    labels = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    logits = np.array([[1.5, 2.0], [2.0, 1.0]], np.float32)
    found = evaluated(tf.estimator.RegressionHead(2), logits, labels)
    np.testing.assert_allclose(found["loss"], ((labels - logits) ** 2).mean())
    np.testing.assert_allclose(found["label/mean"], labels.mean())
    np.testing.assert_allclose(found["prediction/mean"], logits.mean())
    poisson = tf.estimator.PoissonRegressionHead(2, compute_full_loss=False)
    found = evaluated(poisson, logits, labels)
    np.testing.assert_allclose(found["loss"], (np.exp(logits) - labels * logits).mean(), rtol=1e-5)
    np.testing.assert_allclose(found["prediction/mean"], np.exp(logits).mean(), rtol=1e-5)
    found = evaluated(tf.estimator.LogisticRegressionHead(), LOGITS, BINARY)
    np.testing.assert_allclose(found["loss"], cross_entropy(BINARY, LOGITS).mean(), rtol=1e-5)


def test_several_heads() -> None:
    heads = [tf.estimator.RegressionHead(name="n"), tf.estimator.BinaryClassHead(name="b")]
    head = tf.estimator.MultiHead(heads, head_weights=[1.0, 0.5])
    assert (head.name, head.logits_dimension) == ("n_b", 2)
    both = np.concatenate([LOGITS, LOGITS], axis=1)
    found = evaluated(head, both, {"n": tf.constant(BINARY), "b": tf.constant(BINARY)})
    expected = ((LOGITS - BINARY) ** 2).mean() + 0.5 * cross_entropy(BINARY, LOGITS).mean()
    np.testing.assert_allclose(found["loss"], expected, rtol=1e-5)
    assert {"average_loss/n", "average_loss/b", "accuracy/b", "label/mean/n"} <= set(found)
    spec = head.create_estimator_spec({}, "infer", tf.constant(both))
    assert ("b", "probabilities") in spec.predictions
    assert {"serving_default", "n", "b", "n/regression", "b/classification", "predict"} <= set(
        spec.export_outputs
    )
    for arguments, text in (
        (([],), "Must specify heads"),
        (([heads[0], heads[0]],), "different names"),
        (([tf.estimator.RegressionHead()],), "must have name"),
        ((heads, [1.0]), "same size"),
    ):
        with pytest.raises(ValueError, match=text):
            tf.estimator.MultiHead(*arguments)
    with pytest.raises(ValueError, match="labels of the head 'b' are missing"):
        head.create_estimator_spec({}, "eval", tf.constant(both), {"n": tf.constant(BINARY)})


def test_training_is_by_optimizer_or_function() -> None:
    head = tf.estimator.RegressionHead()
    w = tf.Variable([[1.0]])
    logits = tf.matmul(tf.constant(LOGITS), w)
    step = tf.train.create_global_step()
    update = tf.assign_add(tf.Variable(0.0, name="counted"), 1.0)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
    spec = head.create_estimator_spec(
        {}, "train", logits, tf.constant(BINARY), optimizer=tf.train.GradientDescentOptimizer(0.1)
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(spec.train_op)
        assert session.run([step, "counted:0"]) == [1, 1.0]
    for options in ({}, {"optimizer": tf.train.AdamOptimizer(), "train_op_fn": lambda loss: loss}):
        with pytest.raises(ValueError, match="Exactly one of train_op_fn and optimizer"):
            head.create_estimator_spec({}, "train", logits, tf.constant(BINARY), **options)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (None, "You must provide a labels Tensor"),
        ({"a": 1}, "no dict of several"),
        (np.zeros([4, 2]), "number of labels per example does not match"),
        (np.zeros([3, 1]), "different batch sizes"),
        (np.array([["a"]] * 4), "Labels dtype should be integer"),
    ],
)
def test_labels_that_do_not_fit(labels: Any, text: str) -> None:
    given = labels if labels is None or isinstance(labels, dict) else tf.constant(labels)
    head = tf.estimator.MultiClassHead(3)
    with pytest.raises(ValueError, match=text):
        head.create_estimator_spec({}, "eval", tf.zeros([4, 3]), given)


@pytest.mark.parametrize("label", [-1, 3])
def test_labels_outside_of_the_classes_are_told(label: int) -> None:
    labels = tf.placeholder(tf.int64, [1])
    spec = tf.estimator.MultiClassHead(3).create_estimator_spec({}, "eval", tf.zeros([1, 3]), labels)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Labels must be"):
        session.run(spec.loss, {labels: [label]})


def test_heads_are_checked() -> None:
    for make, text in (
        (lambda: tf.estimator.MultiClassHead(2), "n_classes must be > 2"),
        (lambda: tf.estimator.MultiLabelHead(1), "n_classes must be > 1"),
        (lambda: tf.estimator.BinaryClassHead(thresholds=[1.5]), "thresholds not in"),
        (lambda: tf.estimator.BinaryClassHead(label_vocabulary=["a"]), "Length of label_vocabulary"),
        (lambda: tf.estimator.RegressionHead(0), "Invalid label_dimension"),
        (lambda: tf.estimator.RegressionHead(loss_reduction="nope"), "Invalid loss_reduction"),
    ):
        with pytest.raises(ValueError, match=text):
            make()
    head = tf.estimator.RegressionHead(weight_column="w")
    with pytest.raises(ValueError, match="Weights w should exist"):
        head.create_estimator_spec({"x": 1}, "eval", tf.zeros([1, 1]), tf.zeros([1]))
    with pytest.raises(ValueError, match="logits shape must be"):
        head.create_estimator_spec({}, "infer", tf.zeros([1, 2]))


def test_a_loss_of_ones_own() -> None:
    head = tf.estimator.RegressionHead(loss_fn=lambda labels, logits: abs(labels - logits))
    found = evaluated(head, LOGITS, BINARY)
    np.testing.assert_allclose(found["loss"], abs(LOGITS - BINARY).mean(), rtol=1e-6)
    wrong = tf.estimator.RegressionHead(loss_fn=lambda labels: labels)
    with pytest.raises(ValueError, match="loss_fn must contain argument: logits"):
        evaluated(wrong, LOGITS, BINARY)


def test_an_optimizer_of_a_program_needs_no_list_of_variables() -> None:
    class Own:
        def minimize(self, loss: Any, global_step: Any) -> Any:
            return tf.group(tf.identity(loss), tf.assign_add(global_step, 7))

    step = tf.train.create_global_step()
    head = tf.estimator.RegressionHead()
    spec = head.create_estimator_spec(
        {}, "train", tf.constant([[1.0]]), tf.constant([[2.0]]), optimizer=Own()
    )
    with tf.Session() as session:
        session.run(step.initializer)
        session.run(spec.train_op)
        assert session.run(step) == 7
