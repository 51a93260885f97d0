"""The estimators and columns of `tf.contrib.learn` and `tf.contrib.layers`, and small parts."""

from __future__ import annotations

import itertools
import json
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
    assert sorted(result) == ["accuracy", "global_step", "loss"]
    chances = np.stack(list(classifier.predict_proba(X)))
    assert result["loss"] == pytest.approx(-np.log(chances[np.arange(60), LABELS]).mean(), rel=1e-4)
    found = list(classifier.predict(X, as_iterable=True))
    assert np.mean(found == LABELS) == pytest.approx(result["accuracy"])
    assert np.stack(list(classifier.predict_proba(X))).sum(1) == pytest.approx(np.ones(60), abs=1e-5)
    like = learn.SKCompat(classifier)
    predicted = like.predict(X, batch_size=7)
    assert predicted["classes"].tolist() == found
    assert predicted["probabilities"].shape == predicted["logits"].shape == (60, 3)
    assert list(like.predict(X, outputs=["classes"])) == ["classes"]
    with pytest.raises(ValueError, match="at least one output"):
        like.predict(X, outputs=["scores"])
    assert like.score(X, LABELS)["accuracy"] == result["accuracy"]
    with pytest.raises(ValueError, match="x or input_fn"):
        classifier.fit()


def test_a_loss_is_a_mean_and_metrics_have_their_older_names(tmp_path: Path) -> None:
    """So that a step goes as far with a batch of any size, unlike those of `tf.estimator`."""
    columns = [layers.real_valued_column("", dimension=2)]
    weights = []
    for copies in (1, 3):
        classifier = learn.LinearClassifier(
            columns, str(tmp_path / str(copies)), optimizer=tf.train.GradientDescentOptimizer(0.5)
        )
        classifier.fit(np.tile(X, (copies, 1)), np.tile(LABELS > 0, copies), steps=3)
        weights.append(classifier.get_variable_value("linear/linear_model/x/weights"))
    assert weights[0] == pytest.approx(weights[1], rel=1e-4)
    result = classifier.evaluate(X, LABELS > 0)
    assert result["accuracy/threshold_0.500000_mean"] == result["accuracy"]
    assert result["accuracy/baseline_label_mean"] == pytest.approx((LABELS > 0).mean())
    assert {"loss", "auc", "labels/prediction_mean", "recall/positive_threshold_0.500000_mean"} < set(result)


def test_the_only_feature_needs_no_name(tmp_path: Path) -> None:
    columns = [layers.real_valued_column("", dimension=2)]
    classifier = learn.LinearClassifier(columns, str(tmp_path), n_classes=3).fit(X, LABELS, steps=2)
    assert len(list(classifier.predict(X))) == 60


def test_a_regressor_is_fitted_with_an_input_function(tmp_path: Path) -> None:
    def input_fn() -> Any:
        return {"age": tf.constant(X[:, :1]), "job": tf.constant(["a", "b"] * 30)}, tf.constant(X[:, :1] * 2)

    columns = [
        layers.real_valued_column("age"),
        layers.one_hot_column(layers.sparse_column_with_keys("job", ["a", "b"])),
    ]
    regressor = learn.DNNRegressor(
        [6],
        columns,
        str(tmp_path),
        optimizer=tf.train.AdamOptimizer(0.05),
        config=learn.RunConfig(tf_random_seed=1),
    )
    regressor.fit(input_fn=input_fn, steps=80)
    assert regressor.evaluate(input_fn=input_fn, steps=1)["loss"] < 0.2
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
    # The number, and one of each one-hot pair; the embedding is random.
    assert rows[0].tolist().count(1.0) == 3
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


@pytest.mark.parametrize("kind", ["parsing", "default"])
def test_a_fitted_classifier_is_exported(tmp_path: Path, kind: str) -> None:
    column = layers.real_valued_column("n")
    classifier = learn.LinearClassifier([column], model_dir=str(tmp_path / "model"))
    classifier.fit(input_fn=lambda: ({"n": tf.constant([[1.0], [-1.0]])}, tf.constant([1, 0])), steps=5)
    utils = learn.utils.input_fn_utils
    if kind == "parsing":
        spec = layers.create_feature_spec_for_parsing([column])
        input_fn = utils.build_parsing_serving_input_fn(spec)
        features = tf.train.Features(
            feature={"n": tf.train.Feature(float_list=tf.train.FloatList(value=[3.0]))}
        )
        fed: Any = [tf.train.Example(features=features).SerializeToString()]
    else:
        input_fn = utils.build_default_serving_input_fn({"n": tf.constant([[0.0]])})
        fed = [[3.0]]
    made = input_fn()
    assert isinstance(made, learn.InputFnOps)
    assert (set(made.features), made.labels) == ({"n"}, None)
    path = classifier.export_savedmodel(str(tmp_path / "out"), input_fn)
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], path.decode())
        signature = loaded.signature_def["predict"]
        (given,) = signature.inputs.values()
        classes = session.run(signature.outputs["class_ids"].name, {given.name: fed})
    assert classes.tolist() == [[1]]


@pytest.mark.parametrize(
    ("config", "arguments", "expected"),
    [
        ({}, {}, ("", True, 0, "worker")),
        ({"cluster": {"ps": []}, "task": {"index": 0}}, {"master": ""}, ("", True, 0, "worker")),
        ({"task": {"index": 2}}, {"master": "grpc://a:1"}, ("grpc://a:1", False, 0, "worker")),
        (
            {"cluster": {"ps": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}},
            {},
            ("grpc://c:1", False, 1, "worker"),
        ),
        (
            {"cluster": {"ps": ["a:1"], "master": ["b:1"]}, "task": {"type": "master", "index": 0}},
            {},
            ("grpc://b:1", True, 1, "master"),
        ),
    ],
)
def test_a_configuration_needs_no_chief(
    monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], arguments: dict[str, Any], expected: Any
) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    made = learn.RunConfig(**arguments, evaluation_master="grpc://e:1", gpu_memory_fraction=0.5)
    assert isinstance(made, tf.estimator.RunConfig)
    assert (made.master, made.is_chief, made.num_ps_replicas, made.task_type) == expected
    assert made.evaluation_master == "grpc://e:1"
    assert made.session_config.gpu_options.per_process_gpu_memory_fraction == 0.5
    assert made.replace(save_summary_steps=7).master == made.master
    assert learn.RunConfig(save_checkpoints_steps=5).save_checkpoints_secs is None


def test_an_experiment_takes_a_fitted_estimator(tmp_path: Path) -> None:
    columns = learn.infer_real_valued_columns_from_input(X)
    classifier = learn.LinearClassifier(
        columns, str(tmp_path), n_classes=3, config=learn.RunConfig(master="", tf_random_seed=3)
    )

    def input_fn() -> Any:
        return tf.constant(X), tf.constant(LABELS)

    experiment = learn.Experiment(
        classifier, input_fn, input_fn, train_steps=6, eval_steps=1, min_eval_frequency=2
    )
    experiment.train()
    assert experiment.evaluate()["global_step"] == 6
    # No queue says when these features end, so there is one batch of predictions.
    assert len(list(itertools.islice(classifier.predict(input_fn=input_fn), 2 * len(X)))) == len(X)
