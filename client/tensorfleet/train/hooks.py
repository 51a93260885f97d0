"""Hooks that watch and end training: `tf.train.StopAtStepHook`, `tf.train.LoggingTensorHook`, …"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import errors, logging
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tensorfleet.train.step_count import get_global_step
from tensorfleet.train.timers import NeverTriggerTimer, SecondOrStepTimer

_LOOK_SECONDS = 0.5
_STEPS_BETWEEN_LOGS = 1000


def required_global_step(hook: str) -> Any:
    """The graph's global step. Raises RuntimeError, naming the hook, if there is none."""
    found = get_global_step()
    if found is None:
        raise RuntimeError(f"Global step should be created to use {hook}.")
    return found


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors (`tf.train.LoggingTensorHook`)."""

    def __init__(
        self,
        tensors: Mapping[str, Any] | Sequence[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        """Makes a hook.

        Args:
            tensors: tensors or their names, by the tags to log them under, or in a list.
            every_n_iter, every_n_secs: the runs or the seconds between two logs; exactly one is given.
            at_end: log at the end, too; then no interval is needed.
            formatter: a function from a dict of tags and values to the text.

        Raises:
            ValueError: not exactly one interval is given, or it is not positive.
        """
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        named = isinstance(tensors, Mapping)
        self._tensors = dict(tensors) if isinstance(tensors, Mapping) else {item: item for item in tensors}
        self._tags = sorted(self._tensors) if named else list(self._tensors)
        self._formatter = formatter
        self._timer = NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._at_end = at_end

    def begin(self) -> None:
        self._timer.reset()
        self._runs = 0
        self._fetches = {tag: given_tensor(value) for tag, value in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._triggered = self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._fetches) if self._triggered else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._triggered:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: Any) -> None:
        if self._at_end:
            self._log(session.run(self._fetches))

    def _log(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._runs)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                logging.info("%s", self._formatter(values))
                return
            text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tags)
            logging.info("%s", text if seconds is None else f"{text} ({seconds:.3f} sec)")


def given_tensor(value: Any) -> Any:
    """A tensor of the default graph, from itself or its name, in which ":0" may be omitted.

    Raises:
        ValueError: the tensor is of another graph, or the name without ":0" is that of several outputs.
    """
    graph = get_default_graph()
    if not isinstance(value, str):
        if getattr(value, "graph", None) is not graph:
            raise ValueError(
                f"Passed {value} should have graph attribute that is equal to current graph {graph}."
            )
        return value
    if ":" in value:
        return graph.as_graph_element(value)
    found = graph.get_tensor_by_name(f"{value}:0")
    if len(found.op.outputs) > 1:
        raise ValueError(f"Name {value} is ambiguous, as this `Operation` has multiple outputs (at least 2).")
    return found


class StopAtStepHook(SessionRunHook):
    """Requests a stop at a global step (`tf.train.StopAtStepHook`)."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        """Makes a hook.

        Args:
            num_steps: the number of steps to run, from the global step of the new session on.
            last_step: the global step to stop at.

        Raises:
            ValueError: neither or both are given.
        """
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        self._global_step = required_global_step("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = session.run(self._global_step) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        # The value may be from before or after this run's own step, so it is read again when the end is near.
        assert self._last_step is not None
        if run_values.results + 1 >= self._last_step:
            step = run_context.session.run(self._global_step)
            if step >= self._last_step:
                run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """The loss is NaN (`tf.train.NanLossDuringTrainingError`)."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Ends training if the loss is NaN (`tf.train.NanTensorHook`)."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        """Makes a hook.

        Args:
            loss_tensor: a tensor of rank 0.
            fail_on_nan_loss: raise NanLossDuringTrainingError instead of requesting a stop.
        """
        self._loss = loss_tensor
        self._fail = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results):
            return
        message = "Model diverged with loss = NaN."
        if self._fail:
            logging.error(message)
            raise NanLossDuringTrainingError
        logging.warning(message)
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Makes a worker wait for a global step before its first run (`tf.train.GlobalStepWaiterHook`).

    There is no time limit; an error of the session ends the wait.
    """

    def __init__(self, wait_until_step: int) -> None:
        """A hook that waits for the step `wait_until_step`."""
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._started = self._wait_until_step <= 0
        self._global_step = required_global_step("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        if self._started:
            return
        logging.info("Waiting for global step %d before starting training.", self._wait_until_step)
        logged = 0
        while (step := run_context.session.run(self._global_step)) < self._wait_until_step:
            if step - logged > _STEPS_BETWEEN_LOGS:
                logging.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step,
                    step,
                )
                logged = step
            time.sleep(_LOOK_SECONDS)
        self._started = True


class FinalOpsHook(SessionRunHook):
    """Runs operations at the end, and keeps their values (`tf.train.FinalOpsHook`)."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: dict[Any, Any] | None = None) -> None:
        """A hook with the fetches and feeds of the final run."""
        self._final_ops = final_ops
        self._feed_dict = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values of the final run; None before it."""
        return self._values

    def end(self, session: Any) -> None:
        if self._final_ops is None:
            return
        try:
            self._values = session.run(self._final_ops, feed_dict=self._feed_dict)
        except (errors.OutOfRangeError, StopIteration):
            logging.warning(
                "FinalOpsHook reached the end of the input: its operations should read variables, not input."
            )
            raise


class FeedFnHook(SessionRunHook):
    """Feeds each run the result of a function (`tf.train.FeedFnHook`)."""

    def __init__(self, feed_fn: Callable[[], dict[Any, Any]]) -> None:
        """A hook that calls `feed_fn`, which returns a feed_dict, before each run."""
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
