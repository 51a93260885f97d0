"""What a step sees of its client, while it computes on the thread that reads the client's connection."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

from tensorfleet.core import errors
from tensorfleet_service.rpc.grpc_sockets import ServedSocket

if TYPE_CHECKING:
    from tensorfleet.wire.connection import Connection
    from tensorfleet_service.master.session import MasterSession
    from tensorfleet_service.threads.running import Ending

LOOK_SECONDS = 0.05
"""Time between two looks at the connection and the session."""

_GONE = select.POLLRDHUP | select.POLLHUP | select.POLLERR | select.POLLNVAL


class WaitingClient:
    """A client that waits for a step, in the form in which kernels look at their step.

    The thread that would hear of the end of the client, or of its session, is the one that computes. So
    kernels that look at their step do it, now and then.

    Attributes:
        step: what computes for the client, where that is not this itself.
    """

    __slots__ = ("_connection", "_next", "_session", "step")

    def __init__(self, connection: Connection) -> None:
        self.step: Ending | None = None
        self._connection = connection
        self._session: MasterSession | None = None
        self._next = 0.0

    def begin(self, session: MasterSession) -> None:
        """Has a step of a session begin."""
        self._session = session
        self._next = 0.0

    def end(self) -> None:
        """The step is over, or goes on elsewhere."""
        self._session = self.step = None

    @property
    def error(self) -> errors.OpError | None:
        """Why the step is not needed any more, if that is so. Any thread that computes for it may ask."""
        now = time.monotonic()
        if now < self._next:
            return None
        if not self._next:  # a short step, as most are, does not look
            self._next = now + LOOK_SECONDS
            return None
        session = self._session
        if session is not None and session.closed:
            return errors.CancelledError(None, None, "Session was closed.")
        if self._is_gone():
            return errors.CancelledError(None, None, "The client's connection was lost")
        self._next = now + LOOK_SECONDS
        return None

    def _is_gone(self) -> bool:
        sock = self._connection.sock
        if isinstance(sock, ServedSocket):
            return sock.is_closed
        poll = select.poll()
        try:
            poll.register(sock, select.POLLRDHUP)
        except ValueError:
            return True  # closed here
        return any(events & _GONE for _, events in poll.poll(0))
