"""Names of `tensorflow.python.training` that programs use, beside those of `tf.train`."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

import tensorfleet as tf
from tensorfleet.core.compat import as_text
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.state.ref_variable import RefVariable as RefVariable
from tensorfleet.proto.event_pb2 import Event
from tensorfleet.records.tfrecord import TFRecordWriter
from tensorfleet.train.checkpoint_reader import CheckpointReader as CheckpointReader
from tensorfleet.train.device_setter import RoundRobinStrategy as RoundRobinStrategy
from tensorfleet.train.evaluation import (
    StopAfterNEvalsHook,
    get_or_create_eval_step as get_or_create_eval_step,
)
from tensorfleet.train.monitored_session import (
    USE_DEFAULT as USE_DEFAULT,
    _MonitoredSession as MonitoredSession,
)
from tensorfleet.train.optimizer import summed_by_index as summed_by_index
from tensorfleet.train.saver_builder import BaseSaverBuilder as BaseSaverBuilder
from tensorfleet.train.wrapped_sessions import HookedSession as HookedSession


def as_graph_element(obj: Any) -> Any:
    """The tensor or operation of the default graph that a name or object stands for.

    Raises:
        ValueError: it stands for none.
    """
    return tf.get_default_graph().as_graph_element(obj, allow_tensor=True, allow_operation=True)


def var_key(var: Any) -> tuple[Any, str]:
    """What identifies a variable among those of all graphs."""
    return var.op.graph, var.op.name


def global_step_read(graph: Any = None) -> Tensor | None:
    """The global step's value, read; None without a global step."""
    found = tf.train.get_or_create_global_step(graph)
    return None if found is None else tf.identity(found)


def increment_global_step(increment: Any, graph: Any = None) -> Any:
    """The operation that adds to the global step.

    Raises:
        ValueError: the graph has none.
    """
    graph = graph or tf.get_default_graph()
    found = tf.train.get_global_step(graph)
    if found is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step before calling "
            "increment."
        )
    with graph.as_default(), tf.control_dependencies([tf.identity(found)]):
        return found.assign_add(tf.cast(increment, found.dtype.base))


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """The average of a value that was weighted at each step, with older ones decayed
    (`moving_averages.weighted_moving_average`)."""
    if collections is None:
        collections = [tf.GraphKeys.GLOBAL_VARIABLES]
    with tf.variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        made = [
            tf.get_variable(
                variable,
                initializer=tf.zeros_initializer(),
                shape=part.get_shape(),
                dtype=value.dtype,
                trainable=False,
                collections=collections,
            )
            for variable, part in (("value", value), ("weight", weight))
        ]
        from tensorfleet.train.moving_averages import assign_moving_average

        numerator = assign_moving_average(made[0], value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(made[1], weight, decay, zero_debias=False)
        divide = tf.truediv if truediv else tf.div
        average: Tensor = divide(numerator, denominator, name=scope.name)
    return average


class StopAfterNEvals(StopAfterNEvalsHook):
    """The hook that ends an evaluation after so many steps; `evaluate_once` gives it their count."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        super().__init__(num_evals, None, log_progress)

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._evals_completed = updated_eval_step


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
    """Runs `eval_ops` on a checkpoint until a hook ends it, then `final_ops`, whose values are returned.

    Args:
        feed_dict, final_ops_feed_dict: what is fed for the two.
        scaffold, master, config: of the session.
    """
    step = get_or_create_eval_step()
    hooks = list(hooks or ())
    if eval_ops is not None:
        counted = step.assign_add(1)
        if isinstance(eval_ops, dict):
            eval_ops = {**eval_ops, "update_eval_step": counted}
        else:
            eval_ops = [*(eval_ops if isinstance(eval_ops, (list, tuple)) else [eval_ops]), counted]
        for hook in hooks:
            if hasattr(hook, "_set_evals_completed_tensor"):
                hook._set_evals_completed_tensor(counted)
    last = tf.train.FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = tf.train.ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
    )
    with tf.train.MonitoredSession(session_creator=creator, hooks=[*hooks, last]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    return last.final_ops_values


class EventsWriter:
    """A file of events, whose name begins with `file_prefix` (`pywrap_tensorflow.EventsWriter`)."""

    def __init__(self, file_prefix: Any) -> None:
        prefix = os.path.abspath(as_text(file_prefix))
        self._name = f"{prefix}.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}"
        self._writer: TFRecordWriter | None = None

    def _opened(self) -> TFRecordWriter:
        if self._writer is None:
            self._writer = TFRecordWriter(self._name)
            self._writer.write(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
        return self._writer

    def FileName(self) -> bytes:
        """The file's name."""
        self._opened()
        return self._name.encode()

    def WriteEvent(self, event: Event) -> None:
        """Appends an event."""
        self._opened().write(event.SerializeToString())

    def Flush(self) -> bool:
        """Writes what is buffered."""
        self._opened().flush()
        return True

    def Close(self) -> bool:
        """Ends the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        return True


__all__ = [
    "USE_DEFAULT",
    "BaseSaverBuilder",
    "CheckpointReader",
    "EventsWriter",
    "HookedSession",
    "MonitoredSession",
    "RefVariable",
    "RoundRobinStrategy",
    "StopAfterNEvals",
    "as_graph_element",
    "evaluate_once",
    "get_or_create_eval_step",
    "global_step_read",
    "increment_global_step",
    "summed_by_index",
    "var_key",
    "weighted_moving_average",
]
