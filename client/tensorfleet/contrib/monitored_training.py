"""`tf.contrib.training`: a loop of training, and evaluations with hooks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorfleet.core.logging import info
from tensorfleet.ops.io.summary import merge_all
from tensorfleet.ops.state.variable_ops import assign_add
from tensorfleet.summary.file_writer import FileWriterCache
from tensorfleet.train.checkpoint_waiting import checkpoints_iterator
from tensorfleet.train.evaluation import StopAfterNEvalsHook, get_or_create_eval_step
from tensorfleet.train.hooks import FinalOpsHook
from tensorfleet.train.monitored_session import MonitoredSession, MonitoredTrainingSession
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_creator import ChiefSessionCreator
from tensorfleet.train.session_run_hook import SessionRunHook
from tensorfleet.train.step_count import get_or_create_global_step


def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
    run_metadata: Any = None,
) -> Any:
    """Trains until a hook ends it, or the input (`tf.contrib.training.train`).

    Args:
        train_op: a tensor that trains; see `create_train_op`.
        logdir: the directory of checkpoints and summaries; None for none.

    The other arguments are those of `tf.train.MonitoredTrainingSession`.

    Returns:
        The last value of `train_op`.

    Raises:
        ValueError: there is no `logdir` for what is to be saved.
    """
    if logdir is None and is_chief:
        for name, given in (
            ("save_summaries_steps", save_summaries_steps),
            ("save_checkpoint_secs", save_checkpoint_secs),
        ):
            if given:
                raise ValueError(f"logdir cannot be None when {name} is not None")
    loss = None
    with MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss


class SummaryAtEndHook(SessionRunHook):
    """Writes summaries at the end of an evaluation (`tf.contrib.training.SummaryAtEndHook`).

    Args:
        log_dir: where to, if there is no `summary_writer`.
        summary_op: the summaries, by default all of the graph.
        feed_dict: what they need.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: Any = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("exactly one of log_dir and summary_writer should be specified")
        self._dir, self._writer, self._op, self._feed = log_dir, summary_writer, summary_op, feed_dict
        self._step: Any = None

    def begin(self) -> None:
        self._step = get_or_create_global_step()
        if self._op is None:
            self._op = merge_all()
        if self._writer is None:
            self._writer = FileWriterCache.get(self._dir)

    def end(self, session: Any) -> None:
        step = int(session.run(self._step))
        if self._op is not None:
            self._writer.add_summary(session.run(self._op, self._feed), step)
        self._writer.flush()


def _counted(eval_ops: Any, hooks: Sequence[Any]) -> Any:
    """`eval_ops` with what counts their steps, which hooks that end after so many steps are told."""
    step = get_or_create_eval_step()
    if eval_ops is None:
        return None
    count = assign_add(step, 1, use_locking=True)
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(count)
    if isinstance(eval_ops, Mapping):
        return {**eval_ops, "update_eval_step": count}
    return [*(eval_ops if isinstance(eval_ops, (list, tuple)) else [eval_ops]), count]


def _evaluated(
    path: str | None,
    master: str,
    scaffold: Any,
    eval_ops: Any,
    feed_dict: Any,
    final_ops: Any,
    final_ops_feed_dict: Any,
    hooks: Sequence[Any],
    config: Any,
) -> Any:
    info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=path, master=master, config=config
    )
    with MonitoredSession(session_creator=creator, hooks=[*hooks, last]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
    return last.final_ops_values


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Any = None,
    config: Any = None,
) -> Any:
    """Restores a checkpoint, and runs `eval_ops` until a hook ends it, or the input
    (`tf.contrib.training.evaluate_once`).

    Args:
        checkpoint_path: the checkpoint; None to start from initial values.
        eval_ops: a tensor, operation, or a list or dictionary of them; None: no step is run.
        feed_dict, final_ops_feed_dict: what is fed for the two.
        hooks: hooks of the session, of which one may be a StopAfterNEvalsHook.
        master, scaffold, config: of the session.

    Returns:
        The values of `final_ops`; None without them.
    """
    hooks = list(hooks or ())
    eval_ops = _counted(eval_ops, hooks)
    given = (eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config)
    return _evaluated(checkpoint_path, master, scaffold, *given)


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Any = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """`evaluate_once` for each checkpoint as it appears (`tf.contrib.training.evaluate_repeatedly`).

    Returns:
        The last values of `final_ops`.
    """
    result = None
    scaffold = scaffold or Scaffold()
    hooks = list(hooks or ())
    # Before the first session, which finalizes the graph.
    eval_ops = _counted(eval_ops, hooks)
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for count, path in enumerate(paths, 1):
        given = (eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config)
        result = _evaluated(path, master, scaffold, *given)
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return result
