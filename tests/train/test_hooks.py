"""The hooks by themselves, in one process."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf


def counter() -> tuple[Any, Any]:
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def run_all(run: Any, *hooks: tf.train.SessionRunHook, times: int = 100) -> int:
    """Runs until a stop, `times` at most; how often it ran."""
    done = 0
    with tf.train.SingularMonitoredSession(hooks=hooks) as session:
        while done < times and not session.should_stop():
            session.run(run)
            done += 1
    return done


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The lines that are logged."""
    caplog.set_level(logging.INFO, "tensorfleet")
    return caplog


def texts(lines: pytest.LogCaptureFixture, part: str) -> list[str]:
    return [text for text in lines.messages if part in text]


def test_timer_by_steps() -> None:
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    assert timer.should_trigger_for_step(5)
    assert timer.last_triggered_step() is None
    assert timer.update_last_triggered_step(5) == (None, None)
    assert [timer.should_trigger_for_step(step) for step in (5, 6, 7, 8, 20)] == [
        False,
        False,
        False,
        True,
        True,
    ]
    seconds, steps = timer.update_last_triggered_step(8)
    assert seconds is not None
    assert seconds >= 0
    assert steps == 3
    assert timer.last_triggered_step() == 8
    timer.reset()
    assert timer.should_trigger_for_step(8)


def test_timer_by_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.time", lambda: now)
    timer = tf.train.SecondOrStepTimer(every_secs=2.0)
    timer.update_last_triggered_step(1)
    now = 101.9
    assert not timer.should_trigger_for_step(2)
    now = 102.0
    assert timer.should_trigger_for_step(2)
    assert not timer.should_trigger_for_step(1)


def test_timer_needs_one_distance() -> None:
    with pytest.raises(ValueError, match="Either every_secs or every_steps"):
        tf.train.SecondOrStepTimer()
    with pytest.raises(ValueError, match="Can not provide both"):
        tf.train.SecondOrStepTimer(1, 1)


@pytest.mark.parametrize(("arguments", "runs"), [({"last_step": 7}, 7), ({"num_steps": 4}, 4)])
def test_stop_at_step(arguments: dict[str, int], runs: int) -> None:
    _, add = counter()
    assert run_all(add, tf.train.StopAtStepHook(**arguments)) == runs


def test_stop_at_step_counts_from_where_the_session_starts() -> None:
    step, add = counter()
    start = tf.train.Scaffold(init_fn=lambda _, session: session.run(tf.get_collection("start")[0]))
    tf.add_to_collection("start", tf.assign(step, 100))
    hook = tf.train.StopAtStepHook(num_steps=5)
    with tf.train.SingularMonitoredSession(hooks=[hook], scaffold=start) as session:
        while not session.should_stop():
            last = session.run(add)
    assert last == 105


def test_stop_at_step_needs_a_step() -> None:
    with pytest.raises(RuntimeError, match="Global step should be created to use StopAtStepHook"):
        run_all(tf.no_op(), tf.train.StopAtStepHook(last_step=3))
    with pytest.raises(ValueError, match="One of num_steps or last_step"):
        tf.train.StopAtStepHook()
    with pytest.raises(ValueError, match="Only one of num_steps or last_step"):
        tf.train.StopAtStepHook(1, 2)


def test_logging(lines: pytest.LogCaptureFixture) -> None:
    step, add = counter()
    double = tf.multiply(step, 2, name="double")
    with tf.control_dependencies([add]):
        after = tf.identity(step.read_value(), name="after")
    by_tag = tf.train.LoggingTensorHook({"b": "after", "a": after}, every_n_iter=2)
    at_end = tf.train.LoggingTensorHook(["double:0"], at_end=True)
    assert run_all(add, by_tag, at_end, times=4) == 4
    found = texts(lines, "a = ")
    assert found[0] == "a = 1, b = 1"
    assert found[1].startswith("a = 3, b = 3 (")
    assert found[1].endswith(" sec)")
    assert len(found) == 2
    assert texts(lines, "double:0") == ["double:0 = 8"]
    assert double.name == "double:0"


def test_logging_by_a_formatter(lines: pytest.LogCaptureFixture) -> None:
    tf.constant([1.0, 2.0], name="pair")
    hook = tf.train.LoggingTensorHook(
        ["pair"], every_n_secs=1000, formatter=lambda values: f"<{values['pair']}>"
    )
    run_all(tf.no_op(), hook, times=3)
    assert texts(lines, "<") == ["<[1. 2.]>"]


def test_wrong_arguments_of_logging() -> None:
    with pytest.raises(ValueError, match="exactly one of every_n_iter and every_n_secs"):
        tf.train.LoggingTensorHook([])
    with pytest.raises(ValueError, match="exactly one of every_n_iter and every_n_secs"):
        tf.train.LoggingTensorHook([], 1, 1)
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        tf.train.LoggingTensorHook([], every_n_iter=0)
    tf.split([1, 2], 2, name="halves")
    with pytest.raises(ValueError, match="Name halves is ambiguous"):
        run_all(tf.no_op(), tf.train.LoggingTensorHook(["halves"], 1))
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="equal to current graph"):
        run_all(tf.no_op(), tf.train.LoggingTensorHook([other], 1))


@pytest.mark.parametrize("fail", [True, False])
def test_a_nan_ends_training(fail: bool, lines: pytest.LogCaptureFixture) -> None:
    _, add = counter()
    loss = tf.cast(4 - add, tf.float32) * tf.constant(np.inf)  # inf, inf, inf, nan
    hook = tf.train.NanTensorHook(loss, fail_on_nan_loss=fail)
    if fail:
        with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
            run_all(loss, hook)
    else:
        assert run_all(loss, hook) == 4
    assert texts(lines, "diverged") == ["Model diverged with loss = NaN."]


def test_final_ops() -> None:
    x = tf.placeholder(tf.int64, [])
    step, add = counter()
    hook = tf.train.FinalOpsHook({"sum": step + x}, {x: 100})
    assert hook.final_ops_values is None
    run_all(add, hook, times=3)
    assert hook.final_ops_values == {"sum": 103}


def test_final_ops_at_the_end_of_the_input(lines: pytest.LogCaptureFixture) -> None:
    error = tf.errors.OutOfRangeError(None, None, "the end")

    class Ended:
        def run(self, *_: Any, **__: Any) -> None:
            raise error

    with pytest.raises(tf.errors.OutOfRangeError):
        tf.train.FinalOpsHook(1).end(Ended())
    assert texts(lines, "FinalOpsHook reached the end of the input")


def test_feeds_of_a_function() -> None:
    x = tf.placeholder(tf.float32, [])
    values = iter([1.0, 2.0])
    hook = tf.train.FeedFnHook(lambda: {x: next(values)})
    y = x * 10
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        assert [session.run(y), session.run(y)] == [10.0, 20.0]


def test_waiting_for_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    step, add = counter()
    more = tf.assign_add(step, 2)
    monkeypatch.setattr("time.sleep", lambda _: session.raw_session().run(more))
    hook = tf.train.GlobalStepWaiterHook(5)
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        assert session.run(add) == 7
        assert session.run(add) == 8


def test_steps_per_second(lines: pytest.LogCaptureFixture) -> None:
    _, add = counter()
    run_all(add, tf.train.StepCounterHook(every_n_steps=10), times=35)
    assert len(texts(lines, "global_step/sec: ")) == 3
    with pytest.raises(ValueError, match="exactly one of every_n_steps and every_n_secs"):
        tf.train.StepCounterHook(every_n_steps=10, every_n_secs=10)


def train_op(step: Any = None) -> Any:
    v = tf.get_variable("v", initializer=1.0)
    return tf.train.GradientDescentOptimizer(0.1).minimize(v * v, global_step=step)


@pytest.mark.parametrize("resource", [False, True])
def test_a_step_that_stands_still_is_reported(lines: pytest.LogCaptureFixture, resource: bool) -> None:
    counter()
    with tf.variable_scope("", use_resource=resource):
        train = train_op()
    run_all(train, tf.train.StepCounterHook(every_n_steps=10), times=20)
    assert len(texts(lines, "The global step is still 0")) == 5


def test_a_step_that_increases_is_not_reported_to_stand_still(lines: pytest.LogCaptureFixture) -> None:
    """Neither are runs that change variables without it, in between."""
    step, _ = counter()
    train = train_op(step)
    other = tf.Variable(0).assign_add(1)
    with tf.train.SingularMonitoredSession([tf.train.StepCounterHook(every_n_steps=10)]) as session:
        for op in [train, train, train, *[other] * 10, train]:
            session.run(op)
    assert not texts(lines, "The global step is still")


def test_runs_that_only_evaluate_are_no_alarm(lines: pytest.LogCaptureFixture) -> None:
    step, _ = counter()
    train = train_op(step)
    loss = tf.get_default_graph().get_tensor_by_name("v/read:0") * 2.0
    with tf.train.SingularMonitoredSession([tf.train.StepCounterHook(every_n_steps=10)]) as session:
        for _ in range(10):
            session.run({"loss": loss, "step": [step]})
        session.run([train, loss])
        session.run(loss)
        session.run(train)
    assert not texts(lines, "The global step is still")


def test_a_restored_step_is_no_alarm(tmp_path: Any, lines: pytest.LogCaptureFixture) -> None:
    """The new session begins at the step that the last run of the lost one saw."""
    step, _ = counter()
    train = train_op(step)
    failures = [False, True] * 6

    class Lose(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            if failures and failures.pop():
                raise tf.errors.AbortedError(None, None, "lost")

    saving = {"checkpoint_dir": str(tmp_path), "save_checkpoint_secs": 600, "log_step_count_steps": 5}
    with tf.train.MonitoredTrainingSession(hooks=[Lose()], **saving) as session:
        for _ in range(8):
            session.run(train)
    assert not texts(lines, "The global step is still")


def test_only_one_source_of_summaries_and_checkpoints() -> None:
    with pytest.raises(ValueError, match="Exactly one of scaffold or summary_op"):
        tf.train.SummarySaverHook(save_steps=1)
    with pytest.raises(ValueError, match="cannot provide both saver and scaffold"):
        tf.train.CheckpointSaverHook("x", save_steps=1, saver=1, scaffold=tf.train.Scaffold())
