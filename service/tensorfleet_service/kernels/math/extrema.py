"""Kernels of `tensorfleet.ops.math.extrema`: argmax and argmin."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text


@kernel("ArgMax", "ArgMin")
def _arg_extreme(node: KernelNode) -> Kernel:
    xp = node.xp
    target = node.output_types[0].np
    floating = node.input_types[0].is_floating
    search = xp.argmax if node.op == "ArgMax" else xp.argmin

    def arg_extreme(x: Any, dimension: Any) -> Any:
        if dimension.ndim:
            raise invalid(
                f"dim must be a scalar, but received tensor of shape: {shape_text(dimension.shape)}"
            )
        rank = x.ndim
        axis = int(dimension)
        if not -rank <= axis < rank:
            raise invalid(f"Expected dimension in the range [{-rank}, {rank}), but got {axis}")
        if not x.shape[axis]:
            raise invalid(f"Reduction axis {axis} is empty in shape {shape_text(x.shape)}")
        if floating:
            # NumPy takes the first NaN for the extreme; TensorFlow's comparisons pass over it.
            nans = xp.isnan(x)
            if xp is not np or nans.any():  # without waiting for a GPU to tell
                return _among_numbers(x, nans, axis)
        return search(x, axis).astype(target, copy=False)

    def _among_numbers(x: Any, nans: Any, axis: int) -> Any:
        worst = -xp.inf if node.op == "ArgMax" else xp.inf
        return search(xp.where(nans, x.dtype.type(worst), x), axis).astype(target, copy=False)

    return arg_extreme
