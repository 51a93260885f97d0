"""`slim.learning`: a training loop with a Supervisor."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from tensorfleet.contrib import train_ops
from tensorfleet.contrib.train_ops import (
    add_gradients_summaries as add_gradients_summaries,
    clip_gradient_norms as clip_gradient_norms,
    multiply_gradients as multiply_gradients,
)
from tensorfleet.core import errors
from tensorfleet.core.logging import error, info
from tensorfleet.graph import framework
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.io.summary import merge_all
from tensorfleet.ops.math.comparison import greater_equal
from tensorfleet.ops.state import variable_collections
from tensorfleet.proto.config_pb2 import RunMetadata, RunOptions
from tensorfleet.session.timeline import Timeline
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.saver import Saver
from tensorfleet.train.step_count import get_or_create_global_step
from tensorfleet.train.supervisor import Supervisor
from tensorfleet.train.supervisor_defaults import USE_DEFAULT

_USE_DEFAULT: Any = USE_DEFAULT


def create_train_op(
    total_loss: Any,
    optimizer: Optimizer,
    global_step: Any = train_ops.USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: dict[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Any:
    """The loss as a tensor whose run also trains (`slim.learning.create_train_op`).

    Args:
        clip_gradient_norm: the greatest norm of a gradient; 0 for no limit.
        gradient_multipliers: factors of gradients, by variable or by its name.

    The other arguments are those of `tf.contrib.training.create_train_op`.
    """

    def transform(pairs: Any) -> Any:
        if gradient_multipliers:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        return clip_gradient_norms(pairs, clip_gradient_norm) if clip_gradient_norm > 0 else pairs

    return train_ops.create_train_op(
        total_loss,
        optimizer,
        global_step=global_step,
        update_ops=update_ops,
        variables_to_train=variables_to_train,
        transform_grads_fn=transform,
        summarize_gradients=summarize_gradients,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
        check_numerics=check_numerics,
    )


def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: dict[str, Any]) -> Any:
    """Runs one step; returns the loss and whether training is over (`slim.learning.train_step`)."""
    begin = time.time()
    options: dict[str, Any] = {}
    metadata = None
    if train_step_kwargs.get("should_trace") is not None and sess.run(train_step_kwargs["should_trace"]):
        metadata = RunMetadata()
        options = {"options": RunOptions(trace_level=RunOptions.FULL_TRACE), "run_metadata": metadata}
    total_loss, step = sess.run([train_op, global_step], **options)
    elapsed = time.time() - begin
    if metadata is not None and train_step_kwargs.get("logdir"):
        path = f"{train_step_kwargs['logdir']}/tf_trace-{step}.json"
        info("Writing trace to %s", path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(Timeline(metadata.step_stats).generate_chrome_trace_format())
    if train_step_kwargs.get("should_log") is not None and sess.run(train_step_kwargs["should_log"]):
        info("global step %d: loss = %.4f (%.3f sec/step)", step, total_loss, elapsed)
    over = train_step_kwargs.get("should_stop")
    return total_loss, bool(sess.run(over)) if over is not None else False


def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Callable[..., Any] = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Any = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: int = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: int = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Any = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Trains until a number of steps or the end of the input (`slim.learning.train`).

    Args:
        train_op: the result of `create_train_op`.
        logdir: the directory of checkpoints and summaries; None for no files.
        train_step_fn: a function of the session, `train_op`, the global step and `train_step_kwargs`, which
            returns the loss and whether training is over.
        master: the session's target, or "".
        number_of_steps: the global step at which training ends; None for the end of the input.
        startup_delay_steps: the global step that a worker other than the chief waits for.
        sync_optimizer: a SyncReplicasOptimizer, or a list of them.

    The other arguments are those of `tf.train.Supervisor`.

    Returns:
        The loss of the last step; None if there was none.

    Raises:
        ValueError: `train_op` is None, or arguments contradict each other.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        if summary_op is not _USE_DEFAULT and summary_op is not None:
            raise ValueError("Cannot provide summary_op because logdir=None")
        if saver is not None:
            raise ValueError("Cannot provide saver because logdir=None")
        if trace_every_n_steps is not None:
            raise ValueError("Cannot provide trace_every_n_steps because logdir=None")
        summary_writer = summary_op = None
    if isinstance(sync_optimizer, list):
        if startup_delay_steps > 0:
            raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
        optimizers = sync_optimizer
    else:
        optimizers = [] if sync_optimizer is None else [sync_optimizer]
        if optimizers and startup_delay_steps > 0:
            raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    graph = graph or get_default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = get_or_create_global_step()
        saver = saver or Saver()
        queues: list[Any] = []
        local = [] if local_init_op is _USE_DEFAULT else [local_init_op]
        with framework.name_scope("init_ops"):
            if init_op is _USE_DEFAULT:
                init_op = variable_collections.global_variables_initializer()
            if ready_op is _USE_DEFAULT:
                ready_op = variable_collections.report_uninitialized_variables()
            if not local:
                local = [
                    variable_collections.local_variables_initializer(),
                    variable_collections.tables_initializer(),
                ]
            for optimizer in optimizers:
                if is_chief:
                    queues.append(optimizer.get_chief_queue_runner())
                    init_op = group(init_op, optimizer.get_init_tokens_op())
                local.append(optimizer.chief_init_op if is_chief else optimizer.local_step_init_op)
            local_init_op = group(*(operation for operation in local if operation is not None))
        if summary_op is _USE_DEFAULT:
            summary_op = merge_all()
        if train_step_kwargs is _USE_DEFAULT:
            train_step_kwargs = _step_arguments(
                global_step, number_of_steps, log_every_n_steps, trace_every_n_steps, logdir
            )
    supervisor = Supervisor(
        graph=graph,
        is_chief=is_chief,
        logdir=logdir,
        init_op=init_op,
        init_feed_dict=init_feed_dict,
        local_init_op=local_init_op,
        ready_for_local_init_op=optimizers[0].ready_for_local_init_op if optimizers else _USE_DEFAULT,
        ready_op=ready_op,
        summary_op=summary_op,
        summary_writer=summary_writer,
        global_step=global_step,
        saver=saver,
        save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs,
        init_fn=init_fn,
    )
    total_loss = None
    while True:
        try:
            with supervisor.managed_session(
                master, start_standard_services=False, config=session_config
            ) as session:
                if session_wrapper is not None:
                    session = session_wrapper(session)
                if is_chief and logdir:
                    supervisor.start_standard_services(session)
                elif startup_delay_steps > 0:
                    wanted = min(startup_delay_steps, number_of_steps or sys.maxsize)
                    _wait_for_step(supervisor, session, global_step, wanted)
                threads = supervisor.start_queue_runners(session)
                if queues:
                    threads += supervisor.start_queue_runners(session, queues)
                try:
                    while not supervisor.should_stop():
                        total_loss, over = train_step_fn(session, train_op, global_step, train_step_kwargs)
                        if over:
                            info("Stopping Training.")
                            supervisor.request_stop()
                            break
                except errors.OutOfRangeError as e:
                    info("Caught OutOfRangeError. Stopping Training. %s", e)
                if logdir and supervisor.is_chief:
                    info("Finished training! Saving model to disk.")
                    supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
                    supervisor.stop(threads, close_summary_writer=False)
            return total_loss
        except errors.AbortedError:
            # A task has restarted: training continues in a new session from the last checkpoint.
            info("Retrying training!")
        except BaseException:
            error("Training ended by an error.")
            raise


def _step_arguments(
    global_step: Any, steps: int | None, log_every: int, trace_every: int | None, logdir: str | None
) -> dict[str, Any]:
    """The arguments of `train_step`: tensors of conditions on the global step."""
    from tensorfleet.ops.math.arithmetic import floormod
    from tensorfleet.ops.math.comparison import equal

    with framework.name_scope("train_step"):
        arguments: dict[str, Any] = {}
        if steps:
            arguments["should_stop"] = greater_equal(global_step, steps)
        if log_every > 0:
            arguments["should_log"] = equal(floormod(global_step, log_every), 0)
        if trace_every is not None:
            arguments["should_trace"] = equal(floormod(global_step, trace_every), 0)
            arguments["logdir"] = logdir
    return arguments


def _wait_for_step(supervisor: Supervisor, session: Any, global_step: Any, step: int) -> None:
    while int(session.run(global_step)) < step and not supervisor.should_stop():
        supervisor.coord.wait_for_stop(1.0)


__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
    "train",
    "train_step",
]
