"""Gradients of `pool`: pooling of images."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import given, shape_of

_POOL = ("ksize", "strides", "padding", "data_format")


@gradient("MaxPool")
def _max_pool(op: Operation, grad: Tensor) -> Tensor:
    attrs = given(op, (*_POOL, "explicit_paddings"))
    return apply_one("MaxPoolGrad", op.inputs[0], op.outputs[0], grad, **attrs)


@gradient("AvgPool")
def _avg_pool(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("AvgPoolGrad", shape_of(op.inputs[0]), grad, **given(op, _POOL))


@gradient("AvgPoolGrad")
def _avg_pool_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, apply_one("AvgPool", grad, **given(op, _POOL))]


@gradient("MaxPoolGrad", "MaxPoolGradGrad")
def _max_pool_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    """The second gradient, with the positions of the maxima as constants: MaxPoolGrad scatters gradients to
    them, MaxPoolGradGrad gathers from them, and each is the gradient of the other."""
    x, y = op.inputs[:2]
    attrs = given(op, _POOL)
    opposite = "MaxPoolGradGrad" if op.type == "MaxPoolGrad" else "MaxPoolGrad"
    return [zeros_like(x), zeros_like(y), apply_one(opposite, x, y, grad, **attrs)]


_POOL_V2 = ("padding", "data_format")


@gradient("MaxPoolV2")
def _max_pool_v2(op: Operation, grad: Tensor) -> list[Tensor | None]:
    sizes = op.inputs[1:3]
    attrs = given(op, _POOL_V2)
    return [apply_one("MaxPoolGradV2", op.inputs[0], op.outputs[0], grad, *sizes, **attrs), None, None]


@gradient("MaxPoolGradV2")
def _max_pool_grad_v2(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, y, _, *sizes = op.inputs
    opposite = apply_one("MaxPoolGradGradV2", x, y, grad, *sizes, **given(op, _POOL_V2))
    return [zeros_like(x), zeros_like(y), opposite, None, None]


no_rule("MaxPoolGradGradV2")
