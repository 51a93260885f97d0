"""`tf.contrib.predictor` for estimators; the numbers are TensorFlow 1.15's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

learn, layers, predictor = tf.contrib.learn, tf.contrib.layers, tf.contrib.predictor
X = np.array([[1.0], [2.0], [3.0]], "f")


def input_fn() -> Any:
    return {"x": tf.constant(X)}, tf.constant(2 * X)


def raw() -> Any:
    return tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 1])}
    )


def fed() -> Any:
    return learn.utils.input_fn_utils.build_default_serving_input_fn({"x": tf.constant(X)})


@pytest.fixture
def regressor(tmp_path: Path) -> Any:
    made = tf.estimator.LinearRegressor(
        [tf.feature_column.numeric_column("x")],
        str(tmp_path),
        optimizer=tf.train.GradientDescentOptimizer(0.01),
    )
    return made.train(input_fn, steps=3)


def test_an_estimator_is_a_function(regressor: Any) -> None:
    expected = [[1.687328], [2.872288], [4.057248]]
    predict = predictor.from_estimator(regressor, raw(), output_key="predict")
    assert predict({"x": X})["predictions"].tolist() == [pytest.approx(row) for row in expected]
    assert list(predict.feed_tensors) == ["x"]
    assert "feed tensors" in repr(predict)
    with pytest.raises(ValueError, match="unexpected keys"):
        predict({"y": X})
    predict.close()

    spec = {"x": tf.FixedLenFeature([1], tf.float32)}
    parsing = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=row.tolist()))}
            )
        ).SerializeToString()
        for row in X
    ]
    graph = tf.Graph()
    predict = predictor.from_estimator(regressor, parsing, graph=graph)
    assert predict.graph is predict.session.graph is graph
    found = predict({"inputs": examples})
    assert found["outputs"].tolist() == [pytest.approx(row) for row in expected]
    predict.close()
    with pytest.raises(KeyError, match="output_key must be one of"):
        predictor.from_estimator(regressor, raw(), "other")
    with pytest.raises(ValueError, match="string"):  # its default output takes Examples
        predictor.from_estimator(regressor, raw())


def test_a_classifier_of_learn_tells_classes_and_probabilities(tmp_path: Path) -> None:
    classifier = learn.LinearClassifier(
        [layers.real_valued_column("x")],
        str(tmp_path),
        n_classes=3,
        optimizer=tf.train.GradientDescentOptimizer(0.1),
    )
    classifier.fit(input_fn=lambda: ({"x": tf.constant(X)}, tf.constant([0, 1, 2])), steps=4)
    predict = predictor.from_contrib_estimator(classifier, fed())
    found = predict({"x": X})
    predict.close()
    assert sorted(found) == ["classes", "probabilities"]
    assert found["classes"].tolist() == [[b"0", b"1", b"2"]] * 3
    expected = [
        [0.302132785, 0.332993627, 0.364873618],
        [0.268752456, 0.330026835, 0.401220769],
        [0.237319306, 0.324704707, 0.437976003],
    ]
    np.testing.assert_allclose(found["probabilities"], expected, rtol=1e-5)
    with pytest.raises(ValueError, match="Requested default_output_alternative: head"):
        predictor.from_contrib_estimator(classifier, fed(), output_alternative_key="head")
    with pytest.raises(KeyError, match="default_input_alternative"):
        predictor.from_contrib_estimator(classifier, fed(), "other")


def test_a_regressor_of_learn_tells_scores(tmp_path: Path, regressor: Any) -> None:
    made = learn.LinearRegressor(
        [layers.real_valued_column("x")],
        str(tmp_path / "learn"),
        optimizer=tf.train.GradientDescentOptimizer(0.01),
    )
    made.fit(input_fn=input_fn, steps=4)
    predict = predictor.from_contrib_estimator(made, fed())
    assert predict({"x": X})["scores"] == pytest.approx([0.90134251, 1.53317177, 2.16500092])
    predict.close()
    with pytest.raises(TypeError, match="from_contrib_estimator"):
        predictor.from_estimator(made, raw())
    with pytest.raises(TypeError, match="from_estimator"):
        predictor.from_contrib_estimator(regressor, fed())


def test_heads_of_a_model_function_are_chosen_by_their_names(tmp_path: Path) -> None:
    heads: dict[str, float] = {}

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        y = tf.layers.dense(features["x"], 1, kernel_initializer=tf.ones_initializer())
        if mode == learn.ModeKeys.INFER:
            outputs = {name: ("linear_regression", {"s": factor * y}) for name, factor in heads.items()}
            return learn.ModelFnOps(mode, y, output_alternatives=outputs or None)
        loss = tf.reduce_mean(tf.square(labels - y))
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_global_step())
        return learn.ModelFnOps(mode, y, loss, train)

    estimator = learn.Estimator(model_fn, str(tmp_path)).fit(input_fn=input_fn, steps=2)
    predict = predictor.from_contrib_estimator(estimator, fed())
    output = predict({"x": X})["output"]
    np.testing.assert_allclose(output[:, 0], [1.25182223, 2.42817783, 3.60453343], rtol=1e-6)
    predict.close()
    heads.update(one=1.0)
    predict = predictor.from_contrib_estimator(estimator, fed())
    assert list(predict({"x": X})) == ["s"]
    predict.close()
    heads.update(two=2.0)
    predict = predictor.from_contrib_estimator(estimator, fed(), output_alternative_key="two")
    np.testing.assert_allclose(predict({"x": X})["s"], 2 * output, rtol=1e-6)
    predict.close()
    with pytest.raises(ValueError, match="Please specify a default_output_alternative"):
        predictor.from_contrib_estimator(estimator, fed())
    with pytest.raises(ValueError, match="Requested default_output_alternative: three"):
        predictor.from_contrib_estimator(estimator, fed(), output_alternative_key="three")
