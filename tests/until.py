"""Waiting for conditions, each with a deadline, and calls on threads of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

SECONDS = 30.0


def until(condition: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """The first true value of `condition`."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{condition} was not true within {seconds:g} s"
        time.sleep(0.01)
    return value


class Call:
    """A call on a thread of its own."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._function()
        except BaseException as e:
            self._error = e

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def result(self, seconds: float = SECONDS) -> Any:
        """The call's result, within so many seconds; raises what it raised."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"no end within {seconds:g} s"
        if self._error is not None:
            raise self._error
        return self._value
