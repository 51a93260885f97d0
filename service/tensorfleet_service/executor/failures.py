"""Conversion of exceptions into errors for the client, by the same rules for steps and for calls."""

from __future__ import annotations

import logging

from google.protobuf.message import DecodeError

from tensorfleet.core import errors
from tensorfleet_service.devices import memory

log = logging.getLogger(__name__)


def as_op_error(error: BaseException, what: str) -> errors.OpError:
    """The error with which a request or a step, `what`, ends after an exception.

    An error that the sender can mend is at most one line in the log. All others are defects, whose tracebacks
    are logged.
    """
    if isinstance(error, errors.OpError):
        return error
    if isinstance(error, MemoryError):
        return memory.exhausted(f"Out of memory in {what}: {error or 'no memory is left'}")
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        log.warning("%s: %s", what, error)
        return errors.ResourceExhaustedError(None, None, f"The task has no thread for {what}: {error}")
    if isinstance(error, RecursionError):
        log.warning("%s: too deeply nested", what)
        return errors.InvalidArgumentError(None, None, f"{what}: the message is nested too deeply")
    if isinstance(error, DecodeError):
        log.warning("%s cannot be read: %s", what, error)
        return errors.InvalidArgumentError(None, None, f"The request of {what} cannot be read: {error}")
    log.error("%s failed", what, exc_info=error)
    return errors.InternalError(None, None, f"{type(error).__name__}: {error}")
