"""Experiments, which came before `tf.estimator.train_and_evaluate`: `tf.contrib.learn`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from tensorfleet.contrib.fitted_estimator import FittedEstimator, keyed_input
from tensorfleet.contrib.monitoring.hooks import replace_monitors_with_hooks
from tensorfleet.core.logging import info
from tensorfleet.estimator import distributed
from tensorfleet.estimator.arguments import parameter_names
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.run_config import RunConfig
from tensorfleet.estimator.task_environment import TaskType
from tensorfleet.estimator.train_specs import EvalSpec, TrainSpec
from tensorfleet.train.saving_hooks import CheckpointSaverListener
from tensorfleet.train.session_run_hook import SessionRunHook

_DELAY_PER_WORKER = 5.0
_MAX_DELAY = 60.0


class ModeKeys:
    """The modes of a `model_fn` by their older names (`tf.contrib.learn.ModeKeys`).

    Attributes:
        TRAIN: training.
        EVAL: evaluation.
        INFER: prediction; `tf.estimator.ModeKeys.PREDICT` is the same.
    """

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


class Experiment:
    """An estimator with what it is trained and evaluated on (`tf.contrib.learn.Experiment`).

    Args:
        estimator: one of `tf.estimator` or `tf.contrib.learn`.
        train_input_fn, eval_input_fn: its input functions.
        eval_metrics: has to be None: a `tf.estimator.Estimator` has its metrics in its `model_fn`.
        train_steps: the global step at which training ends; None: where the input ends.
        eval_steps: how many batches an evaluation has; None: until the input ends.
        train_monitors: hooks, and monitors of `tf.contrib.learn.monitors`.
        eval_hooks: hooks.
        eval_delay_secs: how long an evaluator waits before it begins.
        continuous_eval_throttle_secs: the shortest time between the begins of two evaluations.
        saving_listeners: called around each checkpoint.
        export_strategies: exporters of `tf.estimator`.
        local_eval_frequency, min_eval_frequency, delay_workers_by_global_step, train_steps_per_iteration,
            checkpoint_and_export, check_interval_secs: accepted, and without effect: evaluations and
            exports come with the checkpoints, as in `tf.estimator.train_and_evaluate`, and workers start
            by the time.

    Raises:
        ValueError: the estimator is none of `tf.estimator`, or `eval_metrics` is given.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[..., Any],
        eval_input_fn: Callable[..., Any],
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Iterable[Any] | None = None,
        eval_hooks: Iterable[SessionRunHook] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Iterable[CheckpointSaverListener] | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        if isinstance(estimator, FittedEstimator):
            estimator = estimator.estimator
            train_input_fn, eval_input_fn = keyed_input(train_input_fn), keyed_input(eval_input_fn)
        if not isinstance(estimator, Estimator):
            raise ValueError(f"`estimator` must be a tf.estimator.Estimator; got {estimator!r}")
        if eval_metrics is not None:
            raise ValueError("`eval_metrics` must be None with `tf.estimator.Estimator`")
        self._estimator = estimator
        train_hooks = replace_monitors_with_hooks(train_monitors, estimator)
        self._train = TrainSpec(train_input_fn, train_steps, train_hooks, saving_listeners)
        self._eval = EvalSpec(
            eval_input_fn,
            eval_steps,
            hooks=eval_hooks,
            exporters=export_strategies,
            start_delay_secs=eval_delay_secs,
            throttle_secs=continuous_eval_throttle_secs,
        )

    @property
    def estimator(self) -> Estimator:
        """The estimator."""
        return self._estimator

    def extend_train_hooks(self, additional_hooks: Iterable[Any]) -> None:
        """Adds hooks, or monitors, of the training."""
        added = replace_monitors_with_hooks(additional_hooks, self._estimator)
        self._train = self._train._replace(hooks=(*self._train.hooks, *added))

    def train(self, delay_secs: float | None = None) -> Estimator:
        """Serves, if there is a cluster, and trains.

        Args:
            delay_secs: how long to wait before; by default 5 s for each worker before this one.
        """
        config = self._estimator.config
        if config.cluster_spec and config.master:
            distributed.start_server(config)
        if delay_secs is None:
            is_worker = bool(config.cluster_spec) and config.task_type == TaskType.WORKER
            delay_secs = min(_MAX_DELAY, (config.task_id + 1) * _DELAY_PER_WORKER) if is_worker else 0.0
        if delay_secs > 0:
            info("Waiting %d secs before starting training.", delay_secs)
            time.sleep(delay_secs)
        return self._estimator.train(
            self._train.input_fn,
            hooks=self._train.hooks,
            max_steps=self._train.max_steps,
            saving_listeners=self._train.saving_listeners,
        )

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """Evaluates the newest checkpoint.

        Args:
            delay_secs: how long to wait before; by default not at all where there is no cluster.
            name: of the evaluation among several.
        """
        if delay_secs is None:
            delay_secs = self._eval.start_delay_secs if self._estimator.config.cluster_spec else 0.0
        if delay_secs > 0:
            info("Waiting %d secs before starting eval.", delay_secs)
            time.sleep(delay_secs)
        return self._estimator.evaluate(
            self._eval.input_fn, steps=self._eval.steps, hooks=self._eval.hooks, name=name
        )

    def train_and_evaluate(self) -> Any:
        """Trains and evaluates, as `tf.estimator.train_and_evaluate` does."""
        return distributed.train_and_evaluate(self._estimator, self._train, self._eval)

    def continuous_eval(self) -> None:
        """Evaluates checkpoints as they come, until that of the last step."""
        distributed.Executor(self._estimator, self._train, self._eval).run_evaluator()

    def run_std_server(self) -> None:
        """Serves until the process is told to end."""
        server = distributed.start_server(self._estimator.config)
        if server is not None:
            server.join()

    def test(self) -> dict[str, Any]:
        """Trains and evaluates one step."""
        self._estimator.train(self._train.input_fn, steps=1)
        return self._estimator.evaluate(self._eval.input_fn, steps=1)

    local_run = train_and_evaluate


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: RunConfig | None = None,
    hparams: Any = None,
) -> Any:
    """Makes an experiment, and does what this process is there for (`tf.contrib.learn.learn_runner.run`).

    Args:
        experiment_fn: from `output_dir`, or from `run_config` and `hparams`, to the experiment.
        output_dir: given to it.
        schedule: the method of the experiment; by default that of this process's task.
        run_config, hparams: given to `experiment_fn` in place of `output_dir`.

    Raises:
        ValueError: not exactly one of `output_dir` and `run_config` is given, or there is no such method.
        TypeError: `experiment_fn` makes no experiment.
    """
    if (output_dir is None) == (run_config is None):
        raise ValueError("Exactly one of `output_dir` and `run_config` must be given.")
    if run_config is None:
        experiment = experiment_fn(output_dir)
    elif "hparams" in parameter_names(experiment_fn):
        experiment = experiment_fn(run_config, hparams)
    else:
        experiment = experiment_fn(run_config)
    if not isinstance(experiment, Experiment):
        raise TypeError(f"Experiment builder did not return an Experiment instance, got {type(experiment)}.")
    schedule = schedule or _schedule(experiment.estimator.config)
    method = getattr(experiment, schedule, None)
    if schedule.startswith("_") or not callable(method):
        raise ValueError(f"Schedule references non-existent task {schedule}")
    return method()


def _schedule(config: RunConfig) -> str:
    if not config.cluster_spec and config.task_type != TaskType.EVALUATOR:
        return "train_and_evaluate"
    return {
        TaskType.PS: "run_std_server",
        TaskType.EVALUATOR: "continuous_eval",
        TaskType.MASTER: "train_and_evaluate",
    }.get(config.task_type, "train")
