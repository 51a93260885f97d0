"""How many floating-point operations a node takes, as TensorFlow's profiler counts them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorfleet.graph.operation import Operation


class _UnknownShapeError(Exception):
    pass


def _shape(tensor: Any) -> tuple[int, ...]:
    if tensor.dims is None or None in tensor.dims:
        raise _UnknownShapeError
    return tuple(tensor.dims)


def _count(tensor: Any) -> int:
    return math.prod(_shape(tensor))


def _per_input(factor: int) -> Callable[[Operation], int]:
    return lambda op: _count(op.inputs[0]) * factor


def _per_output(factor: int) -> Callable[[Operation], int]:
    return lambda op: _count(op.outputs[0]) * factor


def _reduction(op: Operation) -> int:
    return _count(op.inputs[0]) - _count(op.outputs[0])


def _product(op: Operation) -> int:
    attrs = op.attrs
    transposed = attrs.get("transpose_a") or attrs.get("adj_x")
    return 2 * _count(op.outputs[0]) * _shape(op.inputs[0])[-2 if transposed else -1]


def _check_format(op: Operation) -> None:
    if op.attrs.get("data_format") not in (b"NHWC", None):
        raise _UnknownShapeError


def _convolution(op: Operation) -> int:
    _check_format(op)
    rows, columns, depth, _ = _shape(op.inputs[1])
    return 2 * _count(op.outputs[0]) * rows * columns * depth


def _depthwise(op: Operation) -> int:
    _check_format(op)
    rows, columns, *_ = _shape(op.inputs[1])
    return 2 * _count(op.outputs[0]) * rows * columns


def _back_to_input(op: Operation) -> int:
    return _backward(op, _shape(op.outputs[0]), _count(op.inputs[1]))


def _back_to_filter(op: Operation) -> int:
    return _backward(op, _shape(op.inputs[0]), _count(op.outputs[0]))


def _backward(op: Operation, image: tuple[int, ...], weights: int) -> int:
    _check_format(op)
    strides = op.attrs["strides"]
    return int(2 * math.prod(image) * weights / (image[-1] * strides[1] * strides[2]))


def _window(op: Operation) -> int:
    _check_format(op)
    return math.prod(op.attrs["ksize"])


def _max_pool_gradient(op: Operation) -> int:
    return (_window(op) + 1) * _count(op.inputs[1])


_COUNTS: dict[str, Callable[[Operation], int]] = {
    **dict.fromkeys(("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd"), _per_input(1)),
    "Rsqrt": _per_input(2),
    "Softmax": _per_input(5),
    "L2Loss": lambda op: 3 * _count(op.inputs[0]) - 1,
    **dict.fromkeys(
        (
            *("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "BiasAdd"),
            *("GreaterEqual", "Greater", "LessEqual", "Less", "Equal", "NotEqual"),
        ),
        _per_output(1),
    ),
    "SquaredDifference": _per_output(2),
    "RsqrtGrad": _per_output(4),
    "Mean": lambda op: _count(op.inputs[0]),
    **dict.fromkeys(("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), _reduction),
    **dict.fromkeys(("AvgPool", "MaxPool"), lambda op: _window(op) * _count(op.outputs[0])),
    "AvgPoolGrad": lambda op: 2 * _window(op) * _count(op.inputs[1]),
    "MaxPoolGrad": _max_pool_gradient,
    "Conv2D": _convolution,
    "DepthwiseConv2dNative": _depthwise,
    "Conv2DBackpropInput": _back_to_input,
    "Conv2DBackpropFilter": _back_to_filter,
    "AddN": lambda op: _count(op.inputs[0]) * (len(op.inputs) - 1),
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _product),
}


def float_operations(op: Operation) -> int:
    """The number of operations of one run of a node; 0 if it is not known, as shapes are not."""
    count = _COUNTS.get(op.type)
    if count is None:
        return 0
    try:
        return count(op)
    except _UnknownShapeError:
        return 0
