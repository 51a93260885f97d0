"""Timers of hooks: `tf.train.SecondOrStepTimer`."""

from __future__ import annotations

import time


class SecondOrStepTimer:
    """Triggers at intervals of seconds or steps, the first time at once (`tf.train.SecondOrStepTimer`)."""

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        """A timer with an interval in seconds or in steps.

        Raises:
            ValueError: neither or both are given.
        """
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets the last trigger."""
        self._last: tuple[float, int] | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether to trigger in this step; never twice in one step."""
        if self._last is None:
            return True
        last_time, last_step = self._last
        if step == last_step:
            return False
        if self._every_secs is not None:
            return time.time() >= last_time + self._every_secs
        assert self._every_steps is not None
        return step >= last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Records a trigger in this step; returns the seconds and steps since the last one."""
        now, before = time.time(), self._last
        self._last = (now, step)
        return (None, None) if before is None else (now - before[0], step - before[1])

    def last_triggered_step(self) -> int | None:
        """The step of the last trigger."""
        return None if self._last is None else self._last[1]


class NeverTriggerTimer(SecondOrStepTimer):
    """A timer that does not trigger, for hooks that act at the end only."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        return None, None
