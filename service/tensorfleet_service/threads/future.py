"""Future: the place of a value to come, which a kernel returns instead of the value."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any, Protocol

_EMPTY = object()

PENDING: Any = object()
"""Stands for a value that is not there yet."""

FAILED: Any = object()
"""Stands for a value that nobody needs any more because the step has failed."""


class Owner(Protocol):
    """The source of a future's value: a queue, an accumulator."""

    def waits_for(self, future: Future, /) -> str:
        """A description of what the future waits for."""
        ...


class Future:
    """A value to come. One side completes it, once; the other side starts to wait for it, or cancels it.

    A cancelled future may still be completed by a thread that took it before. Its value then counts as
    delivered, as if the step had ended a moment later.
    """

    __slots__ = ("_cancel", "_convert", "_done", "_error", "_lock", "_owner", "_value")

    def __init__(self, cancel: Callable[[Future], None], owner: Owner | None = None) -> None:
        """`cancel` has the resource, `owner`, forget the future and take back what it has reserved for it."""
        self._cancel = cancel
        self._owner = owner
        self._convert: Callable[[Any], Any] | None = None
        self._lock = threading.Lock()
        self._value: Any = _EMPTY
        self._error: BaseException | None = None
        self._done: Callable[[Future], None] | None = None

    @property
    def what(self) -> str:
        """A description of what the future waits for."""
        return "another step" if self._owner is None else self._owner.waits_for(self)

    def complete(self, value: Any, error: BaseException | None = None) -> None:
        """Sets the value or the error. The caller must not hold the resource's lock."""
        with self._lock:
            self._error = error
            self._value = value
            done, self._done = self._done, None
        if done is not None:
            done(self)

    def start(self, done: Callable[[Future], None]) -> bool:
        """Has `done` called on completion, by the completing thread; False if the future is complete."""
        with self._lock:
            if self._value is not _EMPTY:
                return False
            self._done = done
            return True

    def cancel(self) -> None:
        """Stops waiting."""
        with self._lock:
            self._done = None
        self._cancel(self)

    def then(self, convert: Callable[[Any], Any]) -> Future:
        """Has the value converted by the thread that waits for it, not by the one that completes it."""
        self._convert = convert
        return self

    def result(self) -> Any:
        """The value, once completed. Raises the error if it is one."""
        if self._error is not None:
            raise self._error
        return self._value if self._convert is None else self._convert(self._value)

    def resume(self, generator: Generator[Any, Any, Any]) -> Any:
        """Resumes a generator with the result, or raises the error in it."""
        try:
            result = self.result()
        except Exception as e:
            return generator.throw(e)
        return generator.send(result)
