"""Kernels of `tensorfleet.ops.nn.activation`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.devices.native import native, takes
from tensorfleet_service.kernels.common import SMALL_FLOATS, through_float32
from tensorfleet_service.kernels.math.compiled import Step, elementwise
from tensorfleet_service.kernels.math.formulas import formula_expression, formula_function, rounded_formula
from tensorfleet_service.kernels.nn import cuda_rows
from tensorfleet_service.kernels.registry import Expression, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text

# The fixed point (mean 0, variance 1) of Klambauer et al., "Self-Normalizing Neural Networks", 2017.
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@kernel("Relu", "Relu6")
def _relu(node: KernelNode) -> Expression:
    return formula_expression(node.op, node.xp, node.input_types[0])


@kernel("Elu", "Softplus", "Softsign")
def _formula(node: KernelNode) -> Expression:
    return rounded_formula(node.op, node.xp, node.input_types[0])


@kernel("Selu", "LeakyRelu")
def _float_activation(node: KernelNode) -> Kernel:
    xp = node.xp
    slope = node.attrs.get("alpha")

    def selu(x: Any) -> Any:
        scale, alpha = x.dtype.type(_SELU_SCALE), x.dtype.type(_SELU_SCALE * _SELU_ALPHA)
        return xp.where(x > 0, scale * x, alpha * xp.expm1(x))

    def leaky_relu(x: Any) -> Any:
        return xp.where(x > 0, x, x * x.dtype.type(slope))

    functions = {
        "Selu": selu,
        "LeakyRelu": leaky_relu,
    }
    return through_float32(_or_compiled(functions[node.op], node.op, slope), node.input_types[0])


def _or_compiled(function: Kernel, op: str, slope: float | None) -> Kernel:
    """`function`, computed by the compiled kernels for the arrays that they take."""
    compiled = _compiled(op, slope)
    if compiled is None:
        return function

    def activation(*arrays: Any) -> Any:
        return compiled(*arrays) if takes(*arrays) else function(*arrays)

    return activation


def _compiled(op: str, slope: float | None) -> Kernel | None:
    """The compiled form of an op; None without one. It gives the same values, also for NaN and infinity:
    branches are chosen by factors of 1 and 0.
    """
    scale, scaled_alpha = str(_SELU_SCALE), str(_SELU_SCALE * _SELU_ALPHA)
    if op == "Selu":
        steps: list[Step] = [
            ("minimum", "t0", ("x0", "0")),
            ("expm1", "t0", ("t0",)),
            ("multiply", "t0", ("t0", scaled_alpha)),
            ("maximum", "out", ("x0", "0")),
            ("multiply", "out", ("out", scale)),
            ("add", "out", ("out", "t0")),
        ]
        return elementwise(steps, 1, 1)
    if op == "SeluGrad":
        return elementwise(
            [
                ("fmin", "t0", ("x1", "0")),
                ("add", "t0", ("t0", scaled_alpha)),
                ("less", "t1", ("x1", "0")),
                ("multiply", "t0", ("t0", "t1")),
                ("subtract", "t1", ("1", "t1")),
                ("multiply", "t1", ("t1", scale)),
                ("add", "t0", ("t0", "t1")),
                ("multiply", "out", ("x0", "t0")),
            ],
            2,
            2,
        )
    if op == "LeakyRelu" and slope is not None and 0 < slope <= 1:
        return elementwise([("multiply", "t0", ("x0", str(slope))), ("maximum", "out", ("x0", "t0"))], 1, 1)
    if op == "LeakyReluGrad" and slope is not None and np.isfinite(slope):
        return elementwise(
            [
                ("greater", "t0", ("x1", "0")),
                ("subtract", "t1", ("1", "t0")),
                ("multiply", "t1", ("t1", str(slope))),
                ("add", "t0", ("t0", "t1")),
                ("multiply", "out", ("x0", "t0")),
            ],
            2,
            2,
        )
    return None


@kernel("L2Loss")
def _l2_loss(node: KernelNode) -> Kernel:
    xp = node.xp

    def l2_loss(x: Any) -> Any:
        flat = x.ravel()
        return xp.dot(flat, flat) * x.dtype.type(0.5)

    return through_float32(l2_loss, node.input_types[0])


@kernel("Softmax", "LogSoftmax")
def _softmax(node: KernelNode) -> Kernel:
    xp = node.xp
    logarithm = node.op == "LogSoftmax"

    def softmax(logits: Any) -> Any:
        if not logits.ndim:
            raise invalid(f"logits must have >= 1 dimension, got {shape_text(logits.shape)}")
        if not logits.size:
            return logits
        if takes(logits):
            out, width = empty(logits.shape, np.float32), logits.shape[-1]
            native.softmax(logits, out, logits.size // width, width, logarithm, thread_count())
            return out
        if xp is not np and logits.dtype.name in cuda_rows.DTYPES:
            rows = logits.reshape(-1, logits.shape[-1])
            return cuda_rows.softmax(xp, rows, logarithm).reshape(logits.shape)
        shifted = logits - logits.max(axis=-1, keepdims=True)
        exponentials = xp.exp(shifted)
        total = exponentials.sum(axis=-1, keepdims=True)
        if logarithm:
            shifted -= xp.log(total)
            return shifted
        exponentials /= total
        return exponentials

    return through_float32(softmax, node.input_types[0])


@kernel("BiasAdd", "BiasAddV1")
def _bias_add(node: KernelNode) -> Kernel:
    channels_first = node.attrs.get("data_format") == b"NCHW"
    least_rank = 3 if channels_first else 2

    def bias_add(value: Any, bias: Any) -> Any:
        if value.ndim < 2:
            raise invalid(f"Input tensor must be at least 2D: {shape_text(value.shape)}")
        if bias.ndim != 1:
            raise invalid(f"Biases must be 1D: {shape_text(bias.shape)}")
        axis = 1 if channels_first else value.ndim - 1
        if value.shape[axis] != bias.shape[0]:
            raise invalid(
                "Must provide as many biases as the last dimension of the input tensor: "
                f"{shape_text(bias.shape)} vs. {shape_text(value.shape)}"
            )
        if channels_first and value.ndim >= least_rank:
            bias = bias.reshape((-1,) + (1,) * (value.ndim - 2))
        return value + bias

    return bias_add


@kernel("ReluGrad")
def _relu_grad(node: KernelNode) -> Expression:
    return formula_expression(node.op, node.xp, node.input_types[0])


@kernel("Relu6Grad")
def _relu6_grad(node: KernelNode) -> Expression:
    name = node.input_types[0].name
    dtype = node.input_types[0].np
    if node.input_types[0].is_floating:
        return formula_expression(node.op, node.xp, node.input_types[0])
    assert dtype is not None
    names = {f"zero_{name}": dtype.type(0), f"six_{name}": dtype.type(6)}
    return Expression(f"{{0}} * (({{1}} > zero_{name}) & ({{1}} < six_{name}))", names)


@kernel("EluGrad", "SeluGrad", "LeakyReluGrad", "SoftplusGrad", "SoftsignGrad")
def _activation_grad(node: KernelNode) -> Kernel:
    xp = node.xp
    slope = node.attrs.get("alpha")

    def selu_grad(gradient: Any, y: Any) -> Any:
        scale, alpha = y.dtype.type(_SELU_SCALE), y.dtype.type(_SELU_SCALE * _SELU_ALPHA)
        return gradient * xp.where(y < 0, y + alpha, scale)

    def leaky_relu_grad(gradient: Any, x: Any) -> Any:
        return xp.where(x > 0, gradient, gradient * x.dtype.type(slope))

    functions = {
        "SeluGrad": selu_grad,
        "LeakyReluGrad": leaky_relu_grad,
    }
    dtype = node.input_types[0]
    computed_in = dtypes.float32 if dtype in SMALL_FLOATS else dtype
    function = functions.get(node.op) or formula_function(node.op, xp, computed_in)
    if node.op in functions:
        function = _or_compiled(function, node.op, slope)

    def run(gradient: Any, x: Any) -> Any:
        if gradient.shape != x.shape:
            raise invalid(
                f"Inputs to operation {node.name} of type {node.op} must have the same size and shape.  "
                f"Input 0: {shape_text(gradient.shape)} != input 1: {shape_text(x.shape)}"
            )
        return function(gradient, x)

    return through_float32(run, dtype)


@kernel("BiasAddGrad")
def _bias_add_grad(node: KernelNode) -> Kernel:
    channels_first = node.attrs["data_format"] == b"NCHW"

    def bias_add_grad(gradient: Any) -> Any:
        if gradient.ndim < 2:
            raise invalid(f"Input tensor must be at least 2D: {shape_text(gradient.shape)}")
        axis = 1 if channels_first else gradient.ndim - 1
        if takes(gradient) and axis == gradient.ndim - 1:
            sums = np.empty(gradient.shape[-1:], np.float32)
            native.column_sums(gradient, sums, gradient.size // sums.size, sums.size, thread_count())
            return sums
        others = tuple(i for i in range(gradient.ndim) if i != axis)
        return gradient.sum(axis=others, dtype=gradient.dtype)

    return through_float32(bias_add_grad, node.input_types[0])
