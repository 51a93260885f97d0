"""Monitors as hooks of a session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorfleet.contrib.monitoring.base import BaseMonitor
from tensorfleet.estimator.arguments import parameter_names
from tensorfleet.train.hooks import given_tensor
from tensorfleet.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tensorfleet.train.step_count import get_global_step


class RunHookAdapterForMonitors(SessionRunHook):
    """A hook that calls monitors (`tf.contrib.learn.monitors.RunHookAdapterForMonitors`)."""

    def __init__(self, monitors: Iterable[BaseMonitor]) -> None:
        self._monitors = list(monitors)
        self._next_step: int | None = None

    def begin(self) -> None:
        self._next_step = None
        self._global_step = get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        if self._next_step is None:
            self._next_step = int(run_context.session.run(self._global_step)) + 1
        asked: list[Any] = []
        for monitor in self._monitors:
            found = monitor.step_begin(self._next_step)
            if found and not isinstance(found, list):
                raise ValueError("Monitor.step_begin should return a list.")
            asked.extend(found or ())
        return SessionRunArgs(
            {"step": self._global_step, "asked": {request: given_tensor(request) for request in asked}}
        )

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        assert self._next_step is not None
        # All get the step's end, also where one of them ends the training.
        for monitor in self._monitors:
            if monitor.step_end(self._next_step, run_values.results["asked"]):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._next_step, run_context.session)
        self._next_step = int(run_values.results["step"]) + 1

    def end(self, session: Any) -> None:
        self._next_step = None
        for monitor in self._monitors:
            # Monitors of the first versions have no parameter for the session.
            if "session" in parameter_names(monitor.end):
                monitor.end(session=session)
            else:
                monitor.end()


def replace_monitors_with_hooks(
    monitors_or_hooks: Iterable[Any] | None, estimator: Any
) -> list[SessionRunHook]:
    """Hooks for an estimator, with one for all of the monitors among them
    (`tf.contrib.learn.monitors.replace_monitors_with_hooks`).

    Monitors run in the chief only, except those whose `run_on_all_workers` is true.
    """
    given = list(monitors_or_hooks or ())
    hooks = [item for item in given if isinstance(item, SessionRunHook)]
    monitors = [item for item in given if not isinstance(item, SessionRunHook)]
    if not estimator.config.is_chief:
        monitors = [monitor for monitor in monitors if monitor.run_on_all_workers]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks
