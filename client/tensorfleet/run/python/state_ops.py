"""What `tensorflow.python.ops.state_ops` has beside the ops of `tf`."""

from __future__ import annotations

from typing import Any

from tensorfleet.api.raw_ops import raw_ops
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.tensor import Tensor


def variable_op(
    shape: Any,
    dtype: Any,
    name: str = "Variable",
    set_shape: bool = True,
    container: str = "",
    shared_name: str = "",
) -> Tensor:
    """The reference of a variable that no object stands for (`variable_op_v2`)."""
    made: Tensor = raw_ops.VariableV2(
        shape=TensorShape(shape), dtype=dtype, name=name, container=container, shared_name=shared_name
    )
    return made
