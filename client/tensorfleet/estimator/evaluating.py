"""The evaluation of an estimator: the graph, its loop, and the summary of its result."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.core.logging import info, warning
from tensorfleet.core.tensor_util import make_tensor_proto
from tensorfleet.estimator import input_fns
from tensorfleet.estimator.mode_keys import LOSS_METRIC_KEY, ModeKeys
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.metrics.means import mean
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state.variable_ops import assign_add
from tensorfleet.proto.summary_pb2 import Summary
from tensorfleet.summary.file_writer import FileWriterCache
from tensorfleet.train.evaluation import StopAfterNEvalsHook, get_or_create_eval_step
from tensorfleet.train.hooks import FinalOpsHook
from tensorfleet.train.monitored_session import MonitoredSession
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_creator import ChiefSessionCreator
from tensorfleet.train.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from tensorfleet.estimator.estimator import Estimator

GLOBAL_STEP = GraphKeys.GLOBAL_STEP


def evaluate(
    estimator: Estimator,
    input_fn: Callable[..., Any],
    steps: int | None,
    hooks: list[SessionRunHook],
    checkpoint_path: str | None,
    name: str | None,
) -> dict[str, Any]:
    """The result by the names of the metrics; it is written as a summary, too."""
    path = estimator._checkpoint(checkpoint_path, "evaluate")
    with Graph().as_default():
        scaffold, update, results, all_hooks = build(estimator, input_fn, hooks, steps)
        return run(estimator, scaffold, update, results, all_hooks, path, name)


def run(
    estimator: Estimator,
    scaffold: Scaffold,
    update: Any,
    results: dict[str, Any],
    hooks: list[SessionRunHook],
    checkpoint_path: str | None,
    name: str | None,
) -> dict[str, Any]:
    """Runs the evaluation that `build` made in the default graph, and writes its result."""
    final = FinalOpsHook(results)
    info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    creator = ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=estimator.config.evaluation_master,
        config=estimator.config.session_config,
    )
    with MonitoredSession(creator, [*hooks, final]) as session:
        while not session.should_stop():
            session.run(update)
    info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
    values: dict[str, Any] = final.final_ops_values
    write_result(estimator.eval_dir(name), values, checkpoint_path)
    return values


def build(
    estimator: Estimator, input_fn: Callable[..., Any], hooks: list[SessionRunHook], steps: int | None
) -> tuple[Scaffold, Any, dict[str, Any], list[SessionRunHook]]:
    """(scaffold, update, results, hooks) of an evaluation in the default graph.

    Raises:
        ValueError: a metric has the name of the loss or of the global step.
    """
    step = estimator._start_graph(get_default_graph())
    features, labels, input_hooks = input_fns.features_and_labels(estimator._input(input_fn, ModeKeys.EVAL))
    spec = estimator._call_model_fn(features, labels, ModeKeys.EVAL, estimator.config)
    results, update = _results(spec)
    results[GLOBAL_STEP] = step
    scaffold = spec.scaffold
    if scaffold.local_init_op is not None:
        # What counts the steps and the metrics is local, too, and no initializer of the user's knows it.
        get_or_create_eval_step()
        scaffold = Scaffold(
            local_init_op=group(scaffold.local_init_op, Scaffold.default_local_init_op()),
            copy_from_scaffold=scaffold,
        )
    counted = assign_add(get_or_create_eval_step(), 1)
    counter = StopAfterNEvalsHook(steps, evals_completed=counted)
    return scaffold, update, results, [*input_hooks, *hooks, *spec.evaluation_hooks, counter]


def _results(spec: EstimatorSpec) -> tuple[dict[str, Any], Any]:
    for key in (LOSS_METRIC_KEY, GLOBAL_STEP):
        if key in spec.eval_metric_ops:
            raise ValueError(
                f'Metric with name "{key}" is not allowed, because Estimator already defines a default '
                "metric with the same name."
            )
    metrics = {**spec.eval_metric_ops, LOSS_METRIC_KEY: mean(spec.loss)}
    ordered = sorted(metrics.items())
    return {key: value for key, (value, _) in ordered}, group(*(update for _, (_, update) in ordered))


def write_result(directory: str, values: Mapping[str, Any], checkpoint_path: str | None) -> None:
    """Writes the result of an evaluation to the event file of a directory."""
    step = int(values[GLOBAL_STEP])
    listed = ", ".join(f"{key} = {value}" for key, value in sorted(values.items()))
    info("Saving dict for global step %d: %s", step, listed)
    summary = Summary()
    for key, value in sorted(values.items()):
        if key != GLOBAL_STEP:
            _add(summary, key, value)
    writer = FileWriterCache.get(directory)
    writer.add_summary(summary, step)
    if checkpoint_path:
        path = os.path.abspath(checkpoint_path)
        info("Saving 'checkpoint_path' summary for global step %d: %s", step, path)
        noted = Summary()
        noted.value.add(tag="checkpoint_path", tensor=make_tensor_proto(path))
        writer.add_summary(noted, step)
    writer.flush()


def _add(summary: Summary, key: str, value: Any) -> None:
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        summary.value.add(tag=key, simple_value=float(value))
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        for index, part in enumerate(value.flat):
            summary.value.add(tag=f"{key}/{index}", simple_value=float(part))
    elif isinstance(value, bytes) and _parsed(value) is not None:
        for entry in Summary.FromString(value).value:
            entry.tag = f"{key}/{entry.tag}" if entry.tag else key
            summary.value.append(entry)
    else:
        warning(
            "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or np.ndarray "
            "or a serialized string of Summary.",
            key,
        )


def _parsed(text: bytes) -> Summary | None:
    try:
        return Summary.FromString(text)
    except DecodeError:
        return None
