"""The step for which a thread computes, so that what computes for long can end with it."""

from __future__ import annotations

import threading
from typing import Protocol

from tensorfleet.core import errors


class Ending(Protocol):
    """What can be told that nobody needs its result any more."""

    @property
    def error(self) -> errors.OpError | None: ...


class Client(Ending, Protocol):
    """The client whose connection this thread reads, unless it computes for it.

    Attributes:
        step: the first step that the thread has begun for the client's request.
    """

    step: Ending | None


class _Running(threading.local):
    step: Ending | None = None
    client: Client | None = None


RUNNING = _Running()
"""`step`: set by what runs a step's plan; None where nobody tells this thread's step that it has failed.
`client`: set on threads that read the connection of a client; other clients' steps may go on there, too."""


def check() -> None:
    """To be called now and then by kernels that compute for long.

    Raises:
        OpError: the step has failed, or was cancelled or too late.
    """
    step = RUNNING.step
    if step is not None:
        error = step.error
        if error is None:
            client = RUNNING.client
            if client is None or client.step is not step:
                return
            error = client.error
        if error is not None:
            raise error
