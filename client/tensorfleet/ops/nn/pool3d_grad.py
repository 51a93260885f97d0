"""Gradients of `pool3d`: pooling of volumes."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import given, shape_of

_POOL = ("ksize", "strides", "padding", "data_format")


@gradient("MaxPool3D")
def _max_pool3d(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("MaxPool3DGrad", op.inputs[0], op.outputs[0], grad, **given(op, _POOL))


@gradient("AvgPool3D")
def _avg_pool3d(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("AvgPool3DGrad", shape_of(op.inputs[0]), grad, **given(op, _POOL))


@gradient("AvgPool3DGrad")
def _avg_pool3d_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, apply_one("AvgPool3D", grad, **given(op, _POOL))]


@gradient("MaxPool3DGrad", "MaxPool3DGradGrad")
def _max_pool3d_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    """As for images: each of the two is the gradient of the other, with the positions of the maxima fixed."""
    x, y = op.inputs[:2]
    opposite = "MaxPool3DGradGrad" if op.type == "MaxPool3DGrad" else "MaxPool3DGrad"
    return [zeros_like(x), zeros_like(y), apply_one(opposite, x, y, grad, **given(op, _POOL))]
