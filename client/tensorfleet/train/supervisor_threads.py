"""The threads of a Supervisor's chief: summaries, steps per second, checkpoints."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tensorfleet.core import logging
from tensorfleet.train import parts
from tensorfleet.train.coordinator import LooperThread
from tensorfleet.train.step_count import global_step as value_of_step

if TYPE_CHECKING:
    from tensorfleet.train.supervisor import Supervisor

_LOGGED_RATES = 10


class SummaryThread(LooperThread):
    """Computes and writes summaries."""

    def __init__(self, sv: Supervisor, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        step = None
        if self._sv.global_step is None:
            summary = self._sess.run(self._sv.summary_op)
        else:
            summary, step = self._sess.run([self._sv.summary_op, self._sv.global_step])
        logging.info("Recording summary at step %s.", step)
        self._sv.summary_writer.add_summary(summary, step)


class StepCounterThread(LooperThread):
    """Writes summaries of the steps per second."""

    def __init__(self, sv: Supervisor, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess
        self._tag = f"{sv.global_step.op.name}/sec"
        self._logs_left = _LOGGED_RATES

    def start_loop(self) -> None:
        self._time = time.monotonic()
        self._step = value_of_step(self._sess, self._sv.global_step)

    def run_loop(self) -> None:
        step, now = value_of_step(self._sess, self._sv.global_step), time.monotonic()
        steps, seconds = step - self._step, now - self._time
        self._step, self._time = step, now
        rate = steps / seconds if seconds else float("inf")
        parts.add_scalar(self._sv.summary_writer, self._tag, rate, step)
        if self._logs_left:
            self._logs_left -= 1
            logging.info("%s: %g", self._tag, rate)


class CheckpointThread(LooperThread):
    """Saves checkpoints."""

    def __init__(self, sv: Supervisor, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        sv, path = self._sv, self._sv.save_path
        assert path is not None
        logging.info("Saving checkpoint to path %s", path)
        sv.saver.save(self._sess, path, global_step=sv.global_step)
        if sv.summary_writer and sv.global_step is not None:
            parts.log_checkpoint(sv.summary_writer, path, value_of_step(self._sess, sv.global_step))
