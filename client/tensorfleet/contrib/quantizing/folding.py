"""Batch norms folded into the weights of the layers before them, as inference on integers computes them."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.graph_edits.copying import copy_operation
from tensorfleet.contrib.graph_edits.rerouting import reroute_ts
from tensorfleet.contrib.quantizing.batch_norms import BatchNorm, find
from tensorfleet.contrib.quantizing.steps import quantization_step
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.math.arithmetic import add, multiply, subtract, truediv
from tensorfleet.ops.math.comparison import greater_equal
from tensorfleet.ops.math.elementwise import reciprocal, rsqrt
from tensorfleet.ops.nn.norm import moments


def fold_batch_norms(graph: Graph, is_training: bool, freeze_delay: int | None = None) -> None:
    """Puts layers with folded weights in the place of layers and their batch norms.

    weights' = weights · gamma / √(variance + epsilon), bias' = beta - mean · gamma / √(variance + epsilon).

    To train, the weights are scaled by the moving variance, which changes slowly, so that their range for
    quantization does as well, and the output by what that differs from the variance of the batch.

    Args:
        freeze_delay: after how many steps the moving averages are left as they are, and normalize; None for
            never.
    """
    for norm in list(find(graph)):
        if is_training == (norm.moving is not None):
            _fold(graph, norm, freeze_delay)


def _fold(graph: Graph, norm: BatchNorm, freeze_delay: int | None) -> None:
    layer = norm.layer
    scope, slash, _ = layer.name.rpartition("/")
    prefix = scope + slash
    given = layer.outputs[0]
    channels = len(given.shape.as_list()) - 1
    with graph.as_default(), graph.name_scope(prefix or None):
        with graph.name_scope(f"{prefix}BatchNorm_Fold/"):
            mean, variance = norm.mean, norm.variance
            if mean is None or variance is None:
                # The outputs of the fused op have no gradients.
                mean, variance = moments(given, list(range(channels)))
            factor = rsqrt(variance + norm.epsilon)
            if norm.gamma is not None:
                factor = norm.gamma * factor
            shift = mean * factor
            beta = zeros_like(shift) if norm.beta is None else norm.beta
            bias = subtract(beta, shift, name="bias")
            scale: Any = None
            after: tuple[Any, Any] | None = None
            if norm.moving is not None:
                scale, *rest = _corrections(norm, mean, variance, freeze_delay)
                after = rest[0], rest[1]
        weights = layer.inputs[1]
        if scale is not None:
            weights = multiply(_for_weights(scale, layer), weights, name="correction_mult")
        weights = multiply(weights, _for_weights(factor, layer), name="mul_fold")
        output = _clone(graph, layer, weights)
        if after is not None:
            output = add(multiply(after[0], output, name="post_conv_mul"), after[1], name="correction_add")
        output = add(output, bias, name="add_fold")
    reroute_ts([output], [norm.output])


def _corrections(norm: BatchNorm, mean: Any, variance: Any, freeze_delay: int | None) -> tuple[Any, Any, Any]:
    """√(variance) of the batch over that of the moving average, and what the output is multiplied by and what
    is added to it, so that it is normalized by the batch, or once frozen by the moving averages."""
    assert norm.moving is not None
    moving_mean, moving_variance = norm.moving
    moving_root = rsqrt(moving_variance.value + norm.epsilon)
    root = rsqrt(variance + norm.epsilon)
    scale = identity(truediv(moving_root, root, name="scale_compute"), name="correction_scale")
    factor = reciprocal(scale, name="reciprocal_compute")
    if freeze_delay is None:
        return scale, factor, zeros_like(scale)
    offset = mean * root - moving_mean.value * moving_root
    if norm.gamma is not None:
        offset = norm.gamma * offset
    frozen = greater_equal(quantization_step(), freeze_delay, name="use_moving_average")
    for each in norm.moving:
        decay = each.decay
        kept = cond(frozen, lambda decay=decay: zeros_like(decay), lambda decay=decay: identity(decay))
        reroute_ts([kept], [decay], can_modify=[each.update])
    factor = cond(frozen, lambda: ones_like(factor), lambda: identity(factor), name="correction_recip")
    offset = cond(frozen, lambda: identity(offset), lambda: zeros_like(offset), name="correction_offset")
    return scale, factor, offset


def _for_weights(factor: Any, layer: Operation) -> Any:
    """The factors of the outputs, for the weights."""
    if layer.type != "DepthwiseConv2dNative":
        return factor
    _, _, channels, multiplier = layer.inputs[1].shape.as_list()
    return reshape(factor, [channels, multiplier])


def _clone(graph: Graph, layer: Operation, weights: Tensor) -> Tensor:
    """The layer with other weights."""
    name = graph.unique_name(f"{layer.name.rpartition('/')[2]}_Fold")
    return copy_operation(layer, name, graph, (layer.inputs[0], weights)).outputs[0]
