"""Gradient rules of optional values: the gradient of one is an optional value of the same components."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

no_rule("OptionalNone", "OptionalHasValue")


@gradient("OptionalFromValue")
def _from_value(op: Operation, grad: Tensor) -> Any:
    made = apply_op(
        "OptionalGetValue",
        grad,
        output_types=op.attrs["Toutput_types"],
        output_shapes=[tensor.dims for tensor in op.inputs],
    )
    return list(made) if isinstance(made, (list, tuple)) else [made]


@gradient("OptionalGetValue")
def _get_value(op: Operation, *grads: Tensor) -> Any:
    return apply_one("OptionalFromValue", list(grads))
