"""Gradients of `activation`."""

from __future__ import annotations

import numpy as np

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, like, rank_of, where

_LAST = np.array([-1], np.int32)


@gradient("Relu")
def _relu(op: Operation, grad: Tensor) -> Tensor:
    # The output is positive exactly where the input is, so the input need not be kept.
    return apply_one("ReluGrad", grad, op.outputs[0])


@gradient("Relu6")
def _relu6(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("Relu6Grad", grad, op.outputs[0])


@gradient("Elu", "Selu")
def _of_output(op: Operation, grad: Tensor) -> Tensor:
    return apply_one(f"{op.type}Grad", grad, op.outputs[0])


@gradient("Softplus", "Softsign")
def _of_input(op: Operation, grad: Tensor) -> Tensor:
    return apply_one(f"{op.type}Grad", grad, op.inputs[0])


@gradient("LeakyRelu")
def _leaky_relu(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("LeakyReluGrad", grad, op.inputs[0], alpha=op.attrs["alpha"])


@gradient("L2Loss")
def _l2_loss(op: Operation, grad: Tensor) -> Tensor:
    return op.inputs[0] * grad


@gradient("Softmax")
def _softmax(op: Operation, grad: Tensor) -> Tensor:
    y = op.outputs[0]
    return (grad - apply_one("Sum", grad * y, _LAST, keep_dims=True)) * y


@gradient("LogSoftmax")
def _log_softmax(op: Operation, grad: Tensor) -> Tensor:
    return grad - apply_one("Sum", grad, _LAST, keep_dims=True) * apply_one("Exp", op.outputs[0])


@gradient("BiasAdd")
def _bias_add(op: Operation, grad: Tensor) -> list[Tensor]:
    return [grad, apply_one("BiasAddGrad", grad, data_format=op.attrs["data_format"])]


@gradient("BiasAddV1")
def _bias_add_v1(op: Operation, grad: Tensor) -> list[Tensor]:
    axes = apply_one("Range", 0, rank_of(grad) - ints(1), 1)
    return [grad, apply_one("Sum", grad, axes)]


@gradient("ReluGrad", "Relu6Grad")
def _relu_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    x = op.inputs[1]
    return [apply_one(op.type, grad, x), zeros_like(x)]


@gradient("LeakyReluGrad")
def _leaky_relu_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    x = op.inputs[1]
    return [apply_one("LeakyReluGrad", grad, x, alpha=op.attrs["alpha"]), zeros_like(x)]


@gradient("EluGrad", "SeluGrad")
def _of_output_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    gradients, y = op.inputs
    return [apply_one(op.type, grad, y), where(y < like(0, y), gradients * grad, zeros_like(y))]


@gradient("SoftplusGrad")
def _softplus_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    gradients, x = op.inputs
    second = apply_one("SigmoidGrad", apply_one("Sigmoid", x), gradients)
    return [apply_one("SoftplusGrad", grad, x), grad * second]


@gradient("SoftsignGrad")
def _softsign_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    gradients, x = op.inputs
    slope = apply_one("SoftsignGrad", grad, x)
    outer = like(1, x) + apply_one("Abs", x)
    return [slope, like(-2, x) * gradients * slope * apply_one("Sign", x) / outer]


@gradient("BiasAddGrad")
def _bias_add_grad(op: Operation, grad: Tensor) -> Tensor:
    zero = zeros_like(op.inputs[0])
    return apply_one("BiasAdd", zero, grad, data_format=op.attrs["data_format"])
