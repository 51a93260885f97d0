"""`tf.contrib.learn.monitors.ValidationMonitor`: evaluations while a model is trained."""

from __future__ import annotations

import time
from copy import deepcopy
from typing import Any

from tensorfleet.contrib.monitoring.base import EveryN
from tensorfleet.core.logging import debug, info
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.train.checkpoint_management import latest_checkpoint


class ValidationMonitor(EveryN):
    """Evaluates the newest checkpoint, and may end the training
    (`tf.contrib.learn.monitors.ValidationMonitor`).

    How often checkpoints come is for the estimator's RunConfig to say; one is evaluated once.

    Args:
        x, y, input_fn, batch_size, metrics, hooks, name: as of the estimator's `evaluate`. An estimator of
            `tf.estimator` takes `input_fn`, `hooks` and `name` only.
        eval_steps: how many batches an evaluation has; None: until the input ends.
        every_n_steps: the steps from one look for a checkpoint to the next.
        early_stopping_rounds: ends the training where the best value came so many steps before.
        early_stopping_metric: the metric that has this value.
        early_stopping_metric_minimize: whether the least value is the best.
        check_interval_secs: the least time between two looks; None: none.

    Raises:
        ValueError: there is neither `x` nor `input_fn`.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Any = None,
        hooks: Any = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: float | None = 5,
    ) -> None:
        super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self.x, self.y, self.input_fn = x, y, input_fn
        self.batch_size, self.eval_steps, self.metrics = batch_size, eval_steps, metrics
        self.hooks, self.name = hooks, name
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self._check_interval_secs = check_interval_secs
        self._last_look: float | None = None
        self._latest: tuple[str, int] | None = None
        self._best_step: int | None = None
        self._best_value: Any = None
        self._best_metrics: dict[str, Any] | None = None
        self._early_stopped = False

    @property
    def early_stopped(self) -> bool:
        """Whether it ended the training."""
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        """The step of the training at which the best value was found."""
        return self._best_step

    @property
    def best_value(self) -> Any:
        """The best value of the metric; None before there is one."""
        return self._best_value

    @property
    def best_metrics(self) -> dict[str, Any] | None:
        """All metrics of the evaluation with the best value."""
        return self._best_metrics

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        super().every_n_step_end(step, outputs)
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        if not self._has_news(step):
            return False
        found = self._evaluate()
        info("Validation (step %d): %s", step, ", ".join(f"{key} = {value}" for key, value in found.items()))
        return self.early_stopping_rounds is not None and self._is_over(
            step, found, self.early_stopping_rounds
        )

    def _has_news(self, step: int) -> bool:
        """Whether there is a checkpoint to evaluate, of which it takes note."""
        now, pause = time.monotonic(), self._check_interval_secs
        if pause is not None and self._last_look is not None and now - self._last_look <= pause:
            debug("Skipping evaluation since less than %d seconds have passed since the last one.", pause)
            return False
        self._last_look = now
        path = latest_checkpoint(self._estimator.model_dir)
        if path is None:
            debug("Skipping evaluation since model has not been saved yet at step %d.", step)
            return False
        if self._latest is not None and self._latest[0] == path:
            debug("Skipping evaluation at step %d: %s was evaluated at step %d.", step, path, self._latest[1])
            return False
        self._latest = path, step
        return True

    def _evaluate(self) -> dict[str, Any]:
        further = {"x": self.x, "y": self.y, "batch_size": self.batch_size, "metrics": self.metrics}
        if isinstance(self._estimator, Estimator):
            if any(value is not None for value in further.values()):
                raise ValueError(
                    "tf.estimator.Estimator does not support following arguments: x, y, batch_size, metrics. "
                    "Should set as `None` in ValidationMonitor"
                )
            further = {}
        found: dict[str, Any] = self._estimator.evaluate(
            input_fn=self.input_fn, steps=self.eval_steps, hooks=self.hooks, name=self.name, **further
        )
        return found

    def _is_over(self, step: int, found: dict[str, Any], rounds: int) -> bool:
        metric = self.early_stopping_metric
        if metric not in found:
            raise ValueError(f"Metric {metric} missing from outputs {set(found)}.")
        value = found[metric]
        if self._best_step is None or (
            value < self._best_value if self.early_stopping_metric_minimize else value > self._best_value
        ):
            self._best_step, self._best_value, self._best_metrics = step, value, deepcopy(found)
        if step - self._best_step < rounds:
            return False
        info("Stopping. Best step: %s with %s = %s.", self._best_step, metric, self._best_value)
        self._early_stopped = True
        return True
