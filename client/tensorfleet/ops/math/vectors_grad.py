"""The gradient of `vectors`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one


@gradient("Cross")
def _cross(op: Operation, grad: Tensor) -> list[Tensor]:
    a, b = op.inputs
    return [apply_one("Cross", b, grad), apply_one("Cross", grad, a)]
