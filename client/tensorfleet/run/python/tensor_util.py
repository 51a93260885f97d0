"""What `tensorflow.python.framework.tensor_util` and `constant_op` have beside the names of `tf`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.tensor_pb2 import TensorProto
from tensorfleet.proto.tensor_shape_pb2 import TensorShapeProto


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """The shape that a tensor of sizes stands for, unknown where its elements are (-1, too).

    Args:
        tensor: integers [rank], or the number -1 for a shape of unknown rank.

    Raises:
        ValueError: another rank, or another number.
    """
    if isinstance(tensor, np.ndarray | list | tuple):
        return TensorShape([None if size is None or int(size) < 0 else int(size) for size in tensor])
    if tensor.ndim == 0 and static_value(tensor) != -1:
        raise ValueError("A number that is not known to be -1 stands for no shape: a vector of sizes does.")
    if tensor.ndim not in (None, 0, 1):
        raise ValueError(f"Shape must be rank 1 but is rank {tensor.ndim}")
    return TensorShape(static_dims(tensor))


def shape_to_tensor(s: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    """The sizes of a fully defined shape as a tensor."""
    return convert_to_tensor(s, dtype, name)


def is_constant(tensor_or_op: Any) -> bool:
    """Whether a tensor or operation is a constant."""
    return bool(getattr(tensor_or_op, "op", tensor_or_op).type == "Const")


def shape_proto_to_list(shape: TensorShapeProto) -> list[int]:
    """The sizes in the message of a shape."""
    return [dim.size for dim in shape.dim]


def shape_equals(tensor_proto: TensorProto, shape: Any) -> bool:
    """Whether a tensor's message has this shape, a message or numbers.

    Raises:
        TypeError: one of them is something else.
    """
    if not isinstance(tensor_proto, TensorProto):
        raise TypeError("tensor_proto is not a tensor_pb2.TensorProto object")
    if isinstance(shape, TensorShapeProto):
        shape = shape_proto_to_list(shape)
    elif not isinstance(shape, list | tuple):
        raise TypeError("shape is not a list or tuple")
    return shape_proto_to_list(tensor_proto.tensor_shape) == list(shape)


def maybe_set_static_shape(tensor: Tensor, shape: Any) -> None:
    """Gives a tensor of unknown static shape the part of `shape` that is known."""
    if not tensor.shape.is_fully_defined() and isinstance(shape, Tensor):
        tensor.set_shape(constant_value_as_shape(shape))
