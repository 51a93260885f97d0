"""Gradient rules of rounding as if quantized: rounding itself counts for nothing."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor

no_rule(
    *(
        "QuantizeV2",
        "Dequantize",
        "QuantizedRelu",
        "QuantizedRelu6",
        "QuantizedReluX",
        "QuantizedMatMul",
        "Requantize",
    ),
    *("RequantizationRange", "QuantizeDownAndShrinkRange"),
)


@gradient("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4Grad")
def _straight(op: Operation, grad: Tensor, *unused: Any) -> list[Any]:
    return [grad, *[None] * (len(op.inputs) - 1)]


@gradient("QuantizeAndDequantizeV4")
def _clipped(op: Operation, grad: Tensor) -> list[Any]:
    return list(apply_op("QuantizeAndDequantizeV4Grad", grad, *op.inputs, axis=op.attrs["axis"]))
