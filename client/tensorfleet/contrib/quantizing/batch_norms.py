"""Batch norms in a graph: what each normalizes, and by which tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor

LAYERS = frozenset(("Conv2D", "DepthwiseConv2dNative", "MatMul"))
ADDS = frozenset(("Add", "AddV2"))
_FUSED = frozenset(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"))


@dataclass(frozen=True)
class BatchNorm:
    """A batch norm of the output of a layer.

    `mean` and `variance` are what it normalizes by; None for those of the batch that a fused one computes by
    itself. `moving` are the moving mean and variance, with the factors of their updates, while it trains.
    """

    layer: Operation
    op: Operation
    output: Tensor
    gamma: Tensor | None
    beta: Tensor | None
    mean: Tensor | None
    variance: Tensor | None
    epsilon: Any
    moving: tuple[_Moving, _Moving] | None


@dataclass(frozen=True)
class _Moving:
    """A moving average, as it is read, and the factor of its update with the operation that takes it."""

    value: Tensor
    decay: Tensor
    update: Operation


def find(graph: Graph) -> Iterator[BatchNorm]:
    """The batch norms that directly follow a convolution or a product of matrices."""
    for op in list(graph.get_operations()):
        if op.type in _FUSED:
            found = _fused(op)
        elif op.type in ADDS:
            found = _of_parts(op)
        else:
            continue
        if found is not None and found.output.consumers():
            yield found


def _layer(tensor: Tensor) -> Operation | None:
    op = tensor.op
    if op.type == "Reshape" and op.inputs[0].op.type == "MatMul":
        op = op.inputs[0].op
    return op if op.type in LAYERS else None


def _moving(statistic: Tensor) -> _Moving | None:
    """The moving average that a statistic of the batch updates: variable - (variable - statistic) · decay."""
    for difference in statistic.consumers():
        if difference.type != "Sub" or difference.inputs[1] is not statistic:
            continue
        for product in difference.outputs[0].consumers():
            if product.type == "Mul":
                return _Moving(difference.inputs[0], product.inputs[1], product)
    return None


def _both(mean: Tensor, variance: Tensor) -> tuple[_Moving, _Moving] | None:
    moving = _moving(mean), _moving(variance)
    return None if moving[0] is None or moving[1] is None else (moving[0], moving[1])


def _reshaped(output: Tensor) -> Tensor | None:
    """The matrix that a batch norm makes of its output, perhaps after its updates."""
    for taker in output.consumers():
        if taker.type == "Reshape":
            return taker.outputs[0]
        if taker.type == "Identity" and (found := _reshaped(taker.outputs[0])) is not None:
            return found
    return None


def _fused(op: Operation) -> BatchNorm | None:
    layer = _layer(op.inputs[0])
    if layer is None:
        return None
    output = op.outputs[0]
    if layer.type == "MatMul":
        back = _reshaped(output)
        if back is None:
            return None
        output = back
    _, gamma, beta, mean, variance = op.inputs
    epsilon = op.get_attr("epsilon")
    if not op.get_attr("is_training"):
        return BatchNorm(layer, op, output, gamma, beta, mean, variance, epsilon, None)
    moving = _both(op.outputs[1], op.outputs[2])
    return BatchNorm(layer, op, output, gamma, beta, None, None, epsilon, moving)


def _of_parts(op: Operation) -> BatchNorm | None:
    """layer · factor + (beta - mean · factor), where the factor is rsqrt(variance + epsilon) · gamma."""
    scaled, shift = op.inputs[0].op, op.inputs[1].op
    if scaled.type != "Mul" or len(scaled.inputs) != 2:
        return None
    layer, factor = _layer(scaled.inputs[0]), scaled.inputs[1]
    if layer is None:
        return None
    gamma, beta, root = None, None, factor.op
    if root.type == "Mul":
        root, gamma = root.inputs[0].op, root.inputs[1]
    if root.type != "Rsqrt" or root.inputs[0].op.type not in ADDS:
        return None
    variance, epsilon = root.inputs[0].op.inputs
    product = shift
    if shift.type == "Sub":
        beta, product = shift.inputs[0], shift.inputs[1].op
    elif shift.type == "Neg":
        product = shift.inputs[0].op
    if product.type != "Mul" or factor not in tuple(product.inputs):
        return None
    mean = product.inputs[0] if product.inputs[1] is factor else product.inputs[1]
    value = static_value(epsilon)
    moving = _both(mean, variance)
    return BatchNorm(
        layer,
        op,
        op.outputs[0],
        gamma,
        beta,
        mean,
        variance,
        epsilon if value is None else float(value),
        moving,
    )
