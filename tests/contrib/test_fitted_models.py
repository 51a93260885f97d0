"""`tf.contrib.learn.Estimator` and what its model functions and evaluations are made of."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

learn, layers = tf.contrib.learn, tf.contrib.layers
RNG = np.random.default_rng(4)
X = RNG.normal(size=(50, 3)).astype("f")
CLASSES = (X[:, 0] > 0).astype("i8")


def classifier(features: Any, targets: Any) -> Any:
    """A model as those of TensorFlow 1.0 were: of two parameters, with labels also where it predicts."""
    logits = layers.fully_connected(features, 2, activation_fn=None)
    loss = tf.losses.softmax_cross_entropy(tf.one_hot(targets, 2, 1, 0), logits)
    train = layers.optimize_loss(loss, tf.train.get_global_step(), 0.1, "Adam")
    return {"class": tf.argmax(logits, 1), "prob": tf.nn.softmax(logits)}, loss, train


def line(features: Any, labels: Any, mode: str, params: Any, config: Any, model_dir: str) -> Any:
    assert config.model_dir == model_dir
    predictions, loss = learn.models.linear_regression_zero_init(features, labels)
    train = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    error = tf.metrics.mean_absolute_error(labels, predictions)
    ended = {"error": error, "one": tf.constant(1.0)} if mode == learn.ModeKeys.EVAL else None
    return learn.ModelFnOps(mode, predictions, loss, train, ended)


def test_a_model_of_two_parameters_is_fitted_with_arrays(tmp_path: Path) -> None:
    estimator = learn.Estimator(classifier, str(tmp_path))
    with pytest.raises(learn.NotFittedError, match="find trained model"):
        estimator.predict(X)
    like = learn.SKCompat(estimator)
    assert like.fit(X, CLASSES, batch_size=20, steps=60) is like
    predicted = like.predict(X, batch_size=20)
    assert predicted["prob"].shape == (50, 2)
    right = np.mean(predicted["class"] == CLASSES)
    assert right > 0.9
    assert [row["class"] for row in estimator.predict(X, outputs=["class"])] == predicted["class"].tolist()
    first = estimator.predict(X, batch_size=8, as_iterable=False)
    assert first["prob"] == pytest.approx(predicted["prob"][:8])

    metrics = {
        "right": learn.MetricSpec(tf.contrib.metrics.streaming_accuracy, "class"),
        ("older", "class"): tf.contrib.metrics.streaming_accuracy,
    }
    result = like.score(X, CLASSES, metrics=metrics)
    assert result["right"] == result["older"] == pytest.approx(right)
    assert result["global_step"] == 60
    assert result["loss"] < 0.5
    assert "right" not in estimator.evaluate(x=X, y=CLASSES)


def test_a_model_gets_what_it_has_parameters_for(tmp_path: Path) -> None:
    target = (X @ [1.0, 2.0, 3.0]).astype("f")

    def constant() -> Any:
        return tf.constant(X), tf.constant(target)

    estimator = learn.Estimator(line, str(tmp_path), params={"rate": 0.1})
    assert estimator.fit(input_fn=constant, steps=80) is estimator
    assert estimator.get_variable_value("linear_regression/weights")[:, 0] == pytest.approx(
        [1, 2, 3], abs=0.1
    )
    result = estimator.evaluate(input_fn=constant, steps=1)
    assert result["error"] < 0.1
    assert result["one"] == 1.0
    # What has no queue is predicted once.
    found = list(estimator.predict(input_fn=constant))
    assert found == pytest.approx(target, abs=0.5)
    assert [len(batch) for batch in estimator.predict(x=X, batch_size=30, iterate_batches=True)] == [30, 20]
    with pytest.raises(ValueError, match="params argument"):
        learn.Estimator(classifier, params={"rate": 1})


def test_features_are_made_before_the_model_sees_them(tmp_path: Path) -> None:
    seen = []

    def doubled(features: Any, labels: Any) -> Any:
        seen.append((sorted(features), labels["class"].dtype))
        return tf.concat([features["a"], features["b"]], 1) * 2, labels["class"]

    estimator = learn.Estimator(classifier, str(tmp_path), feature_engineering_fn=doubled)
    features = {"a": X[:, :1], "b": X[:, 1:]}

    def given() -> Any:
        return {name: tf.constant(value) for name, value in features.items()}, {"class": tf.constant(CLASSES)}

    estimator.fit(input_fn=given, steps=2)
    assert len(list(estimator.predict(x=features, batch_size=50))) == 50
    assert seen == [(["a", "b"], tf.int64)] * 2


def test_what_a_model_function_returns_is_checked() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Missing train_op"):
            learn.ModelFnOps(learn.ModeKeys.TRAIN, loss=tf.constant(1.0))
        with pytest.raises(ValueError, match="Missing loss"):
            learn.ModelFnOps(learn.ModeKeys.EVAL, predictions=tf.constant(1.0))
        with pytest.raises(ValueError, match="Missing predictions"):
            learn.ModelFnOps(learn.ModeKeys.INFER)
        with pytest.raises(ValueError, match="Invalid mode"):
            learn.ModelFnOps("other")
        made = learn.ModelFnOps(learn.ModeKeys.INFER, {"a": [1.0]}, train_op=tf.constant(1.0))
        assert isinstance(made.train_op, tf.Operation)
        assert made.estimator_spec().predictions["a"].shape == [1]


def test_a_metric_gets_what_its_parameters_are_named_for() -> None:
    def positions(labels: Any, guess: Any, weight: Any = None) -> Any:
        return labels, guess, weight

    def named(logits: Any, target: Any) -> Any:
        return target, logits, None

    def alone(guess: Any) -> Any:
        return None, guess, None

    features, labels, predictions = {"w": 3}, {"l": 1}, {"p": 2, "q": 4}
    made = partial(learn.MetricSpec, prediction_key="p")
    for metric, wanted in ((positions, (1, 2, None)), (named, (1, 2, None)), (alone, (None, 2, None))):
        assert made(metric).create_metric_ops(features, labels, predictions) == wanted
    assert made(positions, weight_key="w").create_metric_ops(features, labels, predictions) == (1, 2, 3)
    with pytest.raises(ValueError, match="single element"):
        learn.MetricSpec(alone).create_metric_ops(features, labels, predictions)
    with pytest.raises(KeyError, match="missing"):
        learn.MetricSpec(alone, "other").create_metric_ops(features, labels, predictions)
    with pytest.raises(ValueError, match="requires predictions dict"):
        learn.MetricSpec(alone, "p").create_metric_ops(features, labels, 2)
    with pytest.raises(ValueError, match="missing from"):
        learn.MetricSpec(alone, label_key="l")
    with pytest.raises(ValueError, match="Ambiguous"):
        learn.MetricSpec(lambda label, target: None)


def test_classes_are_weighed_in_a_logistic_regression() -> None:
    with tf.Graph().as_default():
        one_hot = np.eye(2, dtype="f")[CLASSES]
        probabilities, loss = learn.models.logistic_regression_zero_init(tf.constant(X), tf.constant(one_hot))
        with tf.variable_scope("second"):
            weighed, _ = learn.models.logistic_regression(
                tf.constant(X), tf.constant(one_hot), class_weight=tf.constant([0.0, 0.0])
            )
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(probabilities) == pytest.approx(np.full((50, 2), 0.5))
            assert session.run(loss) == pytest.approx(np.log(2))
            assert session.run(weighed) == pytest.approx(np.full((50, 2), 0.5))


def test_arrays_and_frames_are_shuffled_unless_told_otherwise(tmp_path: Path) -> None:
    features = [layers.real_valued_column("x", dimension=1)]
    estimator = learn.LinearRegressor(features, str(tmp_path))
    x = np.array([1.0, 2.0, 3.0, 4.0])
    given = learn.io.numpy_input_fn({"x": x}, -x, batch_size=2, num_epochs=5)
    assert estimator.fit(input_fn=given).evaluate(input_fn=given)["global_step"] == 10
    assert learn.io.extract_pandas_data(x) is x
    assert learn.io.extract_pandas_labels(x) is x
    assert learn.io.extract_pandas_matrix(x) is x
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert learn.io.extract_pandas_data(frame).dtype == np.float64
    assert learn.io.extract_pandas_matrix(frame).tolist() == [[1, 3], [2, 4]]
    assert learn.io.extract_pandas_labels(frame[["b"]]).tolist() == [[3], [4]]
    with pytest.raises(ValueError, match="one column"):
        learn.io.extract_pandas_labels(frame)
    with pytest.raises(ValueError, match="int, float, or bool"):
        learn.io.extract_pandas_data(pandas.DataFrame({"a": ["x"]}))
    batch = learn.io.pandas_input_fn(frame, frame["a"], batch_size=2)()
    assert sorted(batch[0]) == ["a", "b"]
