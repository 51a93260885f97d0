"""Convolution of images and volumes by one op, `tf.conv`; and the gradients of `conv2d` by what they have
the shape of."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.nn.windows import (
    DATA_FORMAT,
    DILATIONS,
    EXPLICIT_PADDINGS,
    PADDING,
    STRIDES,
    conv_windows,
)
from tensorfleet.ops.shape_rules import with_rank, with_rank_at_least

_FLOATS = "T: {float16, bfloat16, float32, float64}"
_WITH_INT = "T: {float16, bfloat16, float32, float64, int32}"


def _conv_shape(node: RuleNode) -> list[Dims]:
    weights = node.inputs[1].dims
    outer = node.attrs["batch_dims"]
    dims = node.inputs[0].dims
    if weights is None or dims is None:
        return [None]
    if len(weights) not in (4, 5):
        raise ValueError(f"Filter tensor must be rank 4 or 5, but got: {len(weights)}")
    if outer < 0 or len(with_rank_at_least(dims, outer) or ()) != len(weights) - 1 + outer:
        raise ValueError(
            f"Input tensor must be rank {len(weights) - 1 + outer} for a filter of rank {len(weights)} and "
            f"batch_dims {outer}, but got: {len(dims)}"
        )
    windows = conv_windows(node.attrs, len(weights))
    images = (None, *dims[outer:])
    depth, filter_depth, groups = images[windows.channel_axis], weights[-2], node.attrs["groups"]
    if groups <= 0:
        raise ValueError(f"groups must be positive, got {groups}")
    if depth is not None and filter_depth is not None and depth != filter_depth * groups:
        raise ValueError(
            f"Input depth ({depth}) divided by the input depth of the filter ({filter_depth}) does not match "
            f"the groups parameter ({groups})"
        )
    space = [windows.count(i, images[a], weights[i]) for i, a in enumerate(windows.space_axes)]
    shape = windows.shape(None, space, weights[-1])
    return [None if shape is None else (*dims[:outer], *shape[1:])]


def _like_input(node: RuleNode) -> list[Dims]:
    return [with_rank(node.inputs[0].dims, 4)]


def _like_filter(node: RuleNode) -> list[Dims]:
    return [with_rank(node.inputs[1].dims, 4)]


op(
    "Conv(input: T, filter: T) -> (output: T)",
    _WITH_INT,
    STRIDES,
    PADDING,
    EXPLICIT_PADDINGS,
    'data_format: {"CHANNELS_FIRST", "CHANNELS_LAST"} = "CHANNELS_LAST"',
    "dilations: list(int) = []",
    "batch_dims: int = 1",
    "groups: int = 1",
    shape=_conv_shape,
)
for _name, _types, _shape in (("Filter", _FLOATS, _like_filter), ("Input", _WITH_INT, _like_input)):
    op(
        f"Conv2DBackprop{_name}V2(input: T, filter: T, out_backprop: T) -> (output: T)",
        _types,
        STRIDES,
        "use_cudnn_on_gpu: bool = true",
        PADDING,
        EXPLICIT_PADDINGS,
        DATA_FORMAT,
        DILATIONS,
        shape=_shape,
    )


def conv(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    explicit_paddings: Any = [],  # noqa: B006 - TensorFlow's default
    data_format: str = "CHANNELS_LAST",
    dilations: Any = [],  # noqa: B006 - TensorFlow's default
    batch_dims: int = 1,
    groups: int = 1,
    name: str | None = None,
) -> Tensor:
    """Convolution over two or three dimensions, as many as the filter has (`tf.conv`). It has no gradient.

    Args:
        input: [batch..., *space, channels], or [batch..., channels, *space] for "CHANNELS_FIRST".
        filter: [*window, channels in / groups, channels out].
        strides, dilations: a number for each dimension of space, and 1 for batch and channels.
        padding: "SAME", "VALID", or "EXPLICIT" with `explicit_paddings`, (before, after) for each dimension.
        batch_dims: how many dimensions are of the batch.
        groups: into how many groups the channels are divided.
    """
    return apply_one(
        "Conv",
        input,
        filter,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
        batch_dims=batch_dims,
        groups=groups,
        name=name,
    )


def conv2d_backprop_filter_v2(
    input: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Any = [],  # noqa: B006 - TensorFlow's default
    data_format: str = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` for its filter, of the shape of `filter` (`tf.conv2d_backprop_filter_v2`)."""
    return apply_one(
        "Conv2DBackpropFilterV2",
        input,
        filter,
        out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


def conv2d_backprop_input_v2(
    input: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Any = [],  # noqa: B006 - TensorFlow's default
    data_format: str = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` for its images, of the shape of `input` (`tf.conv2d_backprop_input_v2`)."""
    return apply_one(
        "Conv2DBackpropInputV2",
        input,
        filter,
        out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )
