"""What a request is answered with where no value can be: one rule for all ways to ask."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from tensorfleet.core import errors, tensor_util
from tensorfleet.wire.stream import unsendable
from tensorfleet_service.devices import memory

if TYPE_CHECKING:
    from tensorfleet.proto.tensor_pb2 import TensorProto

log = logging.getLogger(__name__)


def as_op_error(error: Exception, what: str) -> errors.OpError:
    """The error that `what`, a request, is answered with after an exception of any kind.

    What the sender can do something about is a line in the log at most. The rest is a defect, and has its
    traceback there.
    """
    if isinstance(error, errors.OpError):
        return error
    if isinstance(error, MemoryError):
        return memory.exhausted(f"Out of memory in {what}: {error or 'no memory is left'}")
    if isinstance(error, RecursionError):
        log.warning("%s: too deeply nested", what)
        return errors.InvalidArgumentError(None, None, f"{what}: what was sent is nested too deeply")
    if isinstance(error, DecodeError):
        log.warning("%s cannot be read: %s", what, error)
        return errors.InvalidArgumentError(None, None, f"The request of {what} cannot be read: {error}")
    log.error("%s failed", what, exc_info=error)
    return errors.InternalError(None, None, f"{type(error).__name__}: {error}")


def proto_of(value: Any) -> TensorProto:
    """The message for a tensor.

    Raises:
        InvalidArgumentError: it is no tensor, or one that no message holds.
        ResourceExhaustedError: there is no memory for the message.
    """
    try:
        return tensor_util.to_proto(value)
    except MemoryError:
        size = f"{value.nbytes} bytes, shape {list(value.shape)}," if hasattr(value, "nbytes") else "a tensor"
        raise memory.exhausted(f"Out of memory for the message with {size} by gRPC") from None
    except Exception as e:
        raise unsendable(value, e) from None
