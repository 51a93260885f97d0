"""Gradient rules of pooling by windows of different sizes."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

no_rule("FractionalMaxPoolGrad", "FractionalAvgPoolGrad")


@gradient("FractionalMaxPool")
def _max(op: Operation, grad: Tensor, *unused: Any) -> Tensor:
    return apply_one(
        *("FractionalMaxPoolGrad", op.inputs[0], op.outputs[0], grad, op.outputs[1], op.outputs[2]),
        overlapping=op.attrs["overlapping"],
    )


@gradient("FractionalAvgPool")
def _average(op: Operation, grad: Tensor, *unused: Any) -> Tensor:
    shape = apply_one("Shape", op.inputs[0], out_type=dtypes.int64)
    return apply_one(
        *("FractionalAvgPoolGrad", shape, grad, op.outputs[1], op.outputs[2]),
        overlapping=op.attrs["overlapping"],
    )
