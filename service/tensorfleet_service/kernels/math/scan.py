"""Kernels of `tensorfleet.ops.math.scan`: running sums and products, also of exponentials."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step


def _log_sums(xp: ModuleType, lowest: Any, x: Any, axis: int, dtype: Any) -> Any:
    """log(cumsum(exp(x))), in passes that each add the sums that end 1, 2, 4, … places before.

    As in TensorFlow, the logarithm of a sum of nothing or of zeros is the lowest number, not minus infinity.
    """
    result = xp.maximum(xp.moveaxis(xp.asarray(x, dtype), axis, 0), lowest)
    step = 1
    while step < len(result):
        check_step()
        result[step:] = xp.logaddexp(result[step:], result[:-step])
        step *= 2
    return xp.moveaxis(result, 0, axis)


def _accumulated(xp: ModuleType, name: str, x: Any, axis: int, dtype: Any) -> Any:
    if xp is np:
        return unlocked.accumulate(getattr(np, name), x, axis, dtype)
    return (xp.cumsum if name == "add" else xp.cumprod)(x, axis=axis, dtype=dtype)


@kernel("Cumsum", "Cumprod", "CumulativeLogsumexp")
def _scan(node: KernelNode) -> Kernel:
    xp = node.xp
    dtype = node.output_types[0]
    target = dtype.np
    wide = np.float32 if dtype in SMALL_FLOATS else target
    accumulate, neutral = {
        "Cumsum": (partial(_accumulated, xp, "add"), 0),
        "Cumprod": (partial(_accumulated, xp, "multiply"), 1),
        "CumulativeLogsumexp": (partial(_log_sums, xp, dtype.min), dtype.min),
    }[node.op]
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]

    def scan(x: Any, axis: Any) -> Any:
        if axis.ndim:
            raise invalid(f"ScanOp: axis must be a scalar, not {shape_text(axis.shape)}")
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
