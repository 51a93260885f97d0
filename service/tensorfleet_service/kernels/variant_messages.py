"""Variants as messages, in TensorFlow's form: for constants, and on their way to another task or a client.

A message has the name of the value's kind, bytes that this kind understands, and the tensors in the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.core import dtypes, shapes, string_arrays, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet.proto.tensor_pb2 import TensorProto, VariantTensorDataProto
from tensorfleet_service.kernels.values import host_array, invalid
from tensorfleet_service.kernels.variants import Variant, unboxed
from tensorfleet_service.threads import unlocked

Decode = Callable[[bytes, list[Any]], Any]

_decoders: dict[str, Decode] = {}

_TENSOR = "tensorflow::Tensor"
"""The kind of a variant that is a tensor, such as each part of a serialized SparseTensor."""


def decoder(type_name: str) -> Callable[[Decode], Decode]:
    """Registers the function that makes values of a kind of their bytes and tensors; ValueError: damaged."""

    def register(decode: Decode) -> Decode:
        _decoders[type_name] = decode
        return decode

    return register


def is_variant(value: Any) -> bool:
    """Whether a value is a variant, or an array of such."""
    if isinstance(value, np.ndarray) and value.dtype == object and value.size:
        value = value.reshape(-1)[0]
        if isinstance(value, np.ndarray):
            return True
    return isinstance(unboxed(value), Variant)


def dtype_of(value: Any) -> DType:
    """The dtype of a tensor or a variant."""
    return dtypes.variant if is_variant(value) else dtypes.from_numpy(np.asarray(value).dtype)


@decoder(_TENSOR)
def _decode_tensor(metadata: bytes, tensors: list[Any]) -> Any:
    return np.asarray(tensors[0])


def to_message(value: Any) -> TensorProto:
    """The message for a tensor, which may be one of variants.

    Raises:
        InternalError: a variant of a kind that has no message, such as a dataset.
        InvalidArgumentError: values in values, deeper than a message can be.
    """
    try:
        return _message(value)
    except (
        DecodeError,
        RecursionError,
    ):  # protobuf's limit, which holds for each part that is put into another
        raise invalid("Values in a variant are nested too deeply to be sent") from None


def _message(value: Any) -> TensorProto:
    if not is_variant(value):
        return tensor_util.to_proto(host_array(value))
    array = value if isinstance(value, np.ndarray) else None
    items = [value] if array is None else unlocked.listed(array)
    message = TensorProto(
        dtype=dtypes.variant.enum,  # type: ignore[arg-type]
        tensor_shape=shapes.to_proto(() if array is None else array.shape),
    )
    # Each is put into the message where it is made: many by one call keep all other threads waiting.
    message.variant_val.extend(map(_encoded, items))
    return message


def to_messages(value: Any) -> np.ndarray[Any, Any]:
    """The messages of a variant, or of an array of them. Raises as `to_message` does."""
    message = to_message(value)
    made = tensor_util.message_array(message.variant_val)
    return made.reshape(np.shape(value) if isinstance(value, np.ndarray) else ())


def _encoded(value: Any) -> VariantTensorDataProto:
    value = unboxed(value)
    name, metadata, tensors = value.parts() if isinstance(value, Variant) else (_TENSOR, b"", [value])
    message = VariantTensorDataProto(type_name=name, metadata=metadata)
    message.tensors.extend(map(_message, tensors))
    return message


def from_message(tensor: TensorProto) -> Any:
    """The value of a message: a NumPy scalar for rank 0, but an array for strings, and a variant itself.

    Raises:
        ValueError, TypeError: the message contradicts itself, or has a variant of an unknown kind.
    """
    array = tensor_util.make_ndarray(tensor)
    if tensor.dtype == dtypes.variant.enum:
        return from_messages(array)
    return array[()] if array.ndim == 0 and array.dtype != object else array


def from_messages(array: np.ndarray[Any, Any]) -> Any:
    """The variants of an array of their messages; of rank 0, the object itself. Raises ValueError."""
    made = string_arrays.empty(array.size)
    for i, message in enumerate(unlocked.listed(array)):
        made[i] = _decoded(message)  # one by one: a list of tensors would become one array
    return made.reshape(array.shape)[()]


def _decoded(message: VariantTensorDataProto) -> Any:
    decode = _decoders.get(message.type_name)
    if decode is None:
        raise ValueError(f"Could not decode a variant with type_name: {message.type_name!r}")
    try:
        return decode(message.metadata, [from_message(tensor) for tensor in message.tensors])
    except (DecodeError, IndexError) as e:
        raise ValueError(f"A variant with type_name {message.type_name!r} is damaged: {e}") from None


class Plain(Variant):
    """A number in a variant, as constants of graphs have them."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value

    def zeros_like(self, xp: Any) -> Plain:
        return Plain(self.name, self.value.dtype.type(0))

    def plus(self, other: Any) -> Plain:
        second = unboxed(other)
        if not isinstance(second, Plain) or second.name != self.name:
            raise invalid(f"A variant with a {self.name} cannot be added to another kind")
        return Plain(self.name, self.value + second.value)

    def parts(self) -> tuple[str, bytes, list[Any]]:
        return self.name, self.value.tobytes(), []


def _decode_plain(name: str, dtype: type[np.generic]) -> None:
    @decoder(name)
    def decode(metadata: bytes, tensors: list[Any]) -> Plain:
        return Plain(name, np.frombuffer(metadata, dtype, 1)[0])


for _name, _dtype in (("int", np.int32), ("float", np.float32), ("double", np.float64), ("bool", np.bool_)):
    _decode_plain(_name, _dtype)
