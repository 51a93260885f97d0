"""`tf.contrib.learn.monitors`; the steps in these tests are those of TensorFlow 1.15."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

learn, layers = tf.contrib.learn, tf.contrib.layers
monitors = learn.monitors
RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 2)).astype("f")
LABELS = (X[:, 0] > 0).astype("i8") + (X[:, 1] > 0)


def three_classes(directory: Path) -> Any:
    return learn.DNNClassifier(
        hidden_units=[5],
        n_classes=3,
        feature_columns=[layers.real_valued_column("", dimension=2)],
        model_dir=str(directory),
        config=learn.RunConfig(save_checkpoints_steps=3),
    )


def one(predictions: Any) -> Any:
    return tf.contrib.metrics.streaming_mean(tf.ones_like(tf.to_float(predictions)))


class Steps(monitors.EveryN):  # type: ignore[misc, name-defined]
    """Notes when it is called."""

    def __init__(self, every: int) -> None:
        super().__init__(every, 1)
        self.notes: list[tuple[str, int]] = []

    def every_n_step_begin(self, step: int) -> list[Any]:
        self.notes.append(("begin", step))
        return []

    def every_n_step_end(self, step: int, outputs: Any) -> None:
        self.notes.append(("end", step))

    def every_n_post_step(self, step: int, session: Any) -> None:
        self.notes.append(("post", step))


class Older(monitors.BaseMonitor):  # type: ignore[misc, name-defined]
    """Its `end` takes no session."""

    ended = False

    def end(self) -> None:
        super().end()
        self.ended = True


def test_monitors_are_called_every_few_steps_and_after_the_last(tmp_path: Path) -> None:
    steps, older = Steps(4), Older()
    captured = monitors.CaptureVariable("global_step:0", every_n=4, first_n=2)
    three_classes(tmp_path).fit(X, LABELS, steps=11, batch_size=20, monitors=[steps, older, captured])
    calls = [(kind, step) for step in (1, 5, 9) for kind in ("begin", "end", "post")]
    assert steps.notes == [*calls, ("post", 11)]
    assert captured.values == {1: 1, 2: 2, 6: 6, 10: 10}
    assert older.ended


def test_a_validation_ends_a_training_that_gets_no_better(tmp_path: Path) -> None:
    classifier = three_classes(tmp_path).fit(X, LABELS, steps=11, batch_size=20)
    steps = Steps(4)
    validation = monitors.ValidationMonitor(
        X,
        LABELS,
        every_n_steps=2,
        metrics={"one": learn.MetricSpec(one, prediction_key="classes")},
        early_stopping_rounds=6,
        early_stopping_metric="one",
        check_interval_secs=None,
    )
    classifier.fit(X, LABELS, steps=50, batch_size=20, monitors=[validation, steps])
    assert (validation.best_step, validation.early_stopped, validation.best_value) == (12, True, 1.0)
    assert sorted(validation.best_metrics) == ["accuracy", "global_step", "loss", "one"]
    assert classifier.get_variable_value("global_step") == 18
    calls = [(kind, step) for step in (12, 16) for kind in ("begin", "end", "post")]
    assert steps.notes == [*calls, ("post", 18)]


def test_a_validation_looks_for_new_checkpoints_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("tensorfleet"), "propagate", True)
    validation = monitors.ValidationMonitor(X, LABELS, every_n_steps=1, check_interval_secs=None)
    with caplog.at_level(logging.INFO, "tensorfleet"):
        three_classes(tmp_path).fit(X, LABELS, steps=7, monitors=[validation])
    # Checkpoints come before the first step, and after the third and sixth of those that follow.
    found = [text for text in caplog.messages if text.startswith("Validation (step")]
    assert len(found) == 3
    assert "global_step = 1" in found[0] or "global_step = 0" in found[0]
    with pytest.raises(ValueError, match="Either x or input_fn"):
        monitors.ValidationMonitor()
    missing = monitors.ValidationMonitor(
        X, LABELS, early_stopping_rounds=1, early_stopping_metric="none", every_n_steps=1
    )
    with pytest.raises(ValueError, match="Metric none missing"):
        three_classes(tmp_path).fit(X, LABELS, steps=5, monitors=[missing])


def test_metrics_that_are_asked_for_see_predictions_by_older_names(tmp_path: Path) -> None:
    classifier = three_classes(tmp_path).fit(X, LABELS, steps=3)
    metrics = {
        "right": learn.MetricSpec(tf.contrib.metrics.streaming_accuracy, learn.PredictionKey.CLASSES),
        ("older", "classes"): tf.contrib.metrics.streaming_accuracy,
    }
    result = classifier.evaluate(x=X, y=LABELS, metrics=metrics)
    assert sorted(result) == ["accuracy", "global_step", "loss", "older", "right"]
    assert result["right"] == result["older"] == result["accuracy"]


def test_a_core_estimator_takes_monitors_by_an_adapter(tmp_path: Path) -> None:
    def input_fn() -> Any:
        return {"x": tf.constant(X)}, tf.constant(LABELS)

    estimator = tf.estimator.LinearClassifier(
        [tf.feature_column.numeric_column("x", (2,))], str(tmp_path), n_classes=3
    )
    validation = monitors.ValidationMonitor(
        input_fn=input_fn, eval_steps=1, every_n_steps=1, name="other", early_stopping_rounds=100
    )
    hook = tf.train.StopAtStepHook(num_steps=4)
    hooks = monitors.replace_monitors_with_hooks([validation, hook], estimator)
    assert hooks[0] is hook
    assert isinstance(hooks[1], monitors.RunHookAdapterForMonitors)
    assert monitors.replace_monitors_with_hooks(None, estimator) == []
    estimator.train(input_fn, hooks)
    assert validation.best_step == 1
    assert (tmp_path / "eval_other").is_dir()
    arrays = monitors.replace_monitors_with_hooks(
        [monitors.ValidationMonitor(X, LABELS, every_n_steps=1)], estimator
    )
    with pytest.raises(ValueError, match="does not support following arguments"):
        estimator.train(input_fn, arrays, steps=1)


def test_an_experiment_takes_monitors(tmp_path: Path) -> None:
    def input_fn() -> Any:
        return {"x": tf.constant(X)}, tf.constant(LABELS)

    steps, later = Steps(100), Steps(100)
    estimator = tf.estimator.LinearClassifier(
        [tf.feature_column.numeric_column("x", (2,))], str(tmp_path), n_classes=3
    )
    experiment = learn.Experiment(estimator, input_fn, input_fn, train_steps=3, train_monitors=[steps])
    experiment.extend_train_hooks([later])
    experiment.train()
    assert steps.notes == later.notes == [("begin", 1), ("end", 1), ("post", 1), ("post", 3)]


def trained(taken: list[Any], directory: Path, steps: int = 5) -> None:
    """Runs a session whose variable `w` is 2, 4, 6 … with monitors."""
    with tf.Graph().as_default():
        variable = tf.get_variable("w", initializer=tf.zeros([2]))
        tf.get_variable("b", initializer=7.0)
        step = tf.train.get_or_create_global_step()
        train_op = tf.group(tf.assign_add(variable, [2.0, 2.0]), tf.assign_add(step, 1))
        tf.summary.scalar("first", tf.identity(variable[0], name="shown"))
        made = [monitor() if callable(monitor) else monitor for monitor in taken]
        estimator = tf.estimator.Estimator(lambda features, labels, mode: None, str(directory))
        hooks = monitors.replace_monitors_with_hooks(made, estimator)
        with tf.train.SingularMonitoredSession(hooks) as session:
            for _ in range(steps):
                if not session.should_stop():
                    session.run(train_op)


def test_values_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("tensorfleet"), "propagate", True)
    shown = monitors.PrintTensor({"seven": "b/read"}, every_n=4)
    variables = monitors.LoggingTrainable("b", every_n=4)
    with caplog.at_level(logging.INFO, "tensorfleet"):
        trained([shown, variables], tmp_path)
    found = [text for text in caplog.messages if "Step" in text]
    assert found == [
        text
        for step in (1, 5)
        for text in (f"Step {step}: seven = 7.0", f"Logging Trainable: Step {step}: b:0 = 7.0")
    ]


def test_summaries_rates_and_checkpoints_are_written(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(str(tmp_path))
    saver = monitors.SummarySaver(None, save_steps=2, summary_writer=writer)
    trained(
        [
            lambda: monitors.get_default_monitors(
                tf.get_default_graph().get_tensor_by_name("shown:0"),
                tf.summary.merge_all(),
                2,
                summary_writer=writer,
            )[1],
            saver,
            monitors.StepCounter(2, summary_writer=writer),
            lambda: monitors.CheckpointSaver(str(tmp_path), save_steps=2, saver=tf.train.Saver()),
        ],
        tmp_path,
    )
    writer.close()
    # The checkpoints' own writer holds the graph.
    tags = [
        (event.step, value.tag)
        for path in tmp_path.glob("events*")
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
    ]
    assert [step for step, tag in tags if tag == "first"] == [1, 3, 5]
    assert [step for step, tag in tags if tag == "global_step/sec"] == [3, 5]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    names = [Path(path).name for path in state.all_model_checkpoint_paths]
    assert names == ["model.ckpt-1", "model.ckpt-3", "model.ckpt-5"]
    with pytest.raises(ValueError, match="Either save_steps or save_secs"):
        monitors.CheckpointSaver(str(tmp_path))
    with pytest.raises(ValueError, match="both save_steps and save_secs"):
        monitors.CheckpointSaver(str(tmp_path), 1, 1)


def test_graphs_are_dumped_and_trainings_stopped(tmp_path: Path) -> None:
    dump = monitors.GraphDump()
    stopped = monitors.CaptureVariable("w/read:0", every_n=1)
    trained([dump, monitors.StopAtStep(num_steps=3), stopped], tmp_path, steps=9)
    assert sorted(dump.data) == sorted(stopped.values) == [1, 2, 3]
    # A monitor sees what the others asked for, too.
    names = {tensor.op.name for tensor in dump.data[1] if tensor != "w/read:0"}
    assert "w" in names
    assert "w/read" not in names
    named, other = monitors.GraphDump(), monitors.GraphDump()
    named.data[1] = {"a": np.ones(2), "b": np.ones(2), "c": 1.0, "d": 1.0}
    other.data[1] = {"a": np.ones(2), "b": np.zeros(2), "c": 2.0, "d": 1.0}
    matched, differing = named.compare(other, 1)
    assert matched == ["a", "d"]
    assert differing["b"].tolist() == [1.0, 1.0]
    assert differing["c"] == (1.0, 2.0)
    named.data[2] = {"a": 1.0}
    with pytest.raises(ValueError, match="a missing at step 2"):
        named.compare(other, 2)


@pytest.mark.parametrize("fails", [True, False])
def test_a_loss_that_is_no_number_ends_the_training(tmp_path: Path, fails: bool) -> None:
    def model_fn(features: Any, labels: Any) -> Any:
        loss = tf.log(-tf.get_variable("w", initializer=1.0), name="loss")
        return features, tf.constant(1.0), tf.group(loss, tf.assign_add(tf.train.get_global_step(), 1))

    estimator = learn.Estimator(model_fn, str(tmp_path))
    monitor = monitors.NanLoss("loss:0", fail_on_nan_loss=fails)
    if fails:
        with pytest.raises(monitors.NanLossDuringTrainingError):
            estimator.fit(X, LABELS, steps=3, monitors=[monitor])
    else:
        estimator.fit(X, LABELS, steps=3, monitors=[monitor])
        assert estimator.get_variable_value("global_step") == 1


def test_steps_and_epochs_come_in_order() -> None:
    monitor = monitors.BaseMonitor()
    assert not monitor.run_on_all_workers
    monitor.begin(max_steps=3)
    with pytest.raises(ValueError, match="begin called twice"):
        monitor.begin()
    with pytest.raises(ValueError, match="Invalid step 4"):
        monitor.step_begin(4)
    monitor.step_begin(2)
    with pytest.raises(ValueError, match="step_end expected 2 but got 3"):
        monitor.step_end(3, {})
    monitor.epoch_begin(0)
    with pytest.raises(ValueError, match="without epoch_end"):
        monitor.epoch_begin(1)
    with pytest.raises(ValueError, match="epoch_end expected 0 but got 1"):
        monitor.epoch_end(1)
    monitor.end()
    with pytest.raises(ValueError, match="end called without begin"):
        monitor.end()
    with pytest.raises(ValueError, match="Missing estimator"):
        monitor.set_estimator(None)
    with pytest.raises(ValueError, match="Only one of"):
        monitors.StopAtStep(1, 2)
