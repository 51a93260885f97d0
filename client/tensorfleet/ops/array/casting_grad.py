"""Gradients of `casting`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

no_rule("Bitcast")


@gradient("Cast")
def _cast(op: Operation, grad: Tensor) -> Tensor | None:
    source, target = op.inputs[0].dtype.base, grad.dtype.base
    for dtype in (source, target):
        if not (dtype.is_floating or dtype.is_complex):
            return None
    return apply_one("Cast", grad, DstT=source)
