"""Kernels of `tensorfleet.ops.nn.quantization`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text

F32 = np.float32


def _levels(node: KernelNode) -> tuple[Any, Any]:
    """The least and the greatest quantized number, as float32."""
    bits = node.attrs["num_bits"]
    if not 2 <= bits <= 16:
        raise invalid(f"num_bits must be between 2 and 16, inclusive, got {bits}")
    return F32(1 if node.attrs["narrow_range"] else 0), F32(2**bits - 1)


def _nudged(xp: Any, low: Any, high: Any, levels: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """The range moved so that zero is a step of it: (least, greatest, size of a step)."""
    first, last = levels
    with np.errstate(divide="ignore", invalid="ignore"):
        step = (high - low) / (last - first)
        zero = first - low / step
        # Halves are rounded away from zero, and zero's place is not negative.
        zero = xp.where(zero < first, first, xp.where(zero > last, last, xp.floor(zero + F32(0.5))))
        return (first - zero) * step, (last - zero) * step, step


def _rounded(xp: Any, x: Any, low: Any, high: Any, levels: tuple[Any, Any]) -> Any:
    least, greatest, step = _nudged(xp, low, high, levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = F32(1) / step
        zero = xp.floor(F32(0.5) - least * inverse)
        places = (xp.minimum(xp.maximum(x, least), greatest) - least) * inverse - zero
        result = xp.floor(places + F32(0.5)) * step
    return xp.where((low == 0) & (high == 0), F32(0), result).astype(F32)


def _check_bounds(x: Any, low: Any, high: Any, per_channel: bool) -> None:
    if not per_channel:
        if low.ndim or high.ndim:
            raise invalid(f"`min` must be rank 0 but is rank {low.ndim or high.ndim}")
        return
    if x.ndim < 1 or low.shape != x.shape[-1:] or high.shape != x.shape[-1:]:
        raise invalid(
            f"min and max must have a number for each channel: {shape_text(low.shape)} and "
            f"{shape_text(high.shape)} for inputs of shape {shape_text(x.shape)}"
        )


@kernel("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def _fake_quant(node: KernelNode) -> Kernel:
    xp, levels = node.xp, _levels(node)
    if node.op.endswith("Args"):
        bounds = _fixed_bounds(node)
        return lambda x: _rounded(xp, x, *bounds, levels)

    def fake_quant(x: Any, low: Any, high: Any) -> Any:
        _check_bounds(x, low, high, node.op.endswith("Channel"))
        return _rounded(xp, x, low, high, levels)

    return fake_quant


def _fixed_bounds(node: KernelNode) -> tuple[Any, Any]:
    low, high = F32(node.attrs["min"]), F32(node.attrs["max"])
    if low >= high:
        raise invalid(f"min has to be smaller than max, was: {low:g} >= {high:g}")
    return low, high


@kernel("FakeQuantWithMinMaxArgsGradient")
def _args_gradient(node: KernelNode) -> Kernel:
    xp = node.xp
    least, greatest, _ = _nudged(xp, *_fixed_bounds(node), _levels(node))

    def gradient(grad: Any, x: Any) -> Any:
        _check_equal(grad, x)
        return xp.where((x >= least) & (x <= greatest), grad, F32(0)).astype(F32)

    return gradient


def _check_equal(grad: Any, x: Any) -> None:
    if grad.shape != x.shape:
        raise invalid("gradient and input must be the same size")


@kernel("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient")
def _vars_gradient(node: KernelNode) -> Kernel:
    xp, levels = node.xp, _levels(node)
    per_channel = node.op.endswith("ChannelGradient")

    def gradient(grad: Any, x: Any, low: Any, high: Any) -> Any:
        _check_equal(grad, x)
        _check_bounds(x, low, high, per_channel)
        least, greatest, _ = _nudged(xp, low, high, levels)
        empty = (low == 0) & (high == 0)
        below = (x < least) & ~empty
        above = (x > greatest) & ~empty
        axes = tuple(range(x.ndim - 1)) if per_channel else None
        inside = xp.where(below | above, F32(0), grad)
        sums = (xp.where(part, grad, F32(0)).sum(axis=axes, dtype=F32) for part in (below, above))
        return (inside.astype(F32), *sums)

    return gradient


@kernel("ClipByValue")
def _clip(node: KernelNode) -> Kernel:
    xp = node.xp

    def clip(x: Any, low: Any, high: Any) -> Any:
        for bound in (low, high):
            if bound.ndim and bound.shape != x.shape:
                raise invalid(
                    "clip_value_min and clip_value_max must be either of the same shape as input, or a "
                    f"scalar. input shape: {shape_text(x.shape)}clip_value_min shape: "
                    f"{shape_text(low.shape)}clip_value_max shape: {shape_text(high.shape)}"
                )
        return xp.maximum(xp.minimum(x, high), low)

    return clip
