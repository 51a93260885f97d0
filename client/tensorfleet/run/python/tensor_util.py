"""What `tensorflow.python.framework.tensor_util` and `constant_op` have beside the names of `tf`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor


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
