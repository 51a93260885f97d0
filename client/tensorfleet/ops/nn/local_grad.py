"""Gradients of `local`: local response normalization, and pooling with argmax."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import given

_LRN = ("depth_radius", "bias", "alpha", "beta")
_ARGMAX = ("ksize", "strides", "padding", "include_batch_in_index")


@gradient("LRN")
def _lrn(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("LRNGrad", grad, op.inputs[0], op.outputs[0], **given(op, _LRN))


@gradient("MaxPoolWithArgmax")
def _max_pool_with_argmax(op: Operation, grad: Tensor, _: Any) -> Tensor:
    return apply_one("MaxPoolGradWithArgmax", op.inputs[0], grad, op.outputs[1], **given(op, _ARGMAX))


no_rule("LRNGrad", "MaxPoolGradWithArgmax")
