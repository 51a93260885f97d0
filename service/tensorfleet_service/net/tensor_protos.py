"""Errors for values that cannot be sent by gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorfleet.core import tensor_util
from tensorfleet.wire.frames import unsendable
from tensorfleet_service.devices import memory
from tensorfleet_service.executor.failures import as_op_error as as_op_error

if TYPE_CHECKING:
    from tensorfleet.proto.tensor_pb2 import TensorProto


def proto_of(value: Any) -> TensorProto:
    """The message for a tensor.

    Raises:
        InvalidArgumentError: it is not a tensor, or one that no message can hold.
        ResourceExhaustedError: there is no memory for the message.
    """
    try:
        return tensor_util.to_proto(value)
    except MemoryError:
        size = f"{value.nbytes} bytes, shape {list(value.shape)}," if hasattr(value, "nbytes") else "a tensor"
        raise memory.exhausted(f"Out of memory for the message with {size} by gRPC") from None
    except Exception as e:
        raise unsendable(value, e) from None
