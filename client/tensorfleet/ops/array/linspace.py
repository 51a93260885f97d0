"""`tf.linspace`: evenly spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.dims import Dims
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import expand_dims
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import with_rank


def _lin_space_shape(op: RuleNode) -> list[Dims]:
    for tensor in op.inputs:
        with_rank(tensor.dims, 0)
    num = static_value(op.inputs[2])
    if num is None:
        return [(None,)]
    if num <= 0:
        raise ValueError(f"Requires num > 0: {int(num)}")
    return [(int(num),)]


op(
    "LinSpace(start: T, stop: T, num: Tidx) -> (output: T)",
    "T: {bfloat16, float16, float32, float64}",
    "Tidx: {int32, int64} = int32",
    shape=_lin_space_shape,
)


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`, both included (`tf.linspace`).

    Args:
        start, stop: floats; tensors of other than rank 0 are broadcast, and give one range for each element.
        axis: where the new dimension goes.

    Example:
        >>> tf.Session().run(tf.linspace(0.0, 1.0, 3))
        array([0. , 0.5, 1. ], dtype=float32)
    """
    with get_default_graph().name_scope(name or "linspace") as scope:
        start = convert_to_tensor(start, name="start")
        stop = convert_to_tensor(stop, start.dtype.base, "stop")
        if start.dims == () and stop.dims == ():
            return apply_one("LinSpace", start, stop, num, name=scope)
        weights = apply_one("LinSpace", cast(0, start.dtype), cast(1, start.dtype), num)
        first, last = expand_dims(start, -1), expand_dims(stop, -1)
        result: Tensor = first * (1 - weights) + last * weights
        if axis == -1:
            return result
        if result.dims is None:
            raise ValueError("linspace of tensors of unknown rank takes axis=-1 only")
        order: list[int] = np.arange(len(result.dims) - 1).tolist()
        order.insert(axis if axis >= 0 else axis + len(order) + 1, len(order))
        return transpose(result, order)


lin_space = linspace
