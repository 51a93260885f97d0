"""Exceptions of any kind, as errors for those who asked for the work: one rule for steps and for calls."""

from __future__ import annotations

import logging

from google.protobuf.message import DecodeError

from tensorfleet.core import errors
from tensorfleet_service.devices import memory

log = logging.getLogger(__name__)


def as_op_error(error: BaseException, what: str) -> errors.OpError:
    """The error with which `what`, such as a request or a step, ends after an exception.

    An error that the sender can do something about is a line in the log at most. The rest are defects, which
    have their tracebacks there.
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
        return errors.InvalidArgumentError(None, None, f"{what}: what was sent is nested too deeply")
    if isinstance(error, DecodeError):
        log.warning("%s cannot be read: %s", what, error)
        return errors.InvalidArgumentError(None, None, f"The request of {what} cannot be read: {error}")
    log.error("%s failed", what, exc_info=error)
    return errors.InternalError(None, None, f"{type(error).__name__}: {error}")
