"""`tf.contrib.training`: a loop of training, and evaluations with hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core.logging import info
from tensorfleet.ops.io.summary import merge_all
from tensorfleet.ops.state.variable_ops import assign_add
from tensorfleet.summary.file_writer import FileWriterCache
from tensorfleet.train.checkpoint_waiting import checkpoints_iterator
from tensorfleet.train.evaluation import get_or_create_eval_step
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


class StopAfterNEvalsHook(SessionRunHook):
    """Ends an evaluation after so many runs (`tf.contrib.training.StopAfterNEvalsHook`).

    Args:
        num_evals: the number; None for the end of the input.
        log_progress: whether each run is logged.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._count, self._logs, self._done = num_evals, log_progress, 0

    def begin(self) -> None:
        self._done = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._done += 1
        if self._logs:
            info("Evaluation [%d%s]", self._done, f"/{self._count}" if self._count else "")
        if self._count is not None and self._done >= self._count:
            run_context.request_stop()


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


def _evaluated(
    path: str | None,
    master: str,
    scaffold: Any,
    eval_ops: Any,
    feed_dict: Any,
    final_ops: Any,
    final_ops_feed_dict: Any,
    hooks: Any,
    config: Any,
) -> Any:
    counted = assign_add(get_or_create_eval_step(), 1)
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=path, master=master, config=config
    )
    with MonitoredSession(session_creator=creator, hooks=[*(hooks or ()), last]) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run([eval_ops, counted], feed_dict)
    return last.final_ops_values


def evaluate_once(
    checkpoint_path: str,
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

    Returns:
        The values of `final_ops`.
    """
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
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for count, path in enumerate(paths, 1):
        given = (eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config)
        result = _evaluated(path, master, scaffold, *given)
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return result
