"""A computation beside the caller's: a thread of the kernels makes it, or the caller where none has begun.

So nobody waits for a thread that is not there yet, and a caller that has nothing else to do computes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tensorfleet_service.devices.blocks import submit


class _Job:
    """The call, which the first of two threads makes that claims it."""

    __slots__ = ("_call", "_claim", "done", "error", "value")

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._call: tuple[Callable[..., Any], tuple[Any, ...]] | None = (function, arguments)
        self._claim = threading.Lock()
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None

    def claim(self) -> bool:
        """Whether the calling thread is the first one."""
        return self._claim.acquire(blocking=False)

    def make(self) -> None:
        """Makes the call; by the thread with the claim alone."""
        assert self._call is not None
        function, arguments = self._call
        self._call = None
        try:
            self.value = function(*arguments)
        except BaseException as e:  # whoever takes the value gets it
            self.error = e
        # The arguments end before the value is taken: an array that nobody refers to can be changed in place.
        del function, arguments
        self.done.set()

    def take(self) -> Any:
        """The value, or raises the error. The job keeps neither, as it may stay in the threads' queue."""
        value, error = self.value, self.error
        self.value = self.error = None
        if error is None:
            return value
        try:
            raise error
        finally:
            del error  # which has this frame in its traceback

    def drop(self) -> None:
        """Lets go of the arguments of a call that nobody makes."""
        self._call = None


class Beside:
    """A value that a thread of the kernels may be computing. It is taken once.

    Its call must not wait for other work, as all kernels of the process share the threads.
    """

    __slots__ = ("_job",)

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._job = _Job(function, arguments)
        submit(_make, self._job)

    def get(self) -> Any:
        """The value, which is computed now if no thread has begun.

        Raises:
            BaseException: what the call raised.
        """
        job = self._job
        if job.claim():
            job.make()
        else:
            job.done.wait()  # a thread is computing it
        return job.take()

    def __del__(self) -> None:
        # A step that has failed needs no value.
        if self._job.claim():
            self._job.drop()


def _make(job: _Job) -> None:
    if job.claim():
        job.make()
