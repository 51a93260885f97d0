"""`tf.estimator.train_and_evaluate`: on one machine, or as one task of a cluster."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from tensorfleet.cluster.server import Server
from tensorfleet.core.logging import info, warning
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.run_config import RunConfig, worker_count
from tensorfleet.estimator.task_environment import TaskType
from tensorfleet.estimator.train_specs import EvalSpec, TrainSpec
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.proto import config_pb2
from tensorfleet.train.saving_hooks import CheckpointSaverListener
from tensorfleet.train.session_run_hook import SessionRunHook
from tensorfleet.train.timers import SecondOrStepTimer

# Workers begin one after the other: the chief first, which makes the variables.
_DELAY_PER_WORKER = 5.0
_MAX_DELAY = 60.0
# The shortest time between two looks for a checkpoint that is not there yet.
_LOOK_SECONDS = 1.0


def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """Trains and evaluates, here or as the task of a cluster that TF_CONFIG names
    (`tf.estimator.train_and_evaluate`).

    Without a cluster each checkpoint is evaluated between steps, as often as `throttle_secs` allows. In a
    cluster every task runs the same program: chief and workers start a server and train, a ps serves until it
    is stopped, and an evaluator, which is not in the cluster, evaluates the checkpoints that it finds in
    `model_dir`, which all tasks see.

    Args:
        estimator: the model.
        train_spec: the training.
        eval_spec: the evaluations.

    Returns:
        Without a cluster (the last result, what the exporters returned); None in a cluster.

    Raises:
        TypeError: an argument is of another type.
        ValueError: TF_CONFIG names no task that this function knows.
    """
    return Executor(estimator, train_spec, eval_spec).run()


class Result(NamedTuple):
    """An evaluation.

    Attributes:
        metrics: None where there was no new checkpoint.
        checkpoint_path: which one was evaluated.
        exports: what the exporters returned.
        is_final: whether training had ended.
    """

    metrics: dict[str, Any] | None = None
    checkpoint_path: str | None = None
    exports: tuple[Any, ...] = ()
    is_final: bool = False


class Executor:
    """Runs the part of one task.

    Args:
        estimator, train_spec, eval_spec: as for `train_and_evaluate`.
        train_hooks: hooks of the training beside those of `train_spec`.
    """

    def __init__(
        self,
        estimator: Estimator,
        train_spec: TrainSpec,
        eval_spec: EvalSpec,
        train_hooks: tuple[SessionRunHook, ...] = (),
    ) -> None:
        for name, value, kind in (
            ("estimator", estimator, Estimator),
            ("train_spec", train_spec, TrainSpec),
            ("eval_spec", eval_spec, EvalSpec),
        ):
            if not isinstance(value, kind):
                raise TypeError(
                    f"`{name}` must have type `tf.estimator.{kind.__name__}`, given {type(value)}"
                )
        self._estimator = estimator
        self._train_spec = train_spec
        self._eval_spec = eval_spec
        self._train_hooks = train_hooks

    def run(self) -> Any:
        """Does what the task is there for."""
        config = self._estimator.config
        if not config.cluster_spec and config.task_type != TaskType.EVALUATOR:
            info("Running training and evaluation locally (non-distributed).")
            return self.run_local()
        if not config.task_type:
            raise ValueError(
                "`estimator.config` must have task_type set. This usually means TF_CONFIG environment is not "
                "set correctly."
            )
        tasks = {
            TaskType.CHIEF: self.run_chief,
            TaskType.MASTER: self.run_master,
            TaskType.WORKER: self.run_worker,
            TaskType.PS: self.run_ps,
            TaskType.EVALUATOR: self.run_evaluator,
        }
        if config.task_type not in tasks:
            raise ValueError(
                f"Task type {config.task_type} is not supported. Supported task types are {', '.join(tasks)}."
            )
        return tasks[config.task_type]()

    def run_chief(self) -> None:
        """Serves and trains, and keeps the checkpoints."""
        self._train_in_cluster()

    def run_worker(self) -> None:
        """Serves and trains."""
        self._train_in_cluster()

    def run_ps(self) -> None:
        """Serves until the process is told to end."""
        server = start_server(self._estimator.config)
        if server is not None:
            server.join()

    def run_master(self) -> Any:
        """Serves and trains, keeps the checkpoints and evaluates them."""
        evaluator = _Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)
        listener = _EvaluatesCheckpoints(evaluator, self._eval_spec.throttle_secs)
        self._train_in_cluster((listener,))
        return listener.result.metrics, list(listener.result.exports)

    def run_local(self) -> Any:
        """Trains, and evaluates checkpoints between steps."""
        evaluator = _Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)
        listener = _EvaluatesCheckpoints(evaluator, self._eval_spec.throttle_secs)
        self._train((listener,))
        return listener.result.metrics, list(listener.result.exports)

    def run_evaluator(self) -> Any:
        """Evaluates checkpoints as they come, until that of the last step."""
        delay, throttle = self._eval_spec.start_delay_secs, self._eval_spec.throttle_secs
        if delay:
            info("Waiting %f secs before starting eval.", delay)
            time.sleep(delay)
        evaluator = _Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)
        while True:
            began = time.monotonic()
            result = evaluator.evaluate_and_export()
            if result.is_final:
                info("Exiting evaluation: training has reached max_steps=%s.", self._train_spec.max_steps)
                return None
            # Checkpoints are files: there is nothing that would tell of a new one.
            least = throttle if result.metrics is not None else max(throttle, _LOOK_SECONDS)
            rest = began + least - time.monotonic()
            if rest > 0:
                info("Waiting %f secs before starting next eval run.", rest)
                time.sleep(rest)

    def _train_in_cluster(self, listeners: tuple[CheckpointSaverListener, ...] = ()) -> None:
        config = self._estimator.config
        start_server(config)
        # Workers that keep in step wait for each other.
        if config.task_type == TaskType.WORKER and worker_count(config.train_distribute) == 1:
            limit = config.experimental_max_worker_delay_secs
            delay = min(_MAX_DELAY if limit is None else limit, (config.task_id + 1) * _DELAY_PER_WORKER)
            if delay > 0:
                info("Waiting %d secs before starting training.", delay)
                time.sleep(delay)
        self._train(listeners)

    def _train(self, listeners: tuple[CheckpointSaverListener, ...]) -> None:
        self._estimator.train(
            self._train_spec.input_fn,
            max_steps=self._train_spec.max_steps,
            hooks=[*self._train_spec.hooks, *self._train_hooks],
            saving_listeners=[*self._train_spec.saving_listeners, *listeners],
        )


def start_server(config: RunConfig) -> Server | None:
    """Starts the server of this task; None where the cluster has no other one.

    Raises:
        RuntimeError: the configuration names no task of a cluster.
    """
    if not config.cluster_spec or not config.task_type or config.task_id is None:
        raise RuntimeError(
            "Could not start server; be sure to specify cluster_spec, task_type, and task in RunConfig or "
            "set the TF_CONFIG environment variable."
        )
    if not config.master:
        if config.num_ps_replicas or config.num_worker_replicas != 1:
            raise RuntimeError(
                "Could not start server; be sure to specify master in RunConfig or set the TF_CONFIG "
                "environment variable."
            )
        return None
    info("Start Tensorflow server.")
    options = config_pb2.ConfigProto()
    if config.session_config is not None:
        options.gpu_options.CopyFrom(config.session_config.gpu_options)
    return Server(
        config.cluster_spec,
        job_name=config.task_type,
        task_index=config.task_id,
        config=options,
        protocol=config.protocol,
    )


class _Evaluator:
    """Evaluates the newest checkpoint, and lets the exporters see the result."""

    def __init__(self, estimator: Estimator, eval_spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator = estimator
        self._spec = eval_spec
        self._max_steps = max_steps
        self._evaluated: str | None = None
        self._warned = 0.0

    def evaluate_and_export(self) -> Result:
        path = self._estimator.latest_checkpoint()
        if not path:
            self._warn("Estimator is not trained yet. Will start an evaluation when a checkpoint is ready.")
            return Result()
        if path == self._evaluated:
            self._warn(
                "No new checkpoint ready for evaluation. Skip the current evaluation pass as "
                "evaluation results are expected to be same for the same checkpoint."
            )
            return Result()
        metrics = self._estimator.evaluate(
            self._spec.input_fn,
            steps=self._spec.steps,
            name=self._spec.name,
            checkpoint_path=path,
            hooks=self._spec.hooks,
        )
        is_final = bool(self._max_steps) and metrics[GraphKeys.GLOBAL_STEP] >= self._max_steps
        exports = tuple(self._export(exporter, path, metrics, is_final) for exporter in self._spec.exporters)
        self._evaluated = path
        return Result(metrics, path, exports, is_final)

    def _export(self, exporter: Any, path: str, metrics: dict[str, Any], is_final: bool) -> Any:
        return exporter.export(
            estimator=self._estimator,
            export_path=os.path.join(self._estimator.model_dir, "export", exporter.name),
            checkpoint_path=path,
            eval_result=metrics,
            is_the_final_export=is_final,
        )

    def _warn(self, text: str) -> None:
        """Warns once in ten minutes."""
        if not self._warned or time.monotonic() - self._warned > 600:
            warning(text)
            self._warned = time.monotonic()


class _EvaluatesCheckpoints(CheckpointSaverListener):
    """Evaluates after a checkpoint, when `throttle_secs` have passed, and at the end."""

    def __init__(self, evaluator: _Evaluator, throttle_secs: float) -> None:
        self._evaluator = evaluator
        self._throttle_secs = throttle_secs
        self.result = Result()

    def begin(self) -> None:
        self._timer = SecondOrStepTimer(every_secs=self._throttle_secs)
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> None:
        # The first checkpoint is of a model that is not trained yet, or was evaluated last time.
        if self._is_first:
            self._is_first = False
            return
        if self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            info("Skip the current checkpoint eval due to throttle secs (%s secs).", self._throttle_secs)

    def end(self, session: Any, global_step_value: int) -> None:
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        result = self._evaluator.evaluate_and_export()
        if result.metrics is not None:
            self.result = result
        elif self.result.metrics is None:
            raise RuntimeError("There was no new checkpoint after the training: nothing could be evaluated.")
