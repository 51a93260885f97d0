"""The training of an estimator: the graph, its hooks and its loop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorfleet.core.logging import info, warning
from tensorfleet.estimator import input_fns, replicated
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.run_config import RunConfig, worker_count
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph import framework
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.io import summary
from tensorfleet.train.hooks import LoggingTensorHook, NanTensorHook
from tensorfleet.train.monitored_session import MonitoredTrainingSession
from tensorfleet.train.saver import Saver
from tensorfleet.train.saving_hooks import CheckpointSaverHook, CheckpointSaverListener
from tensorfleet.train.session_run_hook import SessionRunHook
from tensorfleet.train.warm_starting import warm_start

if TYPE_CHECKING:
    from tensorfleet.estimator.estimator import Estimator


def train(
    estimator: Estimator,
    input_fn: Callable[..., Any],
    hooks: list[SessionRunHook],
    listeners: list[CheckpointSaverListener],
) -> Any:
    """Trains, and returns the last loss; None where no step was made."""
    config = estimator.config
    strategy = config.train_distribute
    scope = contextlib.nullcontext() if strategy is None else strategy.scope()
    with Graph().as_default() as graph, framework.device(estimator._device_fn), scope:
        step = estimator._start_graph(graph)
        if strategy is not None:
            spec, input_hooks = replicated.train_spec(estimator, strategy, input_fn)
        else:
            features, labels, input_hooks = input_fns.features_and_labels(
                estimator._input(input_fn, ModeKeys.TRAIN)
            )
            spec = estimator._call_model_fn(features, labels, ModeKeys.TRAIN, config)
        settings = estimator._warm_start_settings
        if settings is not None:
            info("Warm-starting with WarmStartSettings: %s", settings)
            warm_start(*settings)
        _summarize_loss(spec.loss)
        _give_saver(spec, config)
        all_hooks: list[SessionRunHook] = [*hooks, NanTensorHook(spec.loss)]
        in_step = worker_count(strategy) > 1
        if in_step:
            # First, as the others may read variables.
            all_hooks.insert(0, strategy.make_session_run_hook())
        if config.log_step_count_steps:
            all_hooks.append(
                LoggingTensorHook({"loss": spec.loss, "step": step}, every_n_iter=config.log_step_count_steps)
            )
        all_hooks += spec.training_hooks
        chief_hooks: list[SessionRunHook] = []
        if config.is_chief or not in_step:
            chief_hooks = _chief_hooks(spec, config, all_hooks, listeners)
        # The input comes first, as the hooks of a model may read from it, such as those of k-means.
        if config.is_chief:
            chief_hooks = [*input_hooks, *chief_hooks]
        else:
            all_hooks = [*input_hooks, *all_hooks]
        loss = None
        # Where workers keep in step, each has all variables, and is the chief of its own session.
        with MonitoredTrainingSession(
            master=config.master,
            is_chief=config.is_chief or in_step,
            checkpoint_dir=config.model_dir if config.is_chief or not in_step else None,
            scaffold=spec.scaffold,
            hooks=all_hooks,
            chief_only_hooks=chief_hooks,
            save_checkpoint_secs=0,  # the hook is among the chief's, with its listeners
            save_summaries_steps=config.save_summary_steps,
            config=config.session_config,
            max_wait_secs=config.session_creation_timeout_secs,
            log_step_count_steps=config.log_step_count_steps,
            save_graph_def=config.checkpoint_save_graph_def,
        ) as session:
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
    if loss is None:
        warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
    return loss


def _summarize_loss(loss: Any) -> None:
    collected = framework.get_collection(GraphKeys.SUMMARIES)
    if not any(tensor.op.name == "loss" for tensor in collected):
        summary.scalar("loss", loss)


def _give_saver(spec: EstimatorSpec, config: RunConfig) -> None:
    if spec.scaffold.saver is not None or framework.get_collection(GraphKeys.SAVERS):
        return
    # Not sharded, unlike TensorFlow's: it works on machines that share no file system.
    saver = Saver(
        max_to_keep=config.keep_checkpoint_max,
        keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
        defer_build=True,
        allow_empty=True,
        save_relative_paths=True,
    )
    framework.add_to_collection(GraphKeys.SAVERS, saver)


def _chief_hooks(
    spec: EstimatorSpec,
    config: RunConfig,
    hooks: list[SessionRunHook],
    listeners: list[CheckpointSaverListener],
) -> list[SessionRunHook]:
    """The hooks of the chief: those of the model, and one that saves where there is none yet."""
    found = list(spec.training_chief_hooks)
    savers = [hook for hook in (*hooks, *found) if isinstance(hook, CheckpointSaverHook)]
    if not savers and (config.save_checkpoints_secs or config.save_checkpoints_steps):
        assert config.model_dir is not None
        saver = CheckpointSaverHook(
            config.model_dir,
            save_secs=config.save_checkpoints_secs or None,
            save_steps=config.save_checkpoints_steps or None,
            scaffold=spec.scaffold,
            save_graph_def=config.checkpoint_save_graph_def,
        )
        savers = [saver]
        found.append(saver)
    if listeners:
        if not savers:
            raise ValueError(
                "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
            )
        savers[0].add_listeners(listeners)
    return found
