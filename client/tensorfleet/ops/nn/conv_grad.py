"""Gradients of `conv`: convolutions of images, depthwise ones included."""

from __future__ import annotations

from tensorfleet.graph import hints
from tensorfleet.graph.apply import apply_list
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import given, shape_of

_CONV = ("strides", "padding", "explicit_paddings", "data_format", "dilations")

# For each kind the forward op, the gradient op for its images and the one for its filter.
_KINDS = {
    "Conv2D": ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
    "DepthwiseConv2dNative": (
        "DepthwiseConv2dNative",
        "DepthwiseConv2dNativeBackpropInput",
        "DepthwiseConv2dNativeBackpropFilter",
    ),
}


def _conv_ops(op: Operation) -> tuple[str, str, str]:
    return _KINDS[op.type.partition("Backprop")[0]]


@gradient("Conv2D", "DepthwiseConv2dNative")
def _conv(op: Operation, grad: Tensor) -> list[Tensor]:
    _, images, weights = _conv_ops(op)
    x, w = op.inputs
    attrs = given(op, _CONV)
    x_shape, w_shape = _both_shapes(x, w) if op.type == "Conv2D" else (shape_of(x), shape_of(w))
    return [
        apply_one(images, x_shape, w, grad, **attrs),
        apply_one(weights, x, w_shape, grad, **attrs),
    ]


def _both_shapes(x: Tensor, y: Tensor) -> list[Tensor]:
    """The shapes of two tensors by one ShapeN, with what is known of them as hints for the master."""
    found: list[Tensor] = apply_list("ShapeN", [x, y])
    for tensor, shape in zip((x, y), found, strict=True):
        if tensor.dims is not None and None not in tensor.dims:
            hints.known(shape, [size or 0 for size in tensor.dims])
    return found


@gradient("Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput")
def _conv_images(op: Operation, grad: Tensor) -> list[Tensor | None]:
    forward, _, weights = _conv_ops(op)
    _, w, y = op.inputs
    attrs = given(op, _CONV)
    return [None, apply_one(weights, grad, shape_of(w), y, **attrs), apply_one(forward, grad, w, **attrs)]


@gradient("Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter")
def _conv_weights(op: Operation, grad: Tensor) -> list[Tensor | None]:
    forward, images, _ = _conv_ops(op)
    x, _, y = op.inputs
    attrs = given(op, _CONV)
    return [apply_one(images, shape_of(x), grad, y, **attrs), None, apply_one(forward, x, grad, **attrs)]
