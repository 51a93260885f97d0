"""Limits on what a task accepts. An error for more names the limit and the variable that sets it."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message

from tensorfleet.core import environment, errors
from tensorfleet.wire.frames import FrameTooLarge
from tensorfleet.wire.reader import Reader
from tensorfleet_service.devices import memory
from tensorfleet_service.graph import message_pieces

MESSAGE_VARIABLE = "TENSORFLEET_MAX_MESSAGE_MB"
TENSORS_VARIABLE = "TENSORFLEET_MAX_TENSORS_MB"
EARLY_VARIABLE = "TENSORFLEET_MAX_EARLY_MB"

# A request, without its tensors, or by gRPC with them. Protobuf's own limit is 2 GiB.
MAX_MESSAGE_BYTES = environment.integer(MESSAGE_VARIABLE, 2047) << 20
# The tensors of one frame of the stream transport.
MAX_TENSORS_BYTES = environment.integer(TENSORS_VARIABLE, 65536) << 20

# Early tensors: of steps and rounds of collectives that this task has not been asked to begin yet.
MAX_EARLY_BYTES = environment.integer(EARLY_VARIABLE, 1024) << 20

CONNECTIONS_VARIABLE = "TENSORFLEET_MAX_CONNECTIONS"
CLIENT_CONNECTIONS_VARIABLE = "TENSORFLEET_MAX_CLIENT_CONNECTIONS"
ARRIVING_VARIABLE = "TENSORFLEET_MAX_ARRIVING_MB"
CLIENT_ARRIVING_VARIABLE = "TENSORFLEET_MAX_CLIENT_ARRIVING_MB"

# Connections of clients on the stream transport, and the memory for what arrives on them.
MAX_CONNECTIONS = environment.integer(CONNECTIONS_VARIABLE, 4096)
MAX_CLIENT_CONNECTIONS = environment.integer(CLIENT_CONNECTIONS_VARIABLE, 1024)
MAX_ARRIVING_BYTES = environment.integer(ARRIVING_VARIABLE, 4096) << 20
MAX_CLIENT_ARRIVING_BYTES = environment.integer(CLIENT_ARRIVING_VARIABLE, 2048) << 20

# Steps whose tensors have arrived before the request to run them.
MAX_EARLY_STEPS = 10_000
# Requests for tensors that are withdrawn when a step fails; those of a loop become more and more.
MAX_QUESTIONS = 10_000

# Steps and rounds that have ended, which are remembered so that what still comes for them is dropped.
REMEMBERED_STEPS = 10_000
REMEMBERED_SESSIONS = 10_000
REMEMBERED_ROUNDS = 10_000  # of collectives
REMEMBERED_COMMUNICATORS = 1_000  # by the keys of groups
REMEMBERED_GROUPS = 1_000  # that meet again without their leader, by collective

# Connections without a HELLO; for another one, the one that has been silent longest is ended.
MAX_STRANGERS = 256
# Connections by gRPC of which no call was let in: for more, those are ended that have said least.
MAX_GRPC_STRANGERS = 1024
# Run signatures of a session that stay prepared, and the names of feeds, fetches and targets in all of them.
MAX_SIGNATURES = 10_000
MAX_SIGNATURE_NAMES = 4_000_000
# Callables of a session by gRPC, whose client releases what it does not need.
MAX_CALLABLES = 10_000
# Open partial runs; the oldest are dropped, as a client may never ask for their last part.
MAX_OPEN_RUNS = 1000
# The nodes and names that open partial runs of a session keep, all together; the latest may have more.
MAX_OPEN_RUN_NODES = 4_000_000
# Threads that ask the tasks of a session at the same time: to connect, to register graphs, for activity.
MAX_TASK_THREADS = 32

# By gRPC, a request is in memory up to three times before the service gets it.
_GRPC_PART = 4
_WINDOW_PART = 4096  # of the largest message
_LEAST_WINDOW_BYTES = 65_535  # HTTP/2's own
_LARGEST_WINDOW_BYTES = 1 << 20
_CHECKED_BYTES = 1 << 20

_Message = TypeVar("_Message", bound=Message)


def max_grpc_message(limit: memory.Limit | None) -> int:
    """The bytes of the largest message that gRPC may accept within a memory limit; -1: any.

    gRPC itself allocates incoming messages, and ends the process, or its server, if that fails.
    """
    part = MAX_MESSAGE_BYTES if limit is None else limit.size // _GRPC_PART
    return part if part < MAX_MESSAGE_BYTES else -1


def grpc_window(max_message: int) -> int:
    """The bytes that gRPC receives of a request, or of a call that stays, before anybody reads it.

    Many requests that wait to be admitted take a small part of the memory, and a tensor of some 100 KB comes
    without a round trip for the permission to send the rest.

    Args:
        max_message: as `max_grpc_message`.
    """
    if max_message < 0:
        return _LARGEST_WINDOW_BYTES
    return min(max(max_message // _WINDOW_PART, _LEAST_WINDOW_BYTES), _LARGEST_WINDOW_BYTES)


def parse(message: type[_Message], data: bytes, apart: message_pieces.Apart | None = None) -> _Message:
    """A message from its bytes; `apart` as of `message_pieces.parse`.

    Raises:
        DecodeError: the bytes are not such a message.
        ResourceExhaustedError: there is no memory for it, for which protobuf raises DecodeError, too.
    """
    try:
        return message_pieces.parse(message, data, apart)
    except DecodeError:
        try:
            np.empty(2 * len(data), np.uint8)
        except MemoryError:
            name = message.DESCRIPTOR.name
            raise memory.exhausted(f"Out of memory for a {name} of {len(data)} bytes") from None
        raise


def check_room(size: int, what: str) -> None:
    """Raises ResourceExhaustedError without memory for a copy of `size` bytes: gRPC would end the process."""
    if memory.BUDGET.limit is None or size < _CHECKED_BYTES:
        return
    try:
        np.empty(size + _CHECKED_BYTES, np.uint8)
    except MemoryError:
        raise memory.exhausted(f"Out of memory to send {what}, {size} bytes, by gRPC") from None


def early_error(what: str, bytes: int) -> errors.OpError:
    """The error of a step whose tensors were dropped before it began."""
    return errors.ResourceExhaustedError(
        None,
        None,
        f"{what} cannot begin: its tensors, {bytes} bytes, came before the request to begin it, and were "
        f"dropped, as this task keeps {MAX_EARLY_BYTES} bytes of such tensors. Raise {EARLY_VARIABLE} on it.",
    )


def apply(reader: Reader) -> None:
    """Applies the limits to a connection."""
    reader.max_head = MAX_MESSAGE_BYTES
    reader.max_payload = MAX_TENSORS_BYTES


def check_message(size: int) -> None:
    """Raises ResourceExhaustedError for a message that exceeds the limit."""
    if size > MAX_MESSAGE_BYTES:
        raise too_large(size, MAX_MESSAGE_BYTES, MESSAGE_VARIABLE)


def too_large(size: int, limit: int, variable: str) -> errors.OpError:
    """The error for a message of `size` bytes; `variable` is the setting of the limit."""
    return errors.ResourceExhaustedError(
        None,
        None,
        f"A message of {size} bytes is over this task's limit of {limit} bytes. "
        f"Send less at once, or raise {variable} on the task.",
    )


def frame_error(frame: FrameTooLarge) -> errors.OpError:
    """The error for a refused frame."""
    if frame.reason:
        return memory.exhausted(frame.reason)
    if frame.head > MAX_MESSAGE_BYTES:
        return too_large(frame.head, MAX_MESSAGE_BYTES, MESSAGE_VARIABLE)
    return too_large(frame.payload, MAX_TENSORS_BYTES, TENSORS_VARIABLE)
