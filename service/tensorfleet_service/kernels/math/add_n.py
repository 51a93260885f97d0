"""Kernels of `tensorfleet.ops.math.add_n`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import errors
from tensorfleet_service.kernels.common import format_shape, invalid
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel


@kernel("AddN", "AccumulateNV2")
def _add_n(node: KernelNode) -> Kernel:
    add = node.xp.add

    def mismatch(first: Any, *rest: Any) -> errors.OpError:
        i, other = next((i, x) for i, x in enumerate(rest, 1) if x.shape != first.shape)
        return invalid(
            f"Inputs to operation {node.name} of type {node.op} must have the same size and shape.  "
            f"Input 0: {format_shape(first.shape)} != input {i}: {format_shape(other.shape)}"
        )

    def add_n(first: Any, *rest: Any) -> Any:
        shape = first.shape
        for x in rest:
            if x.shape != shape:
                raise mismatch(first, *rest)
        if not rest:
            return first
        total = first + rest[0]
        if len(rest) == 1:
            return total
        if not shape:
            for x in rest[1:]:
                total = total + x
            return total
        for x in rest[1:]:
            add(total, x, total)  # the total is ours: no array is made for each addition
        return total

    return add_n
