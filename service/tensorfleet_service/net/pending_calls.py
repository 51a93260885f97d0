"""PendingCalls: calls to another task, of which each waits for its answer on the thread that makes it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from tensorfleet.core import errors


class PendingCalls:
    """The calls of one connection, by the numbers that their answers have, too."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._calls: dict[int, _Call] = {}
        self._end: errors.OpError | None = None

    def call(self, send: Callable[[int], None], timeout: float, what: str) -> bytes:
        """Sends a request by `send`, which gets its number, and waits up to `timeout` seconds.

        Raises:
            DeadlineExceededError: there was no answer; `what` says from whom to what.
            OpError: that of the answer, of `send`, or of the end of the connection.
        """
        waiting = _Call()
        number = next(self._numbers)
        with self._lock:
            if self._end is not None:
                raise errors.from_code(self._end.error_code, self._end.message)
            self._calls[number] = waiting
        try:
            send(number)
            if not waiting.ended.wait(timeout):
                raise errors.DeadlineExceededError(None, None, f"{what} within {timeout:g} s")
        finally:
            with self._lock:
                self._calls.pop(number, None)
        if waiting.error is not None:
            raise waiting.error
        return waiting.answer

    def answer(self, number: int, answer: bytes, error: errors.OpError | None = None) -> None:
        """Ends a call, if it waits yet."""
        with self._lock:
            call = self._calls.pop(number, None)
        if call is not None:
            call.answer, call.error = answer, error
            call.ended.set()

    def end(self, error: errors.OpError) -> None:
        """Ends all calls, and refuses new ones: the connection is lost."""
        with self._lock:
            self._end = error
            calls = list(self._calls.values())
            self._calls.clear()  # an answer that has come is not among them any more
        for call in calls:
            call.error = error
            call.ended.set()


class _Call:
    __slots__ = ("answer", "ended", "error")

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.error: errors.OpError | None = None
        self.answer = b""
