"""The estimators that come with their models: variables, metrics and values as TensorFlow 1.15's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

X = np.linspace(0, 1, 32, dtype=np.float32)
C = np.array(["a", "b", "c", "d"] * 8)
TWO, THREE, NUMBER = (X > 0.5).astype(np.int32), (X * 2.9).astype(np.int32), X * 3
BINARY = {
    *("accuracy", "accuracy_baseline", "auc", "auc_precision_recall", "average_loss", "label/mean", "loss"),
    *("precision", "prediction/mean", "recall", "global_step"),
}
CLASSES = {"accuracy", "average_loss", "loss", "global_step"}
NUMBERS = {"average_loss", "label/mean", "loss", "prediction/mean", "global_step"}
PREDICTED = {"logits", "probabilities", "class_ids", "classes", "all_class_ids", "all_classes"}
LINEAR = [
    "linear/linear_model/bias_weights",
    "linear/linear_model/c/weights",
    "linear/linear_model/x/weights",
]


def columns() -> tuple[Any, Any]:
    return (
        tf.feature_column.numeric_column("x"),
        tf.feature_column.categorical_column_with_vocabulary_list("c", ["a", "b", "c"]),
    )


def input_fn(labels: Any, **options: Any) -> Any:
    options = {"batch_size": 8, "num_epochs": 1, "shuffle": False, **options}
    return tf.estimator.inputs.numpy_input_fn({"x": X, "c": C}, labels, **options)


def variables(estimator: Any) -> list[str]:
    """Without the slots of optimizers."""
    return [
        name
        for name in estimator.get_variable_names()
        if name.rpartition("/")[2] not in ("Adagrad", "Ftrl", "Ftrl_1") and name != "global_step"
    ]


# Zeros at first and rows in order: what TensorFlow's estimators have learned after these four steps.
LEARNED = {
    "linear classes": (
        *(
            lambda d: tf.estimator.LinearClassifier(columns(), d),
            TWO,
            LINEAR,
            BINARY,
            {*PREDICTED, "logistic"},
        ),
        {
            "loss": 5.5653048,
            "auc": 0.46874994,
            "auc_precision_recall": 0.43145174,
            "prediction/mean": 0.47147745,
        },
    ),
    "linear numbers": (
        *(lambda d: tf.estimator.LinearRegressor(columns(), d), NUMBER, LINEAR, NUMBERS, {"predictions"}),
        {"loss": 4.619013, "average_loss": 0.5773766, "prediction/mean": 1.5444901},
    ),
    "baseline of two": (
        *(lambda d: tf.estimator.BaselineClassifier(d), TWO, ["baseline/bias"], BINARY),
        {*PREDICTED, "logistic"},
        {"loss": 5.561326, "average_loss": 0.69516575, "auc_precision_recall": 0.74999994},
    ),
    "baseline of three": (
        *(lambda d: tf.estimator.BaselineClassifier(d, n_classes=3), THREE, ["baseline/bias"], CLASSES),
        *(PREDICTED, {"loss": 8.784296, "average_loss": 1.098037, "accuracy": 0.34375}),
    ),
    "baseline of numbers": (
        *(lambda d: tf.estimator.BaselineRegressor(d), NUMBER, ["baseline/bias"], NUMBERS, {"predictions"}),
        {"loss": 7.9873886, "average_loss": 0.9984236, "prediction/mean": 1.0527456},
    ),
}


@pytest.mark.parametrize("name", LEARNED)
def test_what_linear_models_learn(name: str, tmp_path: Path) -> None:
    make, labels, names, metrics, predicted, values = LEARNED[name]
    estimator = make(str(tmp_path)).train(input_fn(labels))
    assert variables(estimator) == names
    result = estimator.evaluate(input_fn(labels))
    assert set(result) == metrics
    np.testing.assert_allclose([result[key] for key in values], list(values.values()), rtol=1e-5)
    assert set(next(estimator.predict(input_fn(None)))) == predicted


def layers(*sizes: int, norm: bool = False) -> list[str]:
    names = []
    for index in range(len(sizes)):
        prefix = f"dnn/hiddenlayer_{index}"
        if norm:
            parts = ("beta", "gamma", "moving_mean", "moving_variance")
            names += [f"{prefix}/batchnorm_{index}/{part}" for part in parts]
        names += [f"{prefix}/bias", f"{prefix}/kernel"]
    return names


LOGITS = ["dnn/logits/bias", "dnn/logits/kernel"]
DEEP = {
    "classes": (
        lambda x, c, d: tf.estimator.DNNClassifier([4, 2], [x, tf.feature_column.embedding_column(c, 3)], d),
        *(TWO, BINARY),
        [
            *layers(4, 2),
            "dnn/input_from_feature_columns/input_layer/c_embedding/embedding_weights",
            *LOGITS,
        ],
    ),
    "normalized": (
        lambda x, c, d: tf.estimator.DNNClassifier([4, 2], [x], d, n_classes=3, batch_norm=True, dropout=0.1),
        *(THREE, CLASSES, [*layers(4, 2, norm=True), *LOGITS]),
    ),
    "numbers": (
        lambda x, c, d: tf.estimator.DNNRegressor([4], [x], d),
        *(NUMBER, NUMBERS, [*layers(4), *LOGITS]),
    ),
    "wide and deep": (
        lambda x, c, d: tf.estimator.DNNLinearCombinedClassifier(
            d, linear_feature_columns=[x, c], dnn_feature_columns=[x], dnn_hidden_units=[3], n_classes=3
        ),
        *(THREE, CLASSES, [*layers(3), *LOGITS, *LINEAR]),
    ),
    "wide and deep numbers": (
        lambda x, c, d: tf.estimator.DNNLinearCombinedRegressor(
            d, linear_feature_columns=[x, c], dnn_feature_columns=[x], dnn_hidden_units=[3]
        ),
        *(NUMBER, NUMBERS, [*layers(3), *LOGITS, *LINEAR]),
    ),
    "a head": (
        lambda x, c, d: tf.estimator.DNNEstimator(tf.estimator.MultiClassHead(3), [3], [x], d),
        *(THREE, CLASSES, [*layers(3), *LOGITS]),
    ),
    "a linear head": (
        lambda x, c, d: tf.estimator.LinearEstimator(tf.estimator.RegressionHead(), [x, c], d),
        *(NUMBER, NUMBERS, LINEAR),
    ),
    "a wide and deep head": (
        lambda x, c, d: tf.estimator.DNNLinearCombinedEstimator(
            *(tf.estimator.BinaryClassHead(), d),
            linear_feature_columns=[x, c],
            dnn_feature_columns=[x],
            dnn_hidden_units=[3],
        ),
        *(TWO, BINARY, [*layers(3), *LOGITS, *LINEAR]),
    ),
    "a head without features": (
        lambda x, c, d: tf.estimator.BaselineEstimator(tf.estimator.RegressionHead(), d),
        *(NUMBER, NUMBERS, ["baseline/bias"]),
    ),
}


@pytest.mark.parametrize("name", DEEP)
def test_variables_and_metrics(name: str, tmp_path: Path) -> None:
    make, labels, metrics, names = DEEP[name]
    estimator = make(*columns(), str(tmp_path)).train(input_fn(labels))
    assert variables(estimator) == names
    assert set(estimator.evaluate(input_fn(labels))) == metrics
    assert estimator.get_variable_value("global_step") == 4


def test_optimizers_have_slots_of_tensorflows_names(tmp_path: Path) -> None:
    x, c = columns()
    deep = tf.estimator.DNNRegressor([4], [x], str(tmp_path / "deep")).train(input_fn(NUMBER))
    assert "dnn/hiddenlayer_0/kernel/t_0/Adagrad" in deep.get_variable_names()
    wide = tf.estimator.LinearRegressor([x, c], str(tmp_path / "wide")).train(input_fn(NUMBER))
    assert "linear/linear_model/c/weights/part_0/Ftrl_1" in wide.get_variable_names()


def test_a_network_learns_what_is_not_linear(tmp_path: Path) -> None:
    """Exclusive or, by words for labels, with weights of the examples."""
    random = np.random.RandomState(0)
    points = random.uniform(-1, 1, (400, 2)).astype(np.float32)
    labels = np.where((points[:, :1] > 0) ^ (points[:, 1:] > 0), b"odd", b"even")
    features = {"p": points, "w": np.ones(400, np.float32)}
    estimator = tf.estimator.DNNClassifier(
        [16, 8],
        [tf.feature_column.numeric_column("p", shape=[2])],
        str(tmp_path),
        label_vocabulary=["even", "odd"],
        weight_column="w",
        optimizer=lambda: tf.train.AdamOptimizer(0.01),
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )
    fed = tf.estimator.inputs.numpy_input_fn(features, labels, batch_size=50, num_epochs=None, shuffle=True)
    estimator.train(fed, steps=300)
    once = tf.estimator.inputs.numpy_input_fn(features, labels, num_epochs=1, shuffle=False)
    assert estimator.evaluate(once)["accuracy"] > 0.9
    first = next(estimator.predict(once))
    assert first["classes"][0] in (b"even", b"odd")
    assert list(first["all_classes"]) == [b"even", b"odd"]


def test_it_is_served_by_examples(tmp_path: Path) -> None:
    x, c = columns()
    estimator = tf.estimator.LinearClassifier([x, c], str(tmp_path / "m")).train(input_fn(TWO))
    spec = tf.feature_column.make_parse_example_spec([x, c])
    receiver_fn = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = estimator.export_saved_model(str(tmp_path / "e"), receiver_fn)
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.append(0.25)
    example.features.feature["c"].bytes_list.value.append(b"a")
    with tf.Session(graph=tf.Graph()) as session:
        signatures = tf.saved_model.load(session, [tf.saved_model.SERVING], path).signature_def
        assert {name: signature.method_name for name, signature in signatures.items()} == {
            "serving_default": tf.saved_model.CLASSIFY_METHOD_NAME,
            "classification": tf.saved_model.CLASSIFY_METHOD_NAME,
            "regression": tf.saved_model.REGRESS_METHOD_NAME,
            "predict": tf.saved_model.PREDICT_METHOD_NAME,
        }
        default = signatures["serving_default"]
        feeds = {default.inputs["inputs"].name: [example.SerializeToString()]}
        scores, classes = session.run(
            [default.outputs["scores"].name, default.outputs["classes"].name], feeds
        )
    one = tf.estimator.inputs.numpy_input_fn(
        {"x": np.array([0.25], np.float32), "c": np.array(["a"])}, shuffle=False
    )
    np.testing.assert_allclose(scores[0], next(estimator.predict(one))["probabilities"], rtol=1e-6)
    assert classes.tolist() == [[b"0", b"1"]]


def test_what_examples_are_parsed_for() -> None:
    x, c = columns()
    spec = tf.estimator.classifier_parse_example_spec([x, c], "label", weight_column="w")
    assert spec["label"] == tf.FixedLenFeature((1,), tf.int64)
    assert spec["w"] == tf.FixedLenFeature((1,), tf.float32)
    assert set(spec) == {"x", "c", "label", "w"}
    numbers = tf.estimator.regressor_parse_example_spec([x], "y", label_dimension=3)
    assert numbers["y"] == tf.FixedLenFeature((3,), tf.float32)
    with pytest.raises(ValueError, match="label should not be used as feature"):
        tf.estimator.classifier_parse_example_spec([x], "x")
    with pytest.raises(TypeError, match="weight_column must be"):
        tf.estimator.classifier_parse_example_spec([x], "y", weight_column=3)


def test_arguments_are_checked(tmp_path: Path) -> None:
    x, _ = columns()
    combined = tf.estimator.DNNLinearCombinedClassifier
    for options, text in (
        ({}, "Either linear_feature_columns or dnn_feature_columns"),
        ({"dnn_feature_columns": [x]}, "dnn_hidden_units must be defined"),
        ({"linear_feature_columns": [x], "dnn_hidden_units": [3]}, "dnn_feature_columns must be defined"),
    ):
        with pytest.raises(ValueError, match=text):
            combined(**options)
    with pytest.raises(ValueError, match="Unsupported optimizer name: Nope"):
        tf.estimator.LinearClassifier([x], str(tmp_path), optimizer="Nope").train(input_fn(TWO))
    with pytest.raises(ValueError, match="not an Optimizer instance"):
        tf.estimator.LinearClassifier([x], str(tmp_path), optimizer=3).train(input_fn(TWO))
    with pytest.raises(ValueError, match="features should be a dictionary"):
        tf.estimator.LinearClassifier([x], str(tmp_path)).train(lambda: (tf.zeros([1]), tf.zeros([1])))
