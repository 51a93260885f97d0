"""Gradient rules of dilation."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

no_rule("Dilation2DBackpropInput", "Dilation2DBackpropFilter")


@gradient("Dilation2D")
def _dilation(op: Operation, grad: Tensor) -> list[Any]:
    attrs = {name: op.attrs[name] for name in ("strides", "rates", "padding")}
    return [apply_one(f"Dilation2DBackprop{name}", *op.inputs, grad, **attrs) for name in ("Input", "Filter")]
