"""The estimators and columns of `tf.contrib.learn` and `tf.contrib.layers`, and small parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

learn, layers = tf.contrib.learn, tf.contrib.layers
RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 2)).astype("f")
LABELS = (X[:, 0] > 0).astype("i8") + (X[:, 1] > 0)


def test_a_classifier_is_fitted_with_arrays(tmp_path: Path) -> None:
    columns = learn.infer_real_valued_columns_from_input(X)
    classifier = learn.DNNClassifier(
        hidden_units=[12], n_classes=3, feature_columns=columns, model_dir=str(tmp_path)
    )
    assert classifier.fit(X, LABELS, steps=150, batch_size=30) is classifier
    result = classifier.evaluate(x=X, y=LABELS)
    assert result["accuracy"] > 0.8
    assert result["global_step"] == 150
    found = list(classifier.predict(X, as_iterable=True))
    assert np.mean(found == LABELS) == pytest.approx(result["accuracy"])
    assert np.stack(list(classifier.predict_proba(X))).sum(1) == pytest.approx(np.ones(60), abs=1e-5)
    like = learn.SKCompat(classifier)
    assert like.predict(X).tolist() == found
    assert like.score(X, LABELS)["accuracy"] == result["accuracy"]
    with pytest.raises(ValueError, match="x or input_fn"):
        classifier.fit()


def test_a_regressor_is_fitted_with_an_input_function(tmp_path: Path) -> None:
    def input_fn() -> Any:
        return {"age": tf.constant(X[:, :1]), "job": tf.constant(["a", "b"] * 30)}, tf.constant(X[:, :1] * 2)

    columns = [
        layers.real_valued_column("age"),
        layers.one_hot_column(layers.sparse_column_with_keys("job", ["a", "b"])),
    ]
    regressor = learn.DNNRegressor([6], columns, str(tmp_path), optimizer=tf.train.AdamOptimizer(0.05))
    regressor.fit(input_fn=input_fn, steps=80)
    assert regressor.evaluate(input_fn=input_fn, steps=1)["average_loss"] < 0.2
    assert len(regressor.get_variable_names()) > 4
    with pytest.raises(NotImplementedError, match="gradient_clip_norm"):
        learn.LinearRegressor(columns, gradient_clip_norm=3.0)


def test_inputs_and_sums_of_columns() -> None:
    features = {
        "n": tf.constant([[1.0], [3.0]]),
        "w": tf.constant([["x"], ["y"]]),
        "k": tf.constant([[0], [1]]),
    }
    number = layers.real_valued_column("n")
    hashed = layers.sparse_column_with_hash_bucket("w", 5)
    columns = [
        number,
        layers.bucketized_column(number, [2.0]),
        layers.one_hot_column(layers.sparse_column_with_integerized_feature("k", 2)),
        layers.embedding_column(hashed, 3),
    ]
    dense = layers.input_from_feature_columns(features, columns)
    crossed = layers.crossed_column([hashed, layers.sparse_column_with_keys("w", ["x", "y"])], 7)
    assert crossed.hash_bucket_size == 7
    outputs, weights, bias = layers.weighted_sum_from_feature_columns(features, [hashed, number], 2)
    assert (dense.shape.as_list(), outputs.shape.as_list(), len(weights)) == ([2, 8], [2, 2], 2)
    assert bias is not None
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        rows = session.run(dense)
    # Columns are ordered by their names.
    assert sorted(rows[0].tolist())[-3:] == [1.0, 1.0, 1.0]
    assert 3.0 in rows[1]


def test_small_parts_of_framework() -> None:
    framework = tf.contrib.framework
    fed = tf.placeholder(tf.float32, [None, None])
    checked = framework.with_shape([2, 3], fed)
    assert checked.shape.as_list() == [2, 3]
    same = framework.with_same_shape(tf.zeros([2, 2]), tf.ones([2, 2]))
    total = framework.reduce_sum_n([tf.ones([2]), tf.ones([3, 2])])
    with tf.contrib.compiler.jit.experimental_jit_scope(), tf.name_scope("here"):
        assert framework.get_name_scope() == "here"
    with tf.Session() as session:
        assert session.run([total, tf.reduce_sum(same)]) == [8.0, 4.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong shape"):
            session.run(checked, {fed: np.zeros((3, 3))})
    with pytest.raises(ValueError, match="Incompatible shapes"):
        framework.with_shape([4], tf.zeros([3]))
    with pytest.raises(ValueError, match="Expected scalar"):
        framework.assert_scalar_int(tf.constant([1]))
    chooser = framework.VariableDeviceChooser(num_tasks=2)
    with tf.device(chooser):
        devices = [tf.Variable(0.0, name=f"v{n}").device for n in range(2)]
    assert len(set(devices)) == 2
    assert tf.contrib.compiler.xla.compile(lambda x: x + 1, [2]) == 3
    tf.contrib.deprecated.scalar_summary("a loss", tf.constant(1.0))
    assert tf.get_collection(tf.GraphKeys.SUMMARIES)[0].op.name == "a_loss"
