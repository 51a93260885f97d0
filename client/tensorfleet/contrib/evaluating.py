"""Evaluation of checkpoints as they come: `tf.contrib.training` and `slim.evaluation`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from tensorfleet.core.logging import info
from tensorfleet.ops.io.summary import merge_all
from tensorfleet.ops.state.variable_ops import assign_add
from tensorfleet.summary.file_writer import FileWriter
from tensorfleet.train.checkpoint_management import latest_checkpoint
from tensorfleet.train.evaluation import get_or_create_eval_step as get_or_create_eval_step
from tensorfleet.train.monitored_session import MonitoredSession
from tensorfleet.train.saver import Saver
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_creator import ChiefSessionCreator
from tensorfleet.train.step_count import get_global_step

_DEFAULT: Any = 0


def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The path of a checkpoint that is not the last one; None where none has come in time."""
    info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = time.time() + timeout if timeout is not None else None
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            info("Found new checkpoint at %s", path)
            return path
        if end is not None and time.time() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """The checkpoints of a folder as they come.

    Args:
        min_interval_secs: the shortest time from one to the next.
        timeout: how long to wait for one; None: for ever.
        timeout_fn: is asked after `timeout` whether there will be none; by default there will be none.
    """
    last: str | None = None
    while True:
        path = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if path is None:
            if timeout_fn is None or timeout_fn():
                info("Timed-out waiting for a checkpoint.")
                return
            continue
        begin = time.time()
        last = path
        yield path
        rest = begin + min_interval_secs - time.time()
        if rest > 0:
            time.sleep(rest)


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
    """Restores a checkpoint, runs `eval_op` so often, then `final_op` (`slim.evaluation.evaluate_once`).

    Args:
        logdir: where the summaries are written, with the global step of the checkpoint.
        summary_op: by default all summaries of the graph; None: none.
        variables_to_restore: by default all that can be saved.

    Returns:
        What `final_op` gives; None without one.
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
    """`evaluate_once` of each checkpoint as it comes (`slim.evaluation.evaluation_loop`).

    Args:
        init_fn: must be None.
        max_number_of_evaluations: how many checkpoints are evaluated; None: all.
        timeout, timeout_fn: as in `checkpoints_iterator`.

    Returns:
        What `final_op` gave last.
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
