"""Hooks that end training early: `tf.estimator.experimental.stop_if_no_decrease_hook` and its kin."""

from __future__ import annotations

import glob
import operator
import os
import time
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes, errors
from tensorfleet.core.logging import info, warning
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_ops import assign
from tensorfleet.ops.state.variable_scope import AUTO_REUSE, variable_scope
from tensorfleet.summary.records import summary_iterator
from tensorfleet.train.hooks import StopAtStepHook, required_global_step
from tensorfleet.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tensorfleet.train.timers import SecondOrStepTimer

_LOOK_SECONDS = 1.0


def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a function says so.

    `tf.estimator.experimental.make_early_stopping_hook`.
    The chief asks the function; the other workers see a variable that the chief sets.

    Args:
        estimator: the model.
        should_stop_fn: whether training shall end.
        run_every_secs, run_every_steps: seconds or steps between two calls of it: one of them.

    Raises:
        TypeError: `estimator` is none.
        ValueError: not exactly one distance is given.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if (run_every_secs is None) == (run_every_steps is None):
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if estimator.config.is_chief:
        return _StopsAll(should_stop_fn, SecondOrStepTimer(run_every_secs, run_every_steps))
    return _SeesStop()


def stop_if_higher_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a metric of the evaluations is above `threshold`.

    `tf.estimator.experimental.stop_if_higher_hook`.

    Args:
        estimator: the model.
        metric_name: of the metric.
        threshold: its bound.
        eval_dir: where the evaluations are written, by default `estimator.eval_dir()`.
        min_steps: evaluations of earlier steps do not count.
        run_every_secs, run_every_steps: seconds or steps between two looks: one of them.
    """
    crossed = _Crossed(estimator, metric_name, threshold, operator.gt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, crossed, run_every_secs, run_every_steps)


def stop_if_lower_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a metric is below `threshold`; see `stop_if_higher_hook`."""
    crossed = _Crossed(estimator, metric_name, threshold, operator.lt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, crossed, run_every_secs, run_every_steps)


def stop_if_no_increase_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a metric has not increased for so many steps.

    `tf.estimator.experimental.stop_if_no_increase_hook`; the other arguments are those of
    `stop_if_higher_hook`.
    """
    stuck = _Stuck(estimator, metric_name, max_steps_without_increase, operator.gt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stuck, run_every_secs, run_every_steps)


def stop_if_no_decrease_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a metric has not decreased for so many steps; see
    `stop_if_no_increase_hook`."""
    stuck = _Stuck(estimator, metric_name, max_steps_without_decrease, operator.lt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stuck, run_every_secs, run_every_steps)


def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, float]]:
    """The results of the evaluations in a directory by their global steps, in order
    (`tf.contrib.estimator.read_eval_metrics`)."""
    found: dict[int, dict[str, float]] = {}
    for path in sorted(glob.glob(os.path.join(eval_dir, "*.tfevents.*"))):
        try:
            for event in summary_iterator(path):
                values = {
                    value.tag: value.simple_value
                    for value in event.summary.value
                    if value.HasField("simple_value")
                }
                if values:
                    found.setdefault(event.step, {}).update(values)
        except errors.DataLossError:
            warning("%s is damaged or incomplete: what it says further on is not read", path)
    return dict(sorted(found.items()))


def make_stop_at_checkpoint_step_hook(
    estimator: Estimator, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """A hook that lets a worker wait, at `last_step`, until the chief has a checkpoint of that step.

    `tf.estimator.experimental.make_stop_at_checkpoint_step_hook`.

    Args:
        estimator: the model.
        last_step: the global step at which training ends.
        wait_after_file_check_secs: seconds between two looks for the checkpoint.
    """
    if estimator.config.is_chief:
        return StopAtStepHook(last_step=last_step)
    return _StopsAtCheckpoint(estimator, last_step, wait_after_file_check_secs)


class _Metric:
    """A metric of the evaluations in a directory."""

    def __init__(self, estimator: Estimator, name: str, eval_dir: str | None, min_steps: int) -> None:
        self._name = name
        self._directory = estimator.eval_dir() if eval_dir is None else eval_dir
        self._min_steps = min_steps

    def values(self) -> list[tuple[int, float]]:
        """(step, value) of the evaluations that count.

        Raises:
            ValueError: an evaluation has no such metric.
        """
        found = []
        for step, metrics in read_eval_metrics(self._directory).items():
            if step < self._min_steps:
                continue
            if self._name not in metrics:
                raise ValueError(
                    f"The evaluation of step {step} in {self._directory} has no metric {self._name!r}; it "
                    f"has {', '.join(sorted(metrics))}."
                )
            found.append((step, metrics[self._name]))
        return found


class _Crossed:
    """Whether a metric has crossed its bound."""

    def __init__(
        self,
        estimator: Estimator,
        name: str,
        threshold: float,
        crosses: Callable[[Any, Any], bool],
        eval_dir: str | None,
        min_steps: int,
    ) -> None:
        self._metric = _Metric(estimator, name, eval_dir, min_steps)
        self._name = name
        self._threshold = threshold
        self._crosses = crosses

    def __call__(self) -> bool:
        for step, value in self._metric.values():
            if self._crosses(value, self._threshold):
                info(
                    "At step %s, metric %r has value %s, beyond the configured threshold (%s) for early "
                    "stopping.",
                    *(step, self._name, value, self._threshold),
                )
                return True
        return False


class _Stuck:
    """Whether a metric has not become better for so many steps."""

    def __init__(
        self,
        estimator: Estimator,
        name: str,
        max_steps: int,
        is_better: Callable[[Any, Any], bool],
        eval_dir: str | None,
        min_steps: int,
    ) -> None:
        self._metric = _Metric(estimator, name, eval_dir, min_steps)
        self._name = name
        self._max_steps = max_steps
        self._is_better = is_better

    def __call__(self) -> bool:
        best: tuple[int, float] | None = None
        for step, value in self._metric.values():
            if best is None or self._is_better(value, best[1]):
                best = (step, value)
            if step - best[0] >= self._max_steps:
                info("Metric %r has not become better for %s steps.", self._name, step - best[0])
                return True
        return False


def _stop_variable() -> Any:
    with variable_scope("signal_early_stopping", reuse=AUTO_REUSE):
        return get_variable(
            "STOP",
            shape=[],
            dtype=dtypes.bool,
            initializer=zeros_initializer(),
            collections=[GraphKeys.GLOBAL_VARIABLES],
            trainable=False,
        )


class _StopsAll(SessionRunHook):
    """The chief's hook: asks the function, and tells the others."""

    def __init__(self, should_stop_fn: Callable[[], bool], timer: SecondOrStepTimer) -> None:
        if not callable(should_stop_fn):
            raise TypeError("`should_stop_fn` must be callable.")
        self._should_stop_fn = should_stop_fn
        self._timer = timer

    def begin(self) -> None:
        self._timer.reset()
        self._global_step = required_global_step("make_early_stopping_hook")
        variable = _stop_variable()
        with framework.name_scope("signal_early_stopping"):
            self._stop = assign(variable, True)
            self._go_on = assign(variable, False)

    def after_create_session(self, session: Any, coord: Any) -> None:
        # A checkpoint may say that the last training was ended so.
        session.run(self._go_on)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_values.results
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop_fn():
            info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._stop)
            run_context.request_stop()


class _SeesStop(SessionRunHook):
    """The other workers' hook."""

    def begin(self) -> None:
        self._stop = _stop_variable()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._stop)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if run_values.results:
            info("Early stopping requested, suspending run.")
            run_context.request_stop()


class _StopsAtCheckpoint(SessionRunHook):
    def __init__(self, estimator: Estimator, last_step: int, wait_secs: float) -> None:
        self._estimator = estimator
        self._last_step = last_step
        self._wait_secs = max(wait_secs, _LOOK_SECONDS)

    def begin(self) -> None:
        self._global_step = required_global_step("StopAtCheckpointStepHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if run_values.results + 1 < self._last_step:
            return
        step = run_context.session.run(self._global_step)
        if step < self._last_step:
            return
        run_context.request_stop()
        # The session's errors end the wait, should the chief's variables be gone.
        while self._estimator._trained_steps() < self._last_step:
            info("Waiting for a checkpoint of step %d", self._last_step)
            time.sleep(self._wait_secs)
            run_context.session.run(self._global_step)
