"""Gradients of volumes' convolution and pooling, local response normalization, and pooling with argmax."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import shape_of

_CONV = ("strides", "padding", "data_format", "dilations")
_POOL = ("ksize", "strides", "padding", "data_format")
_LRN = ("depth_radius", "bias", "alpha", "beta")
_ARGMAX = ("ksize", "strides", "padding", "include_batch_in_index")


def _some(op: Operation, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: op.attrs[name] for name in names if name in op.attrs}


@gradient("Conv3D")
def _conv3d(op: Operation, grad: Tensor) -> list[Tensor]:
    x, w = op.inputs
    attrs = _some(op, _CONV)
    return [
        apply_one("Conv3DBackpropInputV2", shape_of(x), w, grad, **attrs),
        apply_one("Conv3DBackpropFilterV2", x, shape_of(w), grad, **attrs),
    ]


@gradient("Conv3DBackpropInputV2")
def _conv3d_volumes(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, w, y = op.inputs
    attrs = _some(op, _CONV)
    return [
        None,
        apply_one("Conv3DBackpropFilterV2", grad, shape_of(w), y, **attrs),
        apply_one("Conv3D", grad, w, **attrs),
    ]


@gradient("Conv3DBackpropFilterV2")
def _conv3d_weights(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, _, y = op.inputs
    attrs = _some(op, _CONV)
    return [
        apply_one("Conv3DBackpropInputV2", shape_of(x), grad, y, **attrs),
        None,
        apply_one("Conv3D", x, grad, **attrs),
    ]


@gradient("MaxPool3D")
def _max_pool3d(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("MaxPool3DGrad", op.inputs[0], op.outputs[0], grad, **_some(op, _POOL))


@gradient("AvgPool3D")
def _avg_pool3d(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("AvgPool3DGrad", shape_of(op.inputs[0]), grad, **_some(op, _POOL))


@gradient("AvgPool3DGrad")
def _avg_pool3d_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, apply_one("AvgPool3D", grad, **_some(op, _POOL))]


@gradient("LRN")
def _lrn(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("LRNGrad", grad, op.inputs[0], op.outputs[0], **_some(op, _LRN))


@gradient("MaxPoolWithArgmax")
def _max_pool_with_argmax(op: Operation, grad: Tensor, _: Any) -> Tensor:
    return apply_one("MaxPoolGradWithArgmax", op.inputs[0], grad, op.outputs[1], **_some(op, _ARGMAX))


no_rule("LRNGrad", "MaxPool3DGrad", "MaxPoolGradWithArgmax")
