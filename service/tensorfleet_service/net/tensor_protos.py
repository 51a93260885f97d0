"""Tensors as messages and back, and answers where there can be none: one rule for all ways to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors, tensor_util
from tensorfleet.wire.frames import unsendable
from tensorfleet_service.devices import memory
from tensorfleet_service.executor.failures import as_op_error as as_op_error
from tensorfleet_service.kernels.variant_messages import from_message, is_variant, to_message

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
        if is_variant(value):
            return to_message(value)
        raise unsendable(value, e) from None


def put_proto(value: Any, into: TensorProto) -> None:
    """Puts a tensor into a message that is a part of another one; a large one without a copy. Raises as
    `proto_of`.
    """
    try:
        if hasattr(value, "dtype") and tensor_util.put(value, into):
            return
    except (MemoryError, ValueError, TypeError):
        pass  # `proto_of` says what is wrong
    into.CopyFrom(proto_of(value))


def value_of(tensor: TensorProto) -> Any:
    """The runtime's form of a tensor in a message: a NumPy scalar for rank 0, but an array for strings, and a
    variant itself.

    Raises:
        InvalidArgumentError: the message contradicts itself.
        ResourceExhaustedError: there is no memory for it.
    """
    try:
        return from_message(tensor)
    except MemoryError as e:
        raise memory.exhausted(f"Out of memory for a received tensor: {e}") from None
    except (ValueError, TypeError) as e:
        raise errors.InvalidArgumentError(None, None, f"A tensor cannot be read: {e}") from None
