"""Kernels of `tensorfleet.ops.array.batching`."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import (
    array_kernel,
    array_module,
    host_array,
    ints,
    invalid,
    shape_text,
)


def _checked(x: Any, block: list[int], pads: list[list[int]], what: str) -> None:
    if x.ndim < 1 + len(block):
        raise invalid(f"input rank should be >= {1 + len(block)} instead of {x.ndim}")
    if any(size < 1 for size in block):
        raise invalid(f"All values in block_shape must be positive, got {block}.")
    if math.prod(block) >= 2**31:
        raise invalid(f"Product of block sizes must be less than 2^31, got {block}.")
    if any(number < 0 for pair in pads for number in pair):
        raise invalid(f"{what} must be non-negative")


def space_to_batch(xp: Any, x: Any, block: list[int], pads: list[list[int]]) -> Any:
    _checked(x, block, pads, "Paddings")
    count = len(block)
    rest = x.shape[count + 1 :]
    if any(a or b for a, b in pads):
        sizes = [size + a + b for size, (a, b) in zip(x.shape[1:], pads, strict=False)]
        wide = xp.zeros((x.shape[0], *sizes, *rest), x.dtype)
        inside = tuple(slice(a, a + size) for size, (a, _) in zip(x.shape[1:], pads, strict=False))
        wide[(slice(None), *inside)] = x
        x = wide
    split: list[int] = []
    for i, size in enumerate(block):
        if x.shape[i + 1] % size:
            raise invalid(f"padded_shape[{i}]={x.shape[i + 1]} is not divisible by block_shape[{i}]={size}")
        split += [x.shape[i + 1] // size, size]
    parts = x.reshape(x.shape[0], *split, *rest)
    blocks, places = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    parts = parts.transpose(*blocks, 0, *places, *range(2 * count + 1, parts.ndim))
    return parts.reshape(x.shape[0] * math.prod(block), *split[::2], *rest)


def batch_to_space(xp: Any, x: Any, block: list[int], crops: list[list[int]]) -> Any:
    _checked(x, block, crops, "Crops")
    count, parts = len(block), math.prod(block)
    if x.shape[0] % parts:
        raise invalid(
            f"Input batch dimension ({x.shape[0]}) is not divisible by product of block sizes ({parts})"
        )
    batch, space, rest = x.shape[0] // parts, x.shape[1 : count + 1], x.shape[count + 1 :]
    wide = x.reshape(*block, batch, *space, *rest)
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    wide = wide.transpose(*order, *range(2 * count + 1, wide.ndim))
    sizes = [a * b for a, b in zip(space, block, strict=True)]
    kept = []
    for i, (size, (a, b)) in enumerate(zip(sizes, crops, strict=True)):
        if a + b > size:
            raise invalid(f"cropped_shape[{i}]={size - a - b} must be non-negative")
        kept.append(slice(a, size - b))
    return wide.reshape(batch, *sizes, *rest)[(slice(None), *kept)]


@array_kernel("SpaceToBatch", "BatchToSpace", "SpaceToBatchND", "BatchToSpaceND")
def _batching(node: KernelNode) -> Kernel:
    function = space_to_batch if node.op.startswith("Space") else batch_to_space
    square = None if node.op.endswith("ND") else [node.attrs["block_size"]] * 2
    what = "paddings" if function is space_to_batch else "crops"

    def run(x: Any, *arguments: Any) -> Any:
        values = [host_array(value) for value in arguments]
        if square is None:
            if values[0].ndim != 1:
                raise invalid(f"block_shape rank should be 1 instead of {values[0].ndim}")
            block = ints(values[0])
        else:
            block = square
            if x.ndim != 4:
                raise invalid(f"Input rank should be: 4 instead of: {x.ndim}")
        if values[-1].shape != (len(block), 2):
            raise invalid(
                f"{what} should have shape [{len(block)}, 2] instead of {shape_text(values[-1].shape)}"
            )
        return function(array_module(node.xp, x), x, block, ints(values[-1]))

    return run
