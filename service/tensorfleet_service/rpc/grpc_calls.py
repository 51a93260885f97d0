"""Calls of a task's gRPC services, as the tables of their methods see them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import DecodeError, Message

from tensorfleet.core import errors
from tensorfleet.proto import master_pb2
from tensorfleet_service.graph.message_pieces import Apart, Joined
from tensorfleet_service.net import limits
from tensorfleet_service.rpc.grpc_sockets import peer_of
from tensorfleet_service.rpc.request_memory import Ticket
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.threads.pool import Pool

log = logging.getLogger(__name__)

# A method takes its request and gives its response, on a thread where it may wait; failures are OpErrors.
Methods = Mapping[str, tuple[type[Message], Callable[[Any, "Call"], Message]]]

# A method that does not wait: `Reply` is called once, now or later, on any thread.
Response = Message | Joined
Reply = Callable[["errors.OpError | None", "Response | None"], None]
Prompt = Mapping[str, tuple[type[Message], Callable[[Any, "Call", Reply], None]]]

# A method with several responses: each is sent by the function, from any thread; None ends the call.
Send = Callable[[bytes | None], None]
Streams = Mapping[str, Callable[[bytes, "Call", Send], None]]


_TAKES_APART = (master_pb2.RunStepRequest, master_pb2.RunCallableRequest)


class Call:
    """A call under way, as methods see it.

    Attributes:
        peer: gRPC's name of the other side.
        principal: who makes it.
        apart: the bytes of large tensors of the request, for the method to take.
    """

    def __init__(self, name: str, context: Any, pool: Pool, guard: Guard) -> None:
        self._name = name
        self._context = context
        self._pool = pool
        self._guard = guard
        self.peer = peer_of(context)
        self.principal, self._digest = guard.of_call(name, context)
        self.apart: Apart = {}
        self.room: Ticket | None = None
        self.keeps_room = False  # whether the method itself says when it has what it needs
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] | None = []

    def check_request(self, data: bytes) -> None:
        """Raises UnauthenticatedError unless a request is the one that its proof, if any, is for."""
        if self._digest:
            self._guard.check_request(self._name, data, self._digest, self.peer)

    def add_callback(self, function: Callable[[], None]) -> bool:
        """Has a function called when the call is over, answered or not; False if it is."""
        with self._lock:
            if self._callbacks is None:
                return False
            self._callbacks.append(function)
        return True

    def time_remaining(self) -> float | None:
        """Seconds until its caller's deadline; None if there is none."""
        remaining: float | None = self._context.time_remaining()
        # TensorFlow's client sends "no deadline" as one centuries away, which no wait can express.
        return remaining if remaining is None or remaining < threading.TIMEOUT_MAX else None

    def submit(self, function: Callable[..., None], *arguments: Any) -> None:
        """Runs what may wait.

        Raises:
            ResourceExhaustedError: there is no thread for it.
        """
        try:
            self._pool.submit(function, *arguments)
        except (RuntimeError, MemoryError) as e:
            raise errors.ResourceExhaustedError(
                None, None, f"The task has no thread for the call: {e}"
            ) from None

    def received(self) -> None:
        """Gives the request's room to others: what it needs is there."""
        if self.room is not None:
            self.room.release()

    def end(self) -> None:
        """Calls the functions: nobody waits for an answer any more."""
        self.received()
        with self._lock:
            callbacks, self._callbacks = self._callbacks or (), None
        for function in callbacks:
            try:
                function()
            except Exception:
                log.exception("unexpected error at the end of a call")


def at_once(function: Callable[[Any], Message]) -> Callable[[Any, Call, Reply], None]:
    """A prompt method whose answer is there when it returns."""

    def answer(request: Any, call: Call, reply: Reply) -> None:
        reply(None, function(request))

    return answer


def parse(message: type[Message], data: bytes, apart: Apart | None = None) -> Message:
    """A request from its bytes.

    Args:
        apart: gets large tensors, where the request's method takes them so.

    Raises:
        ResourceExhaustedError: there are more of them than the task takes.
        InternalError: they are no such message, in the words of gRPC.
    """
    try:
        limits.check_message(len(data))
        return limits.parse(message, data, apart if message in _TAKES_APART else None)
    except DecodeError:
        raise errors.InternalError(
            None, None, f"Unable to parse request: not a {message.DESCRIPTOR.name}"
        ) from None
