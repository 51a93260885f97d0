"""Monitors that write summaries and checkpoints."""

from __future__ import annotations

import os
import time
from typing import Any

from tensorfleet.contrib.monitoring.base import BaseMonitor, EveryN, output_of
from tensorfleet.core.logging import info
from tensorfleet.proto.event_pb2 import SessionLog
from tensorfleet.proto.summary_pb2 import Summary
from tensorfleet.summary.file_writer import FileWriter, FileWriterCache


class SummarySaver(EveryN):
    """Writes summaries (`tf.contrib.learn.monitors.SummarySaver`).

    Args:
        summary_op: a tensor of a serialized Summary; None: that of the scaffold.
        save_steps: the steps from one to the next.
        output_dir: the directory; by default that of the estimator.
        summary_writer: writes in place of a new one for the directory.
        scaffold: has the summaries.
    """

    def __init__(
        self,
        summary_op: Any,
        save_steps: int = 100,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
    ) -> None:
        super().__init__(every_n_steps=save_steps)
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._writer = summary_writer
        if summary_writer is None and output_dir:
            self._writer = FileWriter(output_dir)

    def set_estimator(self, estimator: Any) -> None:
        super().set_estimator(estimator)
        if self._writer is None:
            self._writer = FileWriter(estimator.model_dir)

    def every_n_step_begin(self, step: int) -> list[Any]:
        super().every_n_step_begin(step)
        if self._summary_op is None and self._scaffold is not None:
            self._summary_op = self._scaffold.summary_op
        return [] if self._summary_op is None else [self._summary_op]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        super().every_n_step_end(step, outputs)
        if self._summary_op is not None and self._writer:
            self._writer.add_summary(output_of(outputs, self._summary_op), step)
        return False

    def end(self, session: Any = None) -> None:
        super().end(session=session)
        if self._writer:
            self._writer.flush()


class StepCounter(EveryN):
    """Writes how many steps a second has, as the summary "global_step/sec"
    (`tf.contrib.learn.monitors.StepCounter`).

    Args:
        every_n_steps: the steps from one to the next.
        output_dir: the directory; by default that of the estimator.
        summary_writer: writes in place of the one for the directory.
    """

    def __init__(self, every_n_steps: int = 100, output_dir: Any = None, summary_writer: Any = None) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._writer = summary_writer
        if summary_writer is None and output_dir:
            self._writer = FileWriterCache.get(output_dir)
        self._last: tuple[int, float] | None = None

    def set_estimator(self, estimator: Any) -> None:
        super().set_estimator(estimator)
        if self._writer is None:
            self._writer = FileWriterCache.get(estimator.model_dir)

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> None:
        now = time.perf_counter()
        if self._last is not None and self._writer:
            rate = (step - self._last[0]) / max(now - self._last[1], 1e-9)
            summary = Summary(value=[Summary.Value(tag="global_step/sec", simple_value=rate)])
            self._writer.add_summary(summary, step)
        self._last = step, now


class CheckpointSaver(BaseMonitor):
    """Saves checkpoints: after the first step, regularly, and at the end
    (`tf.contrib.learn.monitors.CheckpointSaver`).

    Args:
        checkpoint_dir: the directory.
        save_secs, save_steps: the time, or the steps, from one to the next.
        saver: saves; by default that of the scaffold.
        checkpoint_basename: the beginning of the names.
        scaffold: has a saver.

    Raises:
        ValueError: not exactly one of `save_secs` and `save_steps` is given.
    """

    def __init__(
        self,
        checkpoint_dir: Any,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
    ) -> None:
        info("Create CheckpointSaver.")
        super().__init__()
        if save_steps is None and save_secs is None:
            raise ValueError("Either save_steps or save_secs should be provided")
        if save_steps is not None and save_secs is not None:
            raise ValueError("Can not provide both save_steps and save_secs.")
        self._saver, self._scaffold = saver, scaffold
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._writer = FileWriterCache.get(checkpoint_dir)
        self._save_secs, self._save_steps = save_secs, save_steps
        self._forget()

    def _forget(self) -> None:
        self._begun_step: int | None = None
        self._saved: tuple[int, float] | None = None

    def begin(self, max_steps: int | None = None) -> None:
        super().begin(max_steps)
        self._forget()

    def step_begin(self, step: int) -> list[Any]:
        super().step_begin(step)
        self._begun_step = step
        return []

    def post_step(self, step: int, session: Any) -> None:
        super().post_step(step, session)
        if self._saved is None or self._is_due(step, *self._saved):
            self._save(step, session)

    def end(self, session: Any = None) -> None:
        super().end(session)
        if self._begun_step is not None:
            self._save(self._begun_step, session)

    def _is_due(self, step: int, saved_step: int, saved_at: float) -> bool:
        if self._save_steps is not None:
            return step >= saved_step + self._save_steps
        assert self._save_secs is not None
        return time.monotonic() >= saved_at + self._save_secs

    def _save(self, step: int, session: Any) -> None:
        if self._saved is not None and self._saved[0] == step:
            return
        info("Saving checkpoints for %d into %s.", step, self._path)
        self._saved = step, time.monotonic()
        saver = self._scaffold.saver if self._saver is None else self._saver
        saver.save(session, self._path, global_step=step)
        log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._path)
        self._writer.add_session_log(log, step)
