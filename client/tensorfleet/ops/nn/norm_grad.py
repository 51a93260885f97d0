"""Gradients of `norm`: fused batch normalization, and the gradients of its gradients."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, gradients_within
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import given, ints, like


@gradient("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _fused_batch_norm(op: Operation, grad: Tensor, *_: Any) -> list[Any]:
    x, scale = op.inputs[:2]
    mean, variance = op.outputs[3:5] if op.attrs["is_training"] else op.inputs[3:5]
    more = op.outputs[5:]
    op_type = op.type.replace("BatchNorm", "BatchNormGrad")
    attrs = given(op, ("epsilon", "data_format", "is_training"))
    found = apply_op(op_type, grad, x, scale, mean, variance, *more, **attrs)
    return [found[0], found[1], found[2], None, None]


@gradient("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _fused_batch_norm_grad(op: Operation, *grads: Any) -> list[Any]:
    y_grad, x, scale, mean, variance = op.inputs[:5]
    made = _normalization(op, y_grad, x, scale, mean, variance)
    # Of the op alone: dependencies among its inputs are up to the tf.gradients call in progress.
    found = gradients_within(
        made, [y_grad, x, scale], grad_ys=list(grads[:3]), stop_gradients=list(op.inputs[:5])
    )
    return [*found, *([None] * (len(op.inputs) - 3))]


def _normalization(
    op: Operation, y_grad: Any, x: Any, scale: Any, mean: Any, variance: Any
) -> tuple[Any, Any, Any]:
    """The gradients of x, scale and offset by the formulas of the fused op, in ops that have gradients."""
    dtype = x.dtype.base
    if dtype is not dtypes.float32:
        x, y_grad = (apply_one("Cast", t, DstT=dtypes.float32) for t in (x, y_grad))
    rank = 5 if op.attrs["data_format"] in (b"NDHWC", b"NCDHW") else 4
    channel = 1 if op.attrs["data_format"].startswith(b"NC") else rank - 1
    axes = ints([axis for axis in range(rank) if axis != channel])
    along = ints([-1 if axis == channel else 1 for axis in range(rank)])

    def channels(values: Any) -> Any:
        return apply_one("Reshape", values, along)

    def average(values: Any) -> Any:
        return apply_one("Mean", values, axes, keep_dims=True)

    def total(values: Any) -> Any:
        return apply_one("Sum", values, axes)

    epsilon = like(op.attrs["epsilon"], x)
    if op.attrs["is_training"]:
        centered = x - average(x)
        spread = average(apply_one("Square", centered)) + epsilon
        share: Any = y_grad - average(y_grad) - centered * average(y_grad * centered) / spread
    else:
        centered = x - channels(mean)
        spread = channels(variance) + epsilon
        share = y_grad
    inverse: Any = apply_one("Rsqrt", spread)
    x_grad: Any = channels(scale) * inverse * share
    if dtype is not dtypes.float32:
        x_grad = apply_one("Cast", x_grad, DstT=dtype)
    return x_grad, total(y_grad * centered * inverse), total(y_grad)
