"""Kernels of `tensorfleet.ops.nn.fractional_pool`."""

from __future__ import annotations

import itertools
import math
import secrets
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.state import philox


def _double(stream: philox.Stream) -> float:
    """A number in [0, 1), from the stream's next two."""
    numbers = stream.reserve(1).numbers(1)[0].tolist()
    bits = (numbers[0] & 0xFFFFF) << 32 | numbers[1] | 1023 << 52
    return float(np.uint64(bits).view(np.float64)) - 1.0


def _starts(size: int, count: int, stream: philox.Stream, pseudo_random: bool) -> Any:
    """The starts of windows, and the end: count + 1 numbers from 0 to size."""
    least = size // count
    if pseudo_random:
        alpha = size / count
        # Windows at either end are no more than one greater or smaller than the others.
        limit = min((least + 2) / alpha - 1, (size + 1 - least) / alpha - (count - 1))
        drawn = _double(stream) * limit
        return np.array([0, *(math.ceil(alpha * (i + drawn)) - 1 for i in range(1, count)), size], np.int64)
    sizes = [least + 1] * (size % count) + [least] * (count - size % count)
    if size % count:
        numbers = stream.reserve(-(-count // 4)).numbers(-(-count // 4)).reshape(-1).tolist()
        for i in range(count - 1):
            j = i + numbers[i] % (count - i)
            sizes[i], sizes[j] = sizes[j], sizes[i]
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def _ends(starts: Any, overlapping: bool) -> list[tuple[int, int]]:
    numbers = starts.tolist()
    size = numbers[-1]
    return [(a, min(b + 1, size) if overlapping else b) for a, b in itertools.pairwise(numbers)]


@kernel("FractionalMaxPool", "FractionalAvgPool")
def pool(node: KernelNode) -> Kernel:
    xp, attrs = node.xp, node.attrs
    ratio, overlapping, is_max = attrs["pooling_ratio"], attrs["overlapping"], "Max" in node.op
    seeds = (attrs["seed"], attrs["seed2"])
    if len(ratio) != 4:
        raise invalid("pooling_ratio field must specify 4 dimensions")
    for factor in ratio:
        if factor < 1:
            raise invalid(f"pooling_ratio cannot be smaller than 1, got: {factor}")
    if ratio[0] != 1 or ratio[3] != 1:
        raise errors.UnimplementedError(
            None, None, "Fractional pooling is not yet supported on the batch or channel dimension."
        )
    if not attrs["deterministic"] and any(seeds):
        raise invalid("Both seed and seed2 should be 0 if deterministic is false.")

    def run(images: Any) -> Any:
        if images.ndim != 4:
            raise invalid("tensor_in must be 4-dimensional")
        sizes = [math.floor(size / factor) for size, factor in zip(images.shape, ratio, strict=True)]
        for size in sizes:
            if size <= 0:
                raise invalid(f"The output of {shape_text(images.shape)} would be empty")
        drawn = seeds if any(seeds) else (secrets.randbits(63), secrets.randbits(63))
        stream = philox.seeded_stream(*drawn)
        rows, columns = (
            _starts(images.shape[axis], sizes[axis], stream, attrs["pseudo_random"]) for axis in (1, 2)
        )
        result = xp.empty((images.shape[0], sizes[1], sizes[2], images.shape[3]), images.dtype)
        for i, (top, bottom) in enumerate(_ends(rows, overlapping)):
            for j, (left, right) in enumerate(_ends(columns, overlapping)):
                window = images[:, top:bottom, left:right]
                if is_max:
                    result[:, i, j] = window.max((1, 2))
                else:
                    result[:, i, j] = _mean(
                        window.sum((1, 2), dtype=window.dtype), (bottom - top) * (right - left)
                    )
        return result, rows, columns

    return run


def _mean(total: Any, count: int) -> Any:
    if total.dtype.kind == "i":
        return (np.sign(total) * (abs(total) // count)).astype(total.dtype)
    return total / total.dtype.type(count)


def _check(starts: Any, name: str, count: int, size: int) -> None:
    if starts.ndim != 1 or len(starts) != count + 1:
        raise invalid(f"{name} must have {count + 1} elements, got shape {shape_text(starts.shape)}")
    numbers = starts.tolist()
    if numbers[0] < 0 or numbers[-1] > size or any(a > b for a, b in itertools.pairwise(numbers)):
        raise invalid(f"{name} must grow from 0 to {size}, got {numbers}")


@kernel("FractionalMaxPoolGrad")
def max_pool_grad(node: KernelNode) -> Kernel:
    xp, overlapping = node.xp, node.attrs["overlapping"]

    def run(images: Any, pooled: Any, gradient: Any, rows: Any, columns: Any) -> Any:
        if images.ndim != 4 or pooled.ndim != 4 or gradient.shape != pooled.shape:
            raise invalid(
                "orig_input, orig_output and out_backprop must be 4-dimensional, the last two alike"
            )
        _check(rows, "row_pooling_sequence", pooled.shape[1], images.shape[1])
        _check(columns, "col_pooling_sequence", pooled.shape[2], images.shape[2])
        result = xp.zeros_like(images)
        batch, channel = xp.arange(images.shape[0])[:, None], xp.arange(images.shape[3])[None]
        for i, (top, bottom) in enumerate(_ends(rows, overlapping)):
            for j, (left, right) in enumerate(_ends(columns, overlapping)):
                window = images[:, top:bottom, left:right]
                width = window.shape[2]
                # The first of equal maxima gets the gradient.
                place = window.reshape(len(images), -1, images.shape[3]).argmax(1)
                result[batch, top + place // width, left + place % width, channel] += gradient[:, i, j]
        return result

    return run


@kernel("FractionalAvgPoolGrad")
def average_pool_grad(node: KernelNode) -> Kernel:
    xp, overlapping = node.xp, node.attrs["overlapping"]

    def run(shape: Any, gradient: Any, rows: Any, columns: Any) -> Any:
        if shape.shape != (4,) or gradient.ndim != 4:
            raise invalid("orig_input_tensor_shape must have 4 elements, and out_backprop 4 dimensions")
        sizes = shape.tolist()
        if min(sizes) < 0 or sizes[0] != gradient.shape[0] or sizes[3] != gradient.shape[3]:
            raise invalid(f"A gradient of shape {shape_text(gradient.shape)} is none of {sizes}")
        _check(rows, "row_pooling_sequence", gradient.shape[1], sizes[1])
        _check(columns, "col_pooling_sequence", gradient.shape[2], sizes[2])
        # As elsewhere, sums of integers are made in double precision and rounded once.
        result = xp.zeros(sizes, np.float64)
        for i, (top, bottom) in enumerate(_ends(rows, overlapping)):
            for j, (left, right) in enumerate(_ends(columns, overlapping)):
                share = gradient[:, i, j].astype(np.float64) / ((bottom - top) * (right - left))
                result[:, top:bottom, left:right] += share[:, None, None]
        return result.astype(gradient.dtype)

    return run
