"""Gradients of convolution, pooling, batch normalization and cross entropy."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph import hints
from tensorfleet.graph.apply import apply_list, apply_op
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, shape_of

_CONV = ("strides", "padding", "explicit_paddings", "data_format", "dilations")
_POOL = ("ksize", "strides", "padding", "data_format")

# The forward op of each kind, the gradient of its images, that of its filter.
_KINDS = {
    "Conv2D": ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
    "DepthwiseConv2dNative": (
        "DepthwiseConv2dNative",
        "DepthwiseConv2dNativeBackpropInput",
        "DepthwiseConv2dNativeBackpropFilter",
    ),
}


def _some(op: Operation, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: op.attrs[name] for name in names if name in op.attrs}


def _conv_ops(op: Operation) -> tuple[str, str, str]:
    return _KINDS[op.type.partition("Backprop")[0]]


@gradient("Conv2D", "DepthwiseConv2dNative")
def _conv(op: Operation, grad: Tensor) -> list[Tensor]:
    _, images, weights = _conv_ops(op)
    x, w = op.inputs
    attrs = _some(op, _CONV)
    x_shape, w_shape = _both_shapes(x, w) if op.type == "Conv2D" else (shape_of(x), shape_of(w))
    return [
        apply_one(images, x_shape, w, grad, **attrs),
        apply_one(weights, x, w_shape, grad, **attrs),
    ]


def _both_shapes(x: Tensor, y: Tensor) -> list[Tensor]:
    """The shapes of two tensors by one ShapeN, of which the master is told what is known."""
    found: list[Tensor] = apply_list("ShapeN", [x, y])
    for tensor, shape in zip((x, y), found, strict=True):
        if tensor.dims is not None and None not in tensor.dims:
            hints.known(shape, [size or 0 for size in tensor.dims])
    return found


@gradient("Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput")
def _conv_images(op: Operation, grad: Tensor) -> list[Tensor | None]:
    forward, _, weights = _conv_ops(op)
    _, w, y = op.inputs
    attrs = _some(op, _CONV)
    return [None, apply_one(weights, grad, shape_of(w), y, **attrs), apply_one(forward, grad, w, **attrs)]


@gradient("Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter")
def _conv_weights(op: Operation, grad: Tensor) -> list[Tensor | None]:
    forward, images, _ = _conv_ops(op)
    x, _, y = op.inputs
    attrs = _some(op, _CONV)
    return [apply_one(images, shape_of(x), grad, y, **attrs), None, apply_one(forward, x, grad, **attrs)]


@gradient("MaxPool")
def _max_pool(op: Operation, grad: Tensor) -> Tensor:
    attrs = _some(op, (*_POOL, "explicit_paddings"))
    return apply_one("MaxPoolGrad", op.inputs[0], op.outputs[0], grad, **attrs)


@gradient("AvgPool")
def _avg_pool(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("AvgPoolGrad", shape_of(op.inputs[0]), grad, **_some(op, _POOL))


@gradient("AvgPoolGrad")
def _avg_pool_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, apply_one("AvgPool", grad, **_some(op, _POOL))]


@gradient("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _fused_batch_norm(op: Operation, grad: Tensor, *_: Any) -> list[Any]:
    x, scale = op.inputs[:2]
    mean, variance = op.outputs[3:5] if op.attrs["is_training"] else op.inputs[3:5]
    more = op.outputs[5:]
    op_type = op.type.replace("BatchNorm", "BatchNormGrad")
    attrs = _some(op, ("epsilon", "data_format", "is_training"))
    found = apply_op(op_type, grad, x, scale, mean, variance, *more, **attrs)
    return [found[0], found[1], found[2], None, None]


def _is_used(grad: Any) -> bool:
    """Whether a gradient is more than the zeros that stand for none."""
    if grad is None or grad.op.type == "ZerosLike":
        return False
    value = static_value(grad.op.inputs[1] if grad.op.type == "Fill" else grad)
    return value is None or bool(value.any())


@gradient("SoftmaxCrossEntropyWithLogits")
def _softmax_cross_entropy(op: Operation, grad: Any, backprop_grad: Any) -> list[Any]:
    logits = op.inputs[0]
    to_logits: Any = apply_one("ExpandDims", grad, -1) * op.outputs[1]
    if _is_used(backprop_grad):
        # The backprop is softmax - labels, whose own derivative counts in second derivatives.
        softmax: Any = apply_one("Softmax", logits)
        mean = apply_one("Sum", backprop_grad * softmax, ints([-1]), keep_dims=True)
        to_logits = to_logits + (backprop_grad - mean) * softmax
    to_labels = apply_one("ExpandDims", grad, -1) * -apply_one("LogSoftmax", logits)
    return [to_logits, to_labels]


@gradient("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_softmax_cross_entropy(op: Operation, grad: Any, backprop_grad: Any) -> list[Any]:
    to_logits: Any = apply_one("ExpandDims", grad, -1) * op.outputs[1]
    if _is_used(backprop_grad):
        softmax: Any = apply_one("Softmax", op.inputs[0])
        mean = apply_one("Sum", backprop_grad * softmax, ints([-1]), keep_dims=True)
        to_logits = to_logits + (backprop_grad - mean) * softmax
    return [to_logits, None]
