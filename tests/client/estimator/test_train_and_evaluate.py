"""tf.estimator.train_and_evaluate in one process: local, and the parts of a cluster's tasks."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.estimator import distributed
from tests.client.estimator import models

SECONDS = 60.0


def specs(max_steps: int | None = 10, **options: Any) -> tuple[Any, Any]:
    options = {"steps": None, "throttle_secs": 0, "start_delay_secs": 0, **options}
    return (
        tf.estimator.TrainSpec(models.train_fn, max_steps=max_steps),
        tf.estimator.EvalSpec(models.eval_fn, **options),
    )


def estimator(folder: Path, **options: Any) -> Any:
    config = tf.estimator.RunConfig(model_dir=str(folder), **options)
    return tf.estimator.Estimator(models.linear, config=config)


class Notes(tf.estimator.Exporter):
    """Notes what it could export."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, str, bool]] = []

    @property
    def name(self) -> str:
        return "notes"

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> str:
        self.seen.append((int(eval_result["global_step"]), Path(checkpoint_path).name, is_the_final_export))
        return export_path


def test_here_each_checkpoint_but_the_first_is_evaluated(tmp_path: Path) -> None:
    exporter = Notes()
    made = estimator(tmp_path, save_checkpoints_steps=4)
    result, exports = tf.estimator.train_and_evaluate(made, *specs(exporters=exporter))
    assert exporter.seen == [
        (4, "model.ckpt-4", False),
        (8, "model.ckpt-8", False),
        (10, "model.ckpt-10", True),
    ]
    assert result["global_step"] == 10
    assert exports == [str(tmp_path / "export" / "notes")]
    # What is trained already is left as it is.
    assert tf.estimator.train_and_evaluate(made, *specs()) == (None, [])


def test_evaluations_are_not_too_often(tmp_path: Path) -> None:
    exporter = Notes()
    made = estimator(tmp_path, save_checkpoints_steps=2)
    tf.estimator.train_and_evaluate(made, *specs(exporters=[exporter], throttle_secs=3600))
    assert [step for step, _, _ in exporter.seen] == [2, 10]


def test_the_end_of_the_input_ends_it(tmp_path: Path) -> None:
    made = estimator(tmp_path)
    train = tf.estimator.TrainSpec(models.eval_fn)
    result, _ = tf.estimator.train_and_evaluate(made, train, specs()[1])
    assert result["global_step"] == 4


def test_an_evaluator_follows_the_training_until_its_last_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = {"chief": ["a:1"], "ps": ["b:1"], "worker": ["c:1"]}
    task = {"cluster": cluster, "task": {"type": "evaluator", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    evaluator = estimator(tmp_path)
    monkeypatch.delenv("TF_CONFIG")
    exporter = Notes()
    thread = threading.Thread(
        target=tf.estimator.train_and_evaluate, args=(evaluator, *specs(exporters=exporter)), daemon=True
    )
    thread.start()
    trained = estimator(tmp_path)
    trained.train(models.train_fn, max_steps=10)
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert exporter.seen[-1] == (10, "model.ckpt-10", True)
    assert [final for _, _, final in exporter.seen[:-1]] == [False] * (len(exporter.seen) - 1)


def test_a_master_trains_and_evaluates_on_a_cluster_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one task of a cluster needs no server."""
    task = {"cluster": {"master": ["a:1"]}, "task": {"type": "master", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    result, _ = tf.estimator.train_and_evaluate(estimator(tmp_path), *specs())
    assert result["global_step"] == 10


def test_unknown_jobs_and_missing_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = {"cluster": {"chief": ["a:1"], "other": ["b:1"]}, "task": {"type": "other", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    with pytest.raises(ValueError, match="Task type other is not supported"):
        tf.estimator.train_and_evaluate(estimator(tmp_path), *specs())
    monkeypatch.delenv("TF_CONFIG")
    with pytest.raises(RuntimeError, match="Could not start server; be sure to specify cluster_spec"):
        distributed.start_server(tf.estimator.RunConfig())


def test_arguments_are_checked(tmp_path: Path) -> None:
    made = estimator(tmp_path)
    train, evaluation = specs()
    with pytest.raises(TypeError, match="`estimator` must have type"):
        tf.estimator.train_and_evaluate(3, train, evaluation)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`train_spec` must have type"):
        tf.estimator.train_and_evaluate(made, evaluation, evaluation)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`eval_spec` must have type"):
        tf.estimator.train_and_evaluate(made, train, train)  # type: ignore[arg-type]
    exporters = [Notes(), Notes()]
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: specs(max_steps=0), ValueError, "max_steps > 0"),
        (lambda: specs(steps=-1), ValueError, "steps > 0"),
        (lambda: specs(start_delay_secs=-1), ValueError, "start_delay_secs >= 0"),
        (lambda: specs(throttle_secs=-1), ValueError, "throttle_secs >= 0"),
        (lambda: specs(name=3), TypeError, "`name` must be string"),
        (lambda: specs(exporters=3), TypeError, "not iterable"),
        (lambda: specs(exporters=[3]), TypeError, "must be Exporters"),
        (lambda: specs(exporters=exporters), ValueError, "unique names"),
        (lambda: specs(hooks=[3]), TypeError, "SessionRunHook"),
        (lambda: tf.estimator.TrainSpec(3), TypeError, "`input_fn` must be callable"),  # type: ignore[arg-type]
    ]
    for make, kind, text in cases:
        with pytest.raises(kind, match=text):
            make()
