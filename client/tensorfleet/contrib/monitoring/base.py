"""What all monitors have in common: steps that begin and end, each of them or every so many."""

from __future__ import annotations

from typing import Any


class BaseMonitor:
    """Callbacks of a training (`tf.contrib.learn.monitors.BaseMonitor`).

    A subclass calls the methods that it overrides here, too. Steps are those after the global step: the first
    step of a new model is 1.
    """

    def __init__(self) -> None:
        self._begun = False
        self._current_epoch: int | None = None
        self._current_step: int | None = None
        self._max_steps: int | None = None
        self._estimator: Any = None

    @property
    def run_on_all_workers(self) -> bool:
        """Whether it runs beside other workers than the chief's, too."""
        return False

    def set_estimator(self, estimator: Any) -> None:
        """Called with the estimator before it is fitted. Raises ValueError where it is None."""
        if estimator is None:
            raise ValueError("Missing estimator.")
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Called before the session is made, in the graph that it runs.

        Raises:
            ValueError: it began already, and did not end.
        """
        if self._begun:
            raise ValueError("begin called twice without end.")
        self._max_steps = max_steps
        self._begun = True

    def end(self, session: Any = None) -> None:
        """Called after the last step. Raises ValueError where it did not begin."""
        if not self._begun:
            raise ValueError("end called without begin.")
        self._max_steps = None
        self._begun = False

    def epoch_begin(self, epoch: int) -> None:
        """Raises ValueError where another epoch has not ended, or `epoch` is negative."""
        if self._current_epoch is not None:
            raise ValueError("epoch_begin called twice without epoch_end.")
        if epoch < 0:
            raise ValueError(f"Invalid epoch {epoch}.")
        self._current_epoch = epoch

    def epoch_end(self, epoch: int) -> None:
        """Raises ValueError where this epoch did not begin."""
        if self._current_epoch != epoch:
            raise ValueError(f"epoch_end expected {self._current_epoch} but got {epoch}.")
        self._current_epoch = None

    def step_begin(self, step: int) -> list[Any]:
        """Called before a step.

        Returns:
            Tensors, or their names, that are fetched beside those of the training.

        Raises:
            ValueError: the step is negative, or after the last one.
        """
        if step < 0 or (self._max_steps is not None and step > self._max_steps):
            raise ValueError(f"Invalid step {step}.")
        self._current_step = step
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> Any:
        """Called after a step with what `step_begin` of all monitors asked for, by what they gave.

        Returns:
            Whether the training shall end.

        Raises:
            ValueError: this step did not begin.
        """
        if self._current_step != step:
            raise ValueError(f"step_end expected {self._current_step} but got {step}.")
        self._current_step = None
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Called after `step_end` of all monitors, with the session."""


class EveryN(BaseMonitor):
    """Callbacks of every so many steps, and of the last one (`tf.contrib.learn.monitors.EveryN`).

    Args:
        every_n_steps: the steps from one to the next.
        first_n_steps: the steps from the first that all count.
    """

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps
        self._last_successful_step: int | None = None
        self._last_active_step: int | None = 0
        self._active = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """As `step_begin`."""
        return []

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> Any:
        """As `step_end`."""
        return False

    def every_n_post_step(self, step: int | None, session: Any) -> None:
        """As `post_step`; called at the end, too, where the last step is none of those."""

    def step_begin(self, step: int) -> list[Any]:
        super().step_begin(step)
        assert self._last_active_step is not None
        self._active = (
            step <= self._first_n_steps
            or step >= self._every_n_steps + self._last_active_step
            or step == self._max_steps
        )
        return self.every_n_step_begin(step) if self._active else []

    def step_end(self, step: int, output: dict[Any, Any]) -> Any:
        super().step_end(step, output)
        return self.every_n_step_end(step, output) if self._active else False

    def post_step(self, step: int, session: Any) -> None:
        super().post_step(step, session)
        if self._active:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        super().end(session=session)
        if self._last_successful_step != self._last_active_step:
            self.every_n_post_step(self._last_successful_step, session)


class StopAtStep(BaseMonitor):
    """Ends a training (`tf.contrib.learn.monitors.StopAtStep`).

    Args:
        num_steps: after so many steps.
        last_step: after this step.

    Raises:
        ValueError: not exactly one of them is given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        super().__init__()
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    @property
    def run_on_all_workers(self) -> bool:
        return True

    def step_begin(self, step: int) -> list[Any]:
        super().step_begin(step)
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = step + self._num_steps - 1
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        super().step_end(step, output)
        assert self._last_step is not None
        return step >= self._last_step


def output_of(outputs: dict[Any, Any], request: Any) -> Any:
    """What a tensor, or the name of one, was fetched as."""
    return outputs[request] if request in outputs else outputs[request.name]
