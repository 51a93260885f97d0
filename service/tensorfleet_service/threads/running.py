"""The step for which a thread computes, so that what computes for long can end with it."""

from __future__ import annotations

import threading
from typing import Protocol

from tensorfleet.core import errors


class _Ending(Protocol):
    @property
    def error(self) -> errors.OpError | None: ...


class _Running(threading.local):
    step: _Ending | None = None


RUNNING = _Running()
"""Set by what runs a step's plan; None where nobody tells this thread's step that it has failed."""


def check() -> None:
    """To be called now and then by kernels that compute for long.

    Raises:
        OpError: the step has failed, or was cancelled or too late.
    """
    step = RUNNING.step
    if step is not None:
        error = step.error
        if error is not None:
            raise error
