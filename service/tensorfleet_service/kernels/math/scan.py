"""Kernels of `tensorfleet.ops.math.scan`: running sums and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.common import SMALL_FLOATS, format_shape, invalid
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel


@kernel("Cumsum", "Cumprod")
def _scan(node: KernelNode) -> Kernel:
    xp = node.xp
    dtype = node.output_types[0]
    target = dtype.np
    wide = np.float32 if dtype in SMALL_FLOATS else target
    accumulate, neutral = (xp.cumsum, 0) if node.op == "Cumsum" else (xp.cumprod, 1)
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]

    def scan(x: Any, axis: Any) -> Any:
        if axis.ndim:
            raise invalid(f"ScanOp: axis must be a scalar, not {format_shape(axis.shape)}")
        rank = x.ndim
        i = int(axis)
        if not -rank <= i < rank:
            raise invalid(f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {i}")
        values = xp.flip(x, i) if reverse else x
        result = accumulate(values, axis=i, dtype=wide).astype(target, copy=False)
        if exclusive:
            shifted = xp.full(x.shape, neutral, target)
            head, tail = ([slice(None)] * rank for _ in range(2))
            head[i], tail[i] = slice(1, None), slice(None, -1)
            shifted[tuple(head)] = result[tuple(tail)]
            result = shifted
        return xp.flip(result, i) if reverse else result

    return scan
