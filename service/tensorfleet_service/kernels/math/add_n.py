"""Kernels of `tensorfleet.ops.math.add_n`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from typing import Any

from tensorfleet.core import dtypes, errors
from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.native import takes
from tensorfleet_service.kernels import variants
from tensorfleet_service.kernels.math.compiled import FULL, CompiledSteps, compile_steps
from tensorfleet_service.kernels.math.fusion import WORTH_COMPILED
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text

_AT_ONCE = 16


@cache
def _sum_of(count: int) -> CompiledSteps | None:
    """The compiled sum of `count` arrays, in their order."""
    steps = [("add", "o0", ("x0", "x1")), *(("add", "o0", ("o0", f"x{i}")) for i in range(2, count))]
    return compile_steps(steps, {f"x{i}": FULL for i in range(count)}, ["o0"], 0)


def _compiled_sum(arrays: Sequence[Any]) -> Any:
    """The sum of arrays of one shape, `_AT_ONCE` of them in a pass; None without compiled kernels."""
    total, rest = arrays[0], arrays[1:]
    while rest:
        now, rest = (total, *rest[: _AT_ONCE - 1]), rest[_AT_ONCE - 1 :]
        steps = _sum_of(len(now))
        if steps is None:
            return None
        total = empty(now[0].shape, now[0].dtype)
        steps.run(now, (total,), total.size, 1)
    return total


@kernel("AddN", "AccumulateNV2")
def _add_n(node: KernelNode) -> Kernel:
    add = node.xp.add
    if node.output_types[0] is dtypes.variant:
        return lambda first, *rest: reduce(variants.plus, rest, first)

    def mismatch(first: Any, *rest: Any) -> errors.OpError:
        i, other = next((i, x) for i, x in enumerate(rest, 1) if x.shape != first.shape)
        if node.op == "AccumulateNV2":
            return invalid(
                f"Parameters and update must be the same size: {shape_text(first.shape)} and, in input {i}, "
                f"{shape_text(other.shape)}"
            )
        return invalid(
            f"Inputs to operation {node.name} of type {node.op} must have the same size and shape.  "
            f"Input 0: {shape_text(first.shape)} != input {i}: {shape_text(other.shape)}"
        )

    def add_n(first: Any, *rest: Any) -> Any:
        shape = first.shape
        for x in rest:
            if x.shape != shape:
                raise mismatch(first, *rest)
        if not rest:
            return first
        if takes(first, *rest, least=None if len(rest) > 1 else WORTH_COMPILED):
            return _compiled_sum((first, *rest))
        total = first + rest[0]
        if len(rest) == 1:
            return total
        if not shape:
            for x in rest[1:]:
                total = total + x
            return total
        for x in rest[1:]:
            add(total, x, total)  # in place: no array is allocated for each addition
        return total

    return add_n
