"""Gradients of `constants` and `linspace`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import rank_of

not_differentiable("Const", "ZerosLike", "OnesLike", "Range", "LinSpace")


@gradient("Fill")
def _fill(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, apply_one("Sum", grad, apply_one("Range", 0, rank_of(grad), 1))]
