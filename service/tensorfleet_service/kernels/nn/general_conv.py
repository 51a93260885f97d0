"""Kernels of `tensorfleet.ops.nn.general_conv`, by those of convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.ops.nn.windows import conv_windows
from tensorfleet_service.kernels.nn.conv import (
    compute_dtype,
    convolution_backprop_filter,
    convolution_backprop_input,
    grouped_forward,
)
from tensorfleet_service.kernels.nn.patches import Geometry, as_formatted, channels_last
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text


@kernel("Conv")
def conv(node: KernelNode) -> Kernel:
    xp, attrs = node.xp, node.attrs
    dtype, inner = node.output_types[0].np, compute_dtype(node.output_types[0])
    outer, groups = attrs["batch_dims"], attrs["groups"]

    def run(images: Any, weights: Any) -> Any:
        if weights.ndim not in (4, 5) or outer < 0 or images.ndim != weights.ndim - 1 + outer:
            raise invalid(
                f"Conv takes a filter of rank 4 or 5, and an input of its rank with {outer} dimensions of "
                f"the batch; got {shape_text(images.shape)} and {shape_text(weights.shape)}"
            )
        try:
            windows = conv_windows(attrs, weights.ndim)
        except ValueError as e:
            raise invalid(str(e)) from None
        batch = images.shape[:outer]
        x = images.reshape(int(np.prod(batch, dtype=np.int64)), *images.shape[outer:])
        depth = x.shape[windows.channel_axis]
        if groups <= 0 or depth != weights.shape[-2] * groups:
            raise invalid(
                f"Input depth ({depth}) divided by the input depth of the filter ({weights.shape[-2]}) does "
                f"not match the groups parameter ({groups})"
            )
        x = channels_last(xp, x, windows).astype(inner, copy=False)
        geometry = Geometry(windows, x.shape[1:-1], weights.shape[:-2])
        out = as_formatted(xp, grouped_forward(xp, x, weights.astype(inner, copy=False), geometry), windows)
        return out.reshape(*batch, *out.shape[1:]).astype(dtype, copy=False)

    return run


@kernel("Conv2DBackpropInputV2")
def backprop_input_v2(node: KernelNode) -> Kernel:
    run: Any = convolution_backprop_input(node)
    return lambda images, weights, gradient: run(np.array(images.shape, np.int32), weights, gradient)


@kernel("Conv2DBackpropFilterV2")
def backprop_filter_v2(node: KernelNode) -> Kernel:
    run: Any = convolution_backprop_filter(node)
    return lambda images, weights, gradient: run(images, np.array(weights.shape, np.int32), gradient)
