"""Evaluation of checkpoints as they appear: `tf.contrib.training` and `slim.evaluation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.ops.io.summary import merge_all
from tensorfleet.ops.state.variable_ops import assign_add
from tensorfleet.summary.file_writer import FileWriter
from tensorfleet.train.checkpoint_waiting import checkpoints_iterator
from tensorfleet.train.evaluation import get_or_create_eval_step
from tensorfleet.train.monitored_session import MonitoredSession
from tensorfleet.train.saver import Saver
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_creator import ChiefSessionCreator
from tensorfleet.train.step_count import get_global_step

_DEFAULT: Any = 0


def evaluate_once(
    master: str = "",
    checkpoint_path: str | None = None,
    logdir: str | None = None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Any = None,
) -> Any:
    """Restores a checkpoint, runs `eval_op` `num_evals` times, then `final_op`
    (`slim.evaluation.evaluate_once`).

    Args:
        logdir: the directory of summaries, which are written with the global step of the checkpoint.
        summary_op: the summaries, by default all of the graph; None for none.
        variables_to_restore: the variables, by default all that can be saved.

    Returns:
        The value of `final_op`; None without one.
    """
    if summary_op is _DEFAULT:
        summary_op = merge_all()
    eval_step = get_or_create_eval_step()
    counted = assign_add(eval_step, 1)
    step = get_global_step()
    saver = Saver(variables_to_restore) if variables_to_restore else None
    scaffold = Scaffold(saver=saver, init_op=initial_op, init_feed_dict=initial_op_feed_dict)
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=session_config
    )
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        if eval_op is not None:
            for _ in range(num_evals):
                session.run([eval_op, counted], eval_op_feed_dict)
        result = session.run(final_op, final_op_feed_dict) if final_op is not None else None
        if summary_op is not None and logdir:
            summary = session.run(summary_op, summary_op_feed_dict)
            number = None if step is None else int(session.run(step))
            with FileWriter(logdir) as writer:
                writer.add_summary(summary, number)
    return result


def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Any = None,
) -> Any:
    """`evaluate_once` for each checkpoint as it appears (`slim.evaluation.evaluation_loop`).

    Args:
        init_fn: must be None.
        max_number_of_evaluations: the number of checkpoints to evaluate; None for all.
        timeout, timeout_fn: as in `checkpoints_iterator`.

    Returns:
        The last value of `final_op`.
    """
    if init_fn is not None:
        raise NotImplementedError("evaluation_loop with init_fn is not part of TensorFleet.")
    if summary_op is _DEFAULT:
        summary_op = merge_all()
    result = None
    for count, path in enumerate(
        checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn), 1
    ):
        result = evaluate_once(
            master,
            path,
            logdir,
            num_evals,
            initial_op,
            initial_op_feed_dict,
            eval_op,
            eval_op_feed_dict,
            final_op,
            final_op_feed_dict,
            summary_op,
            summary_op_feed_dict,
            variables_to_restore,
            session_config,
            hooks,
        )
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return result
