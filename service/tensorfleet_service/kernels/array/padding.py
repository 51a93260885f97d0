"""Repeating and padding: Tile, Pad, MirrorPad."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, string_arrays
from tensorfleet.wire.frames import MAX_RANK
from tensorfleet_service.kernels.array.shaping import spread
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    array_kernel,
    ints,
    invalid,
    shape_text,
)


def _tiled(xp: Any, x: Any, counts: list[int]) -> Any:
    """Like `numpy.tile`, but without holding the interpreter's lock while it copies."""
    if 2 * x.ndim > MAX_RANK:
        return xp.tile(x, counts)
    rows = x.reshape([n for size in x.shape for n in (1, size)])
    repeated = xp.broadcast_to(
        rows, [n for count, size in zip(counts, x.shape, strict=True) for n in (count, size)]
    )
    sizes = [count * size for count, size in zip(counts, x.shape, strict=True)]
    return repeated.copy().reshape(sizes)


@array_kernel("Tile")
def tile(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(x: Any, multiples: Any) -> Any:
        if multiples.ndim != 1:
            raise invalid(f"Expected multiples to be 1-D, but got shape {shape_text(multiples.shape)}")
        counts = ints(multiples)
        if len(counts) != x.ndim:
            raise invalid(
                f"Expected multiples argument to be a vector of length {x.ndim} but got length "
                f"{multiples.size}"
            )
        for i, count in enumerate(counts):
            if count < 0:
                raise invalid(f"Expected multiples[{i}] >= 0, but got {count}")
        if not counts:
            return x
        if all(d == 1 or count == 1 for d, count in zip(x.shape, counts, strict=True)):
            # Only single elements are repeated, as by gradients of sums: no need to copy block by block.
            return spread(xp, x, [d * count for d, count in zip(x.shape, counts, strict=True)])
        if x.dtype == object and x.size * math.prod(counts) >= string_arrays.LARGE:
            return string_arrays.moved(lambda numbers: _tiled(xp, numbers, counts), (x,))
        return _tiled(xp, x, counts)

    return run


@array_kernel("Pad")
def pad(node: KernelNode) -> Kernel:
    dtype = node.output_types[0]
    zero = b"" if dtype is dtypes.string else np.zeros((), dtype.np)[()]
    padded = _pad(node)
    return lambda x, paddings: padded(x, paddings, zero)


@array_kernel("PadV2")
def pad_v2(node: KernelNode) -> Kernel:
    padded = _pad(node)

    def run(x: Any, paddings: Any, constant_values: Any) -> Any:
        if constant_values.ndim:
            raise invalid(f"constant_values must be a scalar. Found: {shape_text(constant_values.shape)}")
        return padded(x, paddings, constant_values)

    return run


def _pad(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0].np

    def run(x: Any, paddings: Any, value: Any) -> Any:
        pairs = checked_paddings(x, paddings)
        sizes = [before + d + after for (before, after), d in zip(pairs, x.shape, strict=True)]
        result = xp.full(sizes, value, dtype)
        inside = tuple(slice(before, before + d) for (before, _), d in zip(pairs, x.shape, strict=True))
        # Without the ellipsis a string of rank 0 would become an array inside of the array.
        result[*inside, ...] = x
        return result

    return run


def checked_paddings(
    x: Any, paddings: Any, negative: str = "Paddings must be non-negative: {} {}"
) -> list[list[int]]:
    """[before, after] of each dimension. Raises InvalidArgumentError."""
    if paddings.ndim != 2 or paddings.shape[1] != 2:
        raise invalid(f"paddings must be a matrix with 2 columns: {shape_text(paddings.shape)}")
    if paddings.shape[0] != x.ndim:
        raise invalid(
            f"The first dimension of paddings must be the rank of inputs{shape_text(paddings.shape)} "
            f"{shape_text(x.shape)}"
        )
    pairs: list[list[int]] = ints(paddings)
    for before, after in pairs:
        if before < 0 or after < 0:
            raise invalid(negative.format(before, after))
    return pairs


@array_kernel("MirrorPad")
def mirror_pad(node: KernelNode) -> Kernel:
    xp, reflect = node.xp, node.attrs["mode"] == b"REFLECT"
    mode = "reflect" if reflect else "symmetric"

    def run(x: Any, paddings: Any) -> Any:
        pairs = checked_paddings(x, paddings, "paddings must be non-negative: {} {}")
        for (before, after), size in zip(pairs, x.shape, strict=True):
            if before > size - reflect or after > size - reflect:
                bound, fault = (
                    ("less than", "not less than") if reflect else ("no greater than", "greater than")
                )
                raise invalid(
                    f"paddings must be {bound} the dimension size: {before}, {after} {fault} {size}"
                )
        return xp.pad(x, pairs, mode) if pairs else x

    return run


@kernel("MirrorPadGrad")
def mirror_pad_grad(node: KernelNode) -> Kernel:
    """The gradient of MirrorPad: what lies in the padding is added to the elements it mirrors."""
    skip = int(node.attrs["mode"] == b"REFLECT")

    def run(x: Any, paddings: Any) -> Any:
        pairs = checked_paddings(x, paddings, "Paddings must be non-negative: {}, {}")
        for axis, (before, after) in enumerate(pairs):
            x = x.swapaxes(0, axis)
            size = x.shape[0] - before - after
            if size <= 0:
                raise invalid(
                    f"Total paddings must be less than the input dimension size: {before + after} was not "
                    f"less than {x.shape[0]}"
                )
            if size < skip + max(before, after):
                bound, fault = ("less than", "not less than") if skip else ("no greater than", "greater than")
                raise invalid(
                    f"paddings must be {bound} the output dimension size: {before}, {after} {fault} {size}"
                )
            inner = x[before : before + size].copy()
            inner[skip : skip + before] += x[:before][::-1]
            inner[size - skip - after : size - skip] += x[before + size :][::-1]
            x = inner.swapaxes(0, axis)
        return x

    return run
