"""Transformations of `tf.contrib.data` that later became arguments of Dataset's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.data.dataset import Dataset
from tensorfleet.data.experimental import parallel_interleave

Transformation = Callable[[Dataset], Dataset]


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Batches without a smaller last one (`tf.contrib.data.batch_and_drop_remainder`)."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Padded batches without a smaller last one (`tf.contrib.data.padded_batch_and_drop_remainder`)."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def sloppy_interleave(map_func: Any, cycle_length: Any, block_length: Any = 1) -> Transformation:
    """Elements of several datasets, as they are ready (`tf.contrib.data.sloppy_interleave`)."""
    transformation: Transformation = parallel_interleave(
        map_func, cycle_length, block_length=block_length, sloppy=True
    )
    return transformation
