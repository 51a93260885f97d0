"""Hooks that write files: `tf.train.CheckpointSaverHook`, `tf.train.SummarySaverHook`, …"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tensorfleet.core import logging
from tensorfleet.graph import framework
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.proto import config_pb2
from tensorfleet.train import parts
from tensorfleet.train.hooks import required_global_step
from tensorfleet.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tensorfleet.train.step_count import get_global_step
from tensorfleet.train.step_progress import StandStill
from tensorfleet.train.timers import SecondOrStepTimer


class CheckpointSaverListener:
    """Callbacks before and after each checkpoint (`tf.train.CheckpointSaverListener`)."""

    def begin(self) -> None:
        """Called once, before the session is made."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before each checkpoint."""

    def after_save(self, session: Any, global_step_value: int) -> Any:
        """Called after each checkpoint; a true result requests a stop."""

    def end(self, session: Any, global_step_value: int) -> None:
        """Called at the end, after the last checkpoint."""


class CheckpointSaverHook(SessionRunHook):
    """Saves checkpoints: at the start, regularly and at the end (`tf.train.CheckpointSaverHook`)."""

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        """Makes a hook.

        Args:
            checkpoint_dir: the directory to save to.
            save_secs, save_steps: the seconds or steps between two checkpoints; exactly one is given.
            saver: the Saver; by default that of the scaffold, or the only one of the graph's collection.
            checkpoint_basename: the prefix of the checkpoints' names.
            scaffold: a scaffold with the Saver, instead of `saver`.
            listeners: CheckpointSaverListeners.
            save_graph_def: write `graph.pbtxt` and meta graphs, too.

        Raises:
            ValueError: both a saver and a scaffold are given, or not exactly one interval.
        """
        logging.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._scaffold = scaffold
        self._directory = checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def

    def add_listeners(self, listeners: Iterable[CheckpointSaverListener]) -> None:
        """Adds to the listeners, before the session is made."""
        self._listeners.extend(listeners)

    def begin(self) -> None:
        self._writer = parts.cached_writer(self._directory)
        self._global_step = required_global_step("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        step = session.run(self._global_step)
        graph = get_default_graph()
        if self._save_graph_def:
            parts.write_graph(graph, self._directory)
        parts.add_graph(self._writer, graph, self._get_saver())
        # A checkpoint at the start lets a lost session recover from it.
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        # Other workers increase the step, too, so the value that this run saw may be old.
        if not self._timer.should_trigger_for_step(run_values.results + _FAR_AHEAD):
            return
        step = run_context.session.run(self._global_step)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        step = session.run(self._global_step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Writes a checkpoint; returns whether a listener requests a stop."""
        for listener in self._listeners:
            listener.before_save(session, step)
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        self._get_saver().save(
            session, self._save_path, global_step=step, write_meta_graph=self._save_graph_def
        )
        parts.log_checkpoint(self._writer, self._save_path, step)
        stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                logging.info(
                    "A CheckpointSaverListener requested that training be stopped. listener: %s", listener
                )
                stop = True
        return stop

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = framework.get_collection(GraphKeys.SAVERS)
        if not savers:
            raise RuntimeError(
                f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection or provide "
                "a saver or scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by "
                "passing it to the constructor."
            )
        self._saver = savers[0]
        return self._saver


_FAR_AHEAD = 1_000_000


class StepCounterHook(SessionRunHook):
    """Reports the steps per second (`tf.train.StepCounterHook`)."""

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        """Makes a hook.

        Args:
            every_n_steps, every_n_secs: the steps or seconds between two reports; exactly one is given.
            output_dir: the directory of summaries, if there is no `summary_writer`.
            summary_writer: the writer of a summary of each report.

        Raises:
            ValueError: not exactly one interval is given.
        """
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._writer = summary_writer
        self._output_dir = output_dir
        self._still = StandStill()

    def begin(self) -> None:
        if self._writer is None and self._output_dir:
            self._writer = parts.cached_writer(self._output_dir)
        self._global_step = required_global_step("StepCounterHook")
        self._tag = f"{get_global_step().op.name}/sec"

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._still.begin()  # the restored step may be that of the last run, or an earlier one

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        seen = run_values.results
        if self._timer.should_trigger_for_step(seen + 1):
            step = run_context.session.run(self._global_step)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None and steps is not None:
                    self._report(steps / seconds if seconds else float("inf"), step)
        self._still.look(seen, run_context.original_args.fetches)

    def _report(self, steps_per_second: float, step: int) -> None:
        if self._writer is not None:
            parts.add_scalar(self._writer, self._tag, steps_per_second, step)
        logging.info("%s: %g", self._tag, steps_per_second)


class SummarySaverHook(SessionRunHook):
    """Writes summaries (`tf.train.SummarySaverHook`)."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        """Makes a hook.

        Args:
            save_steps, save_secs: the steps or seconds between two summaries; exactly one is given.
            output_dir: the directory of summaries, if there is no `summary_writer`.
            summary_writer: the writer of the summaries.
            scaffold: a scaffold with the operation that computes the summaries.
            summary_op: the operation, or a list of operations, instead of `scaffold`.

        Raises:
            ValueError: not exactly one of `scaffold` and `summary_op`, or of the intervals, is given.
        """
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._writer = summary_writer
        self._output_dir = output_dir
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        if self._writer is None and self._output_dir:
            self._writer = parts.cached_writer(self._output_dir)
        self._next_step: int | None = None
        self._global_step = required_global_step("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._requested = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        fetches = {"global_step": self._global_step}
        if self._requested:
            op = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
            if op is not None:
                fetches["summary"] = op if isinstance(op, list) else [op]
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._requested:
            step = run_context.session.run(self._global_step)
            if self._next_step is None:
                parts.log_start(self._writer, step)
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        if self._writer is not None:
            self._writer.flush()


class ProfilerHook(SessionRunHook):
    """Traces runs and writes the traces as `timeline-STEP.json` (`tf.train.ProfilerHook`)."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        """Makes a hook.

        Args:
            save_steps, save_secs: the steps or seconds between two traces; exactly one is given.
            output_dir: the directory to write to.
            show_dataflow: draw arrows from producers to consumers.
            show_memory: show the sizes of tensors.

        Raises:
            ValueError: not exactly one interval is given.
        """
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._directory = Path(output_dir)
        self._writer = parts.cached_writer(output_dir)
        self._options = {"show_dataflow": show_dataflow, "show_memory": show_memory}

    def begin(self) -> None:
        self._next_step: int | None = None
        self._global_step = required_global_step("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._requested = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
        return SessionRunArgs(self._global_step, options=options if self._requested else None)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        seen = run_values.results
        if self._next_step is None:
            self._timer.update_last_triggered_step(seen)
        step = seen + 1
        if self._requested:
            step = run_context.session.run(self._global_step)
            self._timer.update_last_triggered_step(step)
            path = self._directory / f"timeline-{step}.json"
            logging.info("Saving timeline for %d into '%s'.", step, path)
            path.write_text(parts.chrome_trace(run_values.run_metadata.step_stats, **self._options))
            self._writer.add_run_metadata(run_values.run_metadata, f"step_{step}")
        self._next_step = step + 1

    def end(self, session: Any) -> None:
        self._writer.flush()
