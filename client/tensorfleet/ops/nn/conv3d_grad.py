"""Gradients of `conv3d`: convolutions of volumes."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import given, shape_of

_CONV = ("strides", "padding", "data_format", "dilations")


@gradient("Conv3D")
def _conv3d(op: Operation, grad: Tensor) -> list[Tensor]:
    x, w = op.inputs
    attrs = given(op, _CONV)
    return [
        apply_one("Conv3DBackpropInputV2", shape_of(x), w, grad, **attrs),
        apply_one("Conv3DBackpropFilterV2", x, shape_of(w), grad, **attrs),
    ]


@gradient("Conv3DBackpropInputV2")
def _conv3d_volumes(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, w, y = op.inputs
    attrs = given(op, _CONV)
    return [
        None,
        apply_one("Conv3DBackpropFilterV2", grad, shape_of(w), y, **attrs),
        apply_one("Conv3D", grad, w, **attrs),
    ]


@gradient("Conv3DBackpropFilterV2")
def _conv3d_weights(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, _, y = op.inputs
    attrs = given(op, _CONV)
    return [
        apply_one("Conv3DBackpropInputV2", shape_of(x), grad, y, **attrs),
        None,
        apply_one("Conv3D", x, grad, **attrs),
    ]
