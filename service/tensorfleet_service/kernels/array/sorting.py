"""Kernels of `tensorfleet.ops.array.sorting`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import array_kernel, invalid


@array_kernel("LowerBound", "UpperBound")
def _bound(node: KernelNode) -> Kernel:
    xp, target = node.xp, node.output_types[0].np
    side = "left" if node.op == "LowerBound" else "right"

    def bound(rows: Any, values: Any) -> Any:
        if rows.ndim != 2 or values.ndim != 2:
            raise invalid(
                "sorted input argument and values must be a matrix"
                if rows.ndim != 2
                else "values argument must be a matrix"
            )
        if len(rows) != len(values):
            raise invalid("Leading dim_size of both tensors must match.")
        if rows.shape[1] > np.iinfo(np.int32).max and target == np.int32:
            raise invalid("trim size must be less than 2^31-1 for int32 results")
        result = xp.empty(values.shape, target)
        for i in range(len(rows)):
            result[i] = xp.searchsorted(rows[i], values[i], side=side)
        return result

    return bound
