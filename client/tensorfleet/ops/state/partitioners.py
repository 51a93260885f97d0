"""Partitioners, which give the number of parts of a variable: `tf.get_variable(…, partitioner=…)`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes, shapes

Partitioner = Callable[..., list[int]]
"""Called with a variable's `shape` and `dtype`; gives the number of parts along each dimension."""


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner that makes `num_shards` parts along `axis`, at most one for each row."""

    def partitioner(shape: Any, **_: Any) -> list[int]:
        sizes = _known(shape)
        counts = [1] * len(sizes)
        counts[axis] = min(num_shards, sizes[axis])
        return counts

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """A partitioner that limits parts to `max_shard_bytes` (`tf.variable_axis_size_partitioner`).

    Args:
        max_shard_bytes: the greatest size of a part; a single row may be larger.
        axis: the axis along which variables are divided.
        bytes_per_string_element: the assumed size of a string.
        max_shards: the greatest number of parts.

    Raises:
        ValueError: a number that is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        sizes = _known(shape)
        counts = [1] * len(sizes)
        row_bytes = _element_bytes(dtype, bytes_per_string_element) * math.prod(sizes) // max(sizes[axis], 1)
        rows = max(1, math.floor(max_shard_bytes / row_bytes))
        count = min(sizes[axis], math.ceil(sizes[axis] / rows))
        counts[axis] = min(max_shards, count) if max_shards else count
        return counts

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """A partitioner of at most `max_partitions` parts of at least `min_slice_size` bytes; 0 means one part.

    Raises:
        ValueError: a size that is not positive, or a variable without that axis.
    """
    if min_slice_size < 1:
        raise ValueError(f"Argument `min_slice_size` should be positive. Received: {min_slice_size}")
    if bytes_per_string_element < 1:
        raise ValueError(
            f"Argument `bytes_per_string_element` should be positive. Received: {bytes_per_string_element}"
        )

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        sizes = _known(shape)
        if axis >= len(sizes):
            raise ValueError(f"Cannot partition variable along axis {axis} when shape is only {shape}")
        total = math.prod(sizes) * _element_bytes(dtype, bytes_per_string_element)
        counts = [1] * len(sizes)
        counts[axis] = max(1, min(max_partitions, sizes[axis], math.ceil(total / min_slice_size)))
        return counts

    return partitioner


def _known(shape: Any) -> list[int]:
    shape = shapes.as_shape(shape)
    if not shape.is_fully_defined():
        raise ValueError(f"Argument `shape` is not fully defined: {shape}")
    sizes: list[int] = shape.as_list()
    return sizes


def _element_bytes(dtype: Any, bytes_per_string_element: int) -> int:
    dtype = dtypes.as_dtype(dtype)
    return bytes_per_string_element if dtype is dtypes.string else dtype.size
