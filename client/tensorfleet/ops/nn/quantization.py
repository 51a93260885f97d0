"""Simulated quantization, `tf.fake_quant_with_min_max_args`, …; and ClipByValue."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims, merge
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, unchanged, with_rank, with_rank_at_least


def _with_scalars(node: RuleNode) -> list[Dims]:
    for bound in node.inputs[1:]:
        with_rank(bound.dims, 0)
    return unchanged(node)


def _with_channels(node: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(node.inputs[0].dims, 1)
    channels = None if dims is None else dims[-1]
    for bound in node.inputs[1:]:
        channels = merge_dim(channels, with_rank(bound.dims, 1)[0])
    return [None if dims is None else (*dims[:-1], channels)]


def _vars_gradient(node: RuleNode) -> list[Dims]:
    for bound in node.inputs[2:]:
        with_rank(bound.dims, 0)
    return [merge(node.inputs[0].dims, node.inputs[1].dims), (), ()]


def _channels_gradient(node: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(merge(node.inputs[0].dims, node.inputs[1].dims), 1)
    channels = None if dims is None else dims[-1]
    for bound in node.inputs[2:]:
        channels = merge_dim(channels, with_rank(bound.dims, 1)[0])
    return [None if dims is None else (*dims[:-1], channels), (channels,), (channels,)]


_BITS = ("num_bits: int = 8", "narrow_range: bool = false")
_RANGE = ("min: float = -6.0", "max: float = 6.0")
op(
    "FakeQuantWithMinMaxArgs(inputs: float32) -> (outputs: float32)",
    *_RANGE,
    *_BITS,
    shape=unchanged,
)
op(
    "FakeQuantWithMinMaxArgsGradient(gradients: float32, inputs: float32) -> (backprops: float32)",
    *_RANGE,
    *_BITS,
    shape=lambda node: [merge(node.inputs[0].dims, node.inputs[1].dims)],
)
op(
    "FakeQuantWithMinMaxVars(inputs: float32, min: float32, max: float32) -> (outputs: float32)",
    *_BITS,
    shape=_with_scalars,
)
op(
    "FakeQuantWithMinMaxVarsGradient(gradients: float32, inputs: float32, min: float32, max: float32) -> "
    "(backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32)",
    *_BITS,
    shape=_vars_gradient,
)
op(
    "FakeQuantWithMinMaxVarsPerChannel(inputs: float32, min: float32, max: float32) -> (outputs: float32)",
    *_BITS,
    shape=_with_channels,
)
op(
    "FakeQuantWithMinMaxVarsPerChannelGradient(gradients: float32, inputs: float32, min: float32, "
    "max: float32) -> (backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32)",
    *_BITS,
    shape=_channels_gradient,
)
op(
    "ClipByValue(t: T, clip_value_min: T, clip_value_max: T) -> (output: T)",
    "T: {number}",
    shape=unchanged,
)


def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`inputs` clipped to [min, max] and rounded to 2 ** num_bits steps (`tf.fake_quant_with_min_max_args`).

    The range is shifted a little, so that zero is one of the steps. float32.

    Args:
        narrow_range: use one step less, as for numbers from -127 to 127.
    """
    return apply_one(
        "FakeQuantWithMinMaxArgs",
        inputs,
        min=min,
        max=max,
        num_bits=num_bits,
        narrow_range=narrow_range,
        name=name,
    )


def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`gradients` where the input is in the range, else 0 (`tf.fake_quant_with_min_max_args_gradient`)."""
    return apply_one(
        "FakeQuantWithMinMaxArgsGradient",
        gradients,
        inputs,
        min=min,
        max=max,
        num_bits=num_bits,
        narrow_range=narrow_range,
        name=name,
    )


def fake_quant_with_min_max_vars(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """`fake_quant_with_min_max_args` whose limits are scalar tensors, which get gradients
    (`tf.fake_quant_with_min_max_vars`)."""
    return apply_one(
        "FakeQuantWithMinMaxVars",
        inputs,
        min,
        max,
        num_bits=num_bits,
        narrow_range=narrow_range,
        name=name,
    )


def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """The gradients of the inputs, min and max (`tf.fake_quant_with_min_max_vars_gradient`)."""
    return apply_op(
        "FakeQuantWithMinMaxVarsGradient",
        gradients,
        inputs,
        min,
        max,
        num_bits=num_bits,
        narrow_range=narrow_range,
        name=name,
    )


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """`fake_quant_with_min_max_vars` with limits for each channel, the last dimension
    (`tf.fake_quant_with_min_max_vars_per_channel`)."""
    return apply_one(
        "FakeQuantWithMinMaxVarsPerChannel",
        inputs,
        min,
        max,
        num_bits=num_bits,
        narrow_range=narrow_range,
        name=name,
    )


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """The gradients of the inputs, min and max
    (`tf.fake_quant_with_min_max_vars_per_channel_gradient`)."""
    return apply_op(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        gradients,
        inputs,
        min,
        max,
        num_bits=num_bits,
        narrow_range=narrow_range,
        name=name,
    )
