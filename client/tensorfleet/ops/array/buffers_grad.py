"""Gradient rules of order statistics; the others have none."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

no_rule(
    *("Empty", "InplaceUpdate", "InplaceAdd", "InplaceSub", "DeepCopy", "FakeParam", "ToBool", "DeviceIndex"),
    *("DataFormatDimMap", "DataFormatVecPermute"),
)


@gradient("NthElement")
def _nth(op: Operation, grad: Tensor) -> list[Any]:
    """Elements equal to the chosen one share the gradient."""
    chosen = apply_one("ExpandDims", op.outputs[0], -1)
    equal = apply_one("Cast", apply_one("Equal", chosen, op.inputs[0]), DstT=grad.dtype)
    count = apply_one("Sum", equal, -1, keep_dims=True)
    return [equal / count * apply_one("ExpandDims", grad, -1), None]
