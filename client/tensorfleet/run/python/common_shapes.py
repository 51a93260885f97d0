"""`tensorflow.python.framework.common_shapes`: shape functions, which an op's registration once named."""

from __future__ import annotations

from typing import Any

import tensorfleet as tf
from tensorfleet.core.shapes import TensorShape


def unchanged_shape(op: Any) -> list[TensorShape]:
    """The shape of the first input."""
    return [op.inputs[0].get_shape()]


def scalar_shape(op: Any = None) -> list[TensorShape]:
    """The shape of rank 0."""
    return [TensorShape([])]


def unknown_shape(op: Any) -> list[TensorShape]:
    """An unknown shape for each output."""
    return [TensorShape(None) for _ in op.outputs]


def call_cpp_shape_fn(op: Any, require_shape_fn: bool = True) -> dict[str, Any]:
    """The shapes that the op's own rule infers."""
    return {"shapes": [output.get_shape() for output in op.outputs]}


def broadcast_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape that two shapes broadcast to."""
    return tf.broadcast_static_shape(TensorShape(shape_x), TensorShape(shape_y))


def has_fully_defined_shape(tensor: Any) -> bool:
    """Whether all static sizes of a tensor are known."""
    return bool(tensor.shape.is_fully_defined())


def rank(tensor: Any) -> int | None:
    """The static rank; None if it is unknown."""
    found: int | None = tf.convert_to_tensor(tensor).shape.ndims
    return found


def is_broadcast_compatible(shape_x: Any, shape_y: Any) -> bool:
    """Whether two shapes are known to broadcast: false for unknown ranks."""
    if shape_x.ndims is None or shape_y.ndims is None:
        return False
    try:
        tf.broadcast_static_shape(shape_x, shape_y)
    except ValueError:
        return False
    return True
