"""What is read from a driver that may hang: with a deadline, on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

_Value = TypeVar("_Value")

READING_SECONDS = 2.0
"""The time that a reading may take; one that takes longer serves those who ask later."""


class Watched(Generic[_Value]):
    """The last reading of something. At most one thread reads, however long that takes, and whoever asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading: threading.Event | None = None
        self._last: tuple[_Value, float] | None = None
        self._error: Exception | None = None

    def read(self, function: Callable[[], _Value]) -> tuple[_Value | None, float]:
        """What `function` gives now if it is done in time, else what it gave last, and how old that is.

        Returns:
            The reading, None if there has been none; and its age in seconds, 0 for one of now.

        Raises:
            Exception: what `function` raised.
        """
        asked = time.monotonic()
        with self._lock:
            done = self._reading
            if done is None:
                done = self._reading = threading.Event()
                try:
                    threading.Thread(
                        target=self._run, args=(function, done), name="read GPUs", daemon=True
                    ).start()
                except BaseException:
                    self._reading = None
                    raise
        done.wait(READING_SECONDS)
        with self._lock:
            error, last = self._error, self._last
            self._error = None
        if error is not None:
            raise error
        if last is None:
            return None, 0.0
        value, at = last
        return value, 0.0 if at >= asked else time.monotonic() - at

    def _run(self, function: Callable[[], _Value], done: threading.Event) -> None:
        try:
            value = function()
        except Exception as e:
            with self._lock:
                self._error = e
        else:
            with self._lock:
                self._last = value, time.monotonic()
        finally:
            with self._lock:
                self._reading = None
            done.set()
