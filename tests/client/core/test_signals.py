"""Waits for what handlers of signals do."""

from __future__ import annotations

import threading

from tensorfleet.core.signals import wait_for


class SetMeanwhile(threading.Event):
    """An event that is set without waking who waits, as by a signal that came before the wait began."""

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None, "nothing ends this wait"
        found = super().wait(0)
        self._flag = True
        return found


def test_a_wait_ends_whenever_the_signal_comes() -> None:
    wait_for(SetMeanwhile())
