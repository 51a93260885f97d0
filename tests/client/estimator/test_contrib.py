"""tf.contrib.estimator and tf.contrib.learn, as far as they are about estimators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.client.estimator import models


def test_features_among_the_predictions(tmp_path: Path) -> None:
    estimator = tf.estimator.Estimator(models.linear, str(tmp_path / "m")).train(models.train_fn, steps=1)
    forwarding = tf.contrib.estimator.forward_features(estimator, "x")
    found = list(forwarding.predict(models.eval_fn))
    np.testing.assert_array_equal([each["x"] for each in found], models.X)
    path = forwarding.export_saved_model(str(tmp_path / "e"), models.serving_fn)
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.load(session, [tf.saved_model.SERVING], path)
    assert set(loaded.signature_def["serving_default"].outputs) == {"x", "y", "twice"}
    for keys, kind, text in (
        ([3], TypeError, "must be strings"),
        ("z", ValueError, "'z' is not in features"),
    ):
        with pytest.raises(kind, match=text):
            next(tf.contrib.estimator.forward_features(estimator, keys).predict(models.eval_fn))


def test_gradients_are_shortened() -> None:
    w = tf.Variable([3.0, 4.0])
    optimizer = tf.contrib.estimator.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), 1.0)
    step = optimizer.minimize(tf.reduce_sum(w * w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(w), [3.0 - 0.6, 4.0 - 0.8], rtol=1e-6)


def test_heads_by_functions() -> None:
    head = tf.contrib.estimator.regression_head(weight_column="w", label_dimension=2)
    assert isinstance(head, tf.estimator.RegressionHead)
    assert head.logits_dimension == 2
    several = tf.contrib.estimator.multi_head(
        [
            tf.contrib.estimator.binary_classification_head(name="a"),
            tf.contrib.estimator.multi_class_head(3, name="b"),
            tf.contrib.estimator.multi_label_head(4, name="c"),
            tf.contrib.estimator.poisson_regression_head(name="d"),
            tf.contrib.estimator.logistic_regression_head(name="e"),
        ]
    )
    assert several.logits_dimension == 1 + 3 + 4 + 1 + 1


def experiment(folder: Path, **options: Any) -> Any:
    config = tf.contrib.learn.RunConfig(model_dir=str(folder), save_checkpoints_steps=4)
    return tf.contrib.learn.Experiment(
        tf.estimator.Estimator(models.linear, config=config),
        *(models.train_fn, models.eval_fn),
        **{"train_steps": 8, "eval_steps": None, **options},
    )


def test_an_experiment_trains_and_evaluates(tmp_path: Path) -> None:
    result, _ = tf.contrib.learn.learn_runner.run(
        lambda run_config, hparams: experiment(Path(run_config.model_dir), train_steps=hparams),
        run_config=tf.contrib.learn.RunConfig(model_dir=str(tmp_path / "a")),
        hparams=6,
    )
    assert result["global_step"] == 6
    trained = tf.contrib.learn.learn_runner.run(
        lambda folder: experiment(Path(folder)), str(tmp_path / "b"), schedule="train"
    )
    assert trained.get_variable_value("global_step") == 8
    assert experiment(tmp_path / "b").evaluate()["global_step"] == 8
    assert experiment(tmp_path / "c").test()["global_step"] == 1


@pytest.mark.parametrize(
    ("job", "method"),
    [
        ("chief", "train"),
        ("worker", "train"),
        ("ps", "run_std_server"),
        ("evaluator", "continuous_eval"),
    ],
)
def test_each_task_has_its_schedule(
    job: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = {"chief": ["a:1"], "ps": ["b:1"], "worker": ["c:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": job, "index": 0}}))
    made = experiment(tmp_path)
    called: list[str] = []
    for name in ("train", "run_std_server", "continuous_eval", "train_and_evaluate"):
        monkeypatch.setattr(made, name, lambda name=name: called.append(name))
    tf.contrib.learn.learn_runner.run(lambda folder: made, str(tmp_path))
    assert called == [method]


def test_experiments_are_checked(tmp_path: Path) -> None:
    run = tf.contrib.learn.learn_runner.run
    with pytest.raises(ValueError, match="Exactly one of `output_dir` and `run_config`"):
        run(lambda folder: experiment(tmp_path))
    with pytest.raises(TypeError, match="did not return an Experiment"):
        run(lambda folder: 3, "x")  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="non-existent task nope"):
        run(lambda folder: experiment(tmp_path), "x", schedule="nope")
    with pytest.raises(ValueError, match="`eval_metrics` must be None"):
        experiment(tmp_path, eval_metrics={})
    with pytest.raises(ValueError, match=r"must be a tf\.estimator\.Estimator"):
        tf.contrib.learn.Experiment(3, models.train_fn, models.eval_fn)  # type: ignore[arg-type]
