"""Evaluations in memory, hooks that end training early, estimators made of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.estimator import early_stopping
from tests.client.estimator import models

experimental = tf.estimator.experimental


@pytest.fixture
def estimator(tmp_path: Path) -> Any:
    return tf.estimator.Estimator(models.linear, str(tmp_path / "model"))


def test_evaluations_in_memory_are_of_the_variables_as_they_are(estimator: Any) -> None:
    hook = experimental.InMemoryEvaluatorHook(estimator, models.eval_fn, name="memory", every_n_iter=4)
    estimator.train(models.train_fn, hooks=[hook], steps=10)
    found = early_stopping.read_eval_metrics(estimator.eval_dir("memory"))
    assert list(found) == [0, 4, 8, 10]
    for step, metrics in found.items():
        w, b = models.after(step)
        error = w * models.X + b - models.Y
        np.testing.assert_allclose(metrics["loss"], np.mean(error**2), rtol=1e-3)


def test_evaluations_in_memory_are_for_one_machine(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        experimental.InMemoryEvaluatorHook(estimator, models.eval_fn, every_n_iter=0)
    cluster = {"chief": ["a:1"], "ps": ["b:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}}))
    spread = tf.estimator.Estimator(models.linear, estimator.model_dir)
    with pytest.raises(ValueError, match="only single machine"):
        experimental.InMemoryEvaluatorHook(spread, models.eval_fn)


def written(estimator: Any, *losses: float) -> str:
    """Evaluations of steps 10, 20, …"""
    with tf.summary.FileWriter(estimator.eval_dir()) as writer:
        for index, loss in enumerate(losses):
            value = tf.Summary.Value(tag="loss", simple_value=loss)
            writer.add_summary(tf.Summary(value=[value]), 10 * (index + 1))
    return str(estimator.eval_dir())


@pytest.mark.parametrize(
    ("make", "arguments", "stops"),
    [
        (experimental.stop_if_lower_hook, ("loss", 1.5), True),
        (experimental.stop_if_lower_hook, ("loss", 0.5), False),
        (experimental.stop_if_higher_hook, ("loss", 2.5), True),
        (experimental.stop_if_higher_hook, ("loss", 3.5), False),
        (experimental.stop_if_no_decrease_hook, ("loss", 20), True),
        (experimental.stop_if_no_decrease_hook, ("loss", 30), False),
        (experimental.stop_if_no_increase_hook, ("loss", 30), True),
        (experimental.stop_if_no_increase_hook, ("loss", 40), False),
    ],
)
def test_training_ends_by_what_was_evaluated(
    make: Any, arguments: tuple[Any, ...], stops: bool, estimator: Any
) -> None:
    written(estimator, 3.0, 1.0, 2.0, 2.0)
    hook = make(estimator, *arguments, run_every_secs=None, run_every_steps=2)
    estimator.train(models.train_fn, hooks=[hook], steps=6)
    assert estimator.get_variable_value("global_step") == (1 if stops else 6)


def test_earlier_evaluations_do_not_count(estimator: Any) -> None:
    written(estimator, 3.0, 1.0)
    options = {"min_steps": 15, "run_every_secs": None, "run_every_steps": 1}
    hook = experimental.stop_if_higher_hook(estimator, "loss", 2.5, **options)
    estimator.train(models.train_fn, hooks=[hook], steps=3)
    assert estimator.get_variable_value("global_step") == 3
    unknown = experimental.stop_if_higher_hook(estimator, "nope", 2.5, **options)
    with pytest.raises(ValueError, match="has no metric 'nope'; it has loss"):
        estimator.train(models.train_fn, hooks=[unknown], steps=3)


def test_workers_see_that_the_chief_stops(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"chief": ["a:1"], "worker": ["b:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}}))
    worker = tf.estimator.Estimator(models.linear, estimator.model_dir)
    chief_hook = experimental.make_early_stopping_hook(estimator, lambda: True)
    worker_hook = experimental.make_early_stopping_hook(worker, lambda: False)
    tf.train.create_global_step()
    runs = tf.Variable(0)
    run = runs.assign_add(1)
    with tf.train.MonitoredSession(hooks=[worker_hook]) as session:
        session.run(run)
        assert not session.should_stop()
    with tf.train.MonitoredSession(hooks=[chief_hook, worker_hook]) as session:
        session.run(run)
        assert session.should_stop()
    for options in ({"run_every_secs": None}, {"run_every_steps": 1}):
        with pytest.raises(ValueError, match="Only one of"):
            experimental.make_early_stopping_hook(estimator, lambda: True, **options)
    with pytest.raises(TypeError, match="`estimator` must have type"):
        experimental.make_early_stopping_hook(3, lambda: True)  # type: ignore[arg-type]


def test_a_worker_waits_for_the_last_checkpoint(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator.train(models.train_fn, steps=5)
    hook = experimental.make_stop_at_checkpoint_step_hook(estimator, 8)
    assert isinstance(hook, tf.train.StopAtStepHook)
    cluster = {"chief": ["a:1"], "worker": ["b:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}}))
    worker = tf.estimator.Estimator(models.linear, estimator.model_dir)
    monkeypatch.delenv("TF_CONFIG")
    waits = experimental.make_stop_at_checkpoint_step_hook(worker, 5)
    count = tf.train.create_global_step().assign_add(1)
    with tf.train.MonitoredSession(hooks=[waits]) as session:
        for _ in range(4):
            session.run(count)
            assert not session.should_stop()
        session.run(count)
        assert session.should_stop()


def test_further_metrics(estimator: Any) -> None:
    def metric_fn(labels: Any, predictions: Any, features: Any) -> Any:
        return {
            "mae": tf.metrics.mean(features["x"]),
            "most": tf.metrics.mean(tf.reduce_max(labels - predictions["y"])),
        }

    more = tf.estimator.add_metrics(estimator, metric_fn)
    more.train(models.train_fn, steps=1)
    result = more.evaluate(models.eval_fn)
    assert set(result) == {"loss", "global_step", "mae", "most"}
    np.testing.assert_allclose(result["mae"], models.X.mean(), rtol=1e-5)
    assert set(estimator.evaluate(models.eval_fn)) == {"loss", "global_step", "mae"}
    with pytest.raises(ValueError, match=r"not expected args: \['nope'\]"):
        tf.estimator.add_metrics(estimator, lambda nope: {})


def test_a_logit_fn_gets_what_it_takes() -> None:
    def logit_fn(features: Any, mode: str) -> Any:
        return features if mode == "eval" else 3

    x = tf.zeros([1])
    call = experimental.call_logit_fn
    assert call(logit_fn, x, "eval", None, None) is x
    with pytest.raises(ValueError, match="should return a Tensor"):
        call(logit_fn, x, "train", None, None)
