"""The count of steps of an evaluation, and the hook that ends it."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.logging import info
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


def get_or_create_eval_step() -> Any:
    """The variable that counts steps of the evaluation; it is local, and in the collection EVAL_STEP."""
    found = framework.get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype=dtypes.int64,
        initializer=zeros_initializer(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


class StopAfterNEvalsHook(SessionRunHook):
    """Ends an evaluation after so many steps, and tells how far it is.

    Args:
        num_evals: the number of steps; None: until the input ends.
        log_progress: whether progress is logged.
        evals_completed: the tensor of the count after a step; an evaluation that has one of its own sets it.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True, evals_completed: Any = None) -> None:
        self._num_evals = num_evals
        self._evals_completed = evals_completed
        self._log_progress = log_progress
        self._log_every = max(1, num_evals // 10) if num_evals else 100

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._evals_completed)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        done = run_values.results
        if self._log_progress and (done % self._log_every == 0 or done == self._num_evals):
            if self._num_evals is None:
                info("Evaluation [%d]", done)
            else:
                info("Evaluation [%d/%d]", done, self._num_evals)
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()
