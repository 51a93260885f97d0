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
