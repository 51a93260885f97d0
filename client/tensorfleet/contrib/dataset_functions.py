"""Transformations of `tf.contrib.data` that later became arguments of Dataset's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core.structures import ELEMENTS
from tensorfleet.data.dataset import Dataset
from tensorfleet.data.experimental import Reducer, make_batched_features_dataset, parallel_interleave
from tensorfleet.data.files import TFRecordDataset

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


def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Batches of `window_size` elements that overlap (`tf.contrib.data.sliding_window_batch`).

    Windows at the end that would be smaller are left out.

    Args:
        stride: `window_shift`, under its older name.
        window_shift: the number of elements by which the next window begins later, 1 by default.
        window_stride: the distance between the elements of a window.

    Raises:
        ValueError: both `stride` and `window_shift` are given.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = window_shift if stride is None else stride

    def batched(*parts: Any) -> Dataset:
        windows = parts if len(parts) > 1 else parts[0]
        return Dataset.zip(
            ELEMENTS.map_structure(lambda window: window.batch(window_size, drop_remainder=True), windows)
        )

    return lambda dataset: dataset.window(
        window_size, 1 if shift is None else shift, window_stride, drop_remainder=True
    ).flat_map(batched)


def reduce_dataset(dataset: Dataset, reducer: Reducer) -> Any:
    """What a reducer makes of all elements, without its last step (`tf.contrib.data.reduce_dataset`).

    As in TensorFlow, `finalize_func` is not called, and `init_func` is with 0.

    Raises:
        TypeError: `dataset` is none.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)


def read_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: Any,
    reader: Any = TFRecordDataset,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> Any:
    """The next batch of parsed Examples of files (`tf.contrib.data.read_batch_features`).

    Args:
        features: how to parse them, as of `tf.parse_example`.
        reader, reader_args: what makes a dataset of a file's name, and its further arguments.
        randomize_input: whether to shuffle, with a buffer of `capacity`.
        num_epochs: how often to go over the files; None for ever.

    Returns:
        A dictionary of tensors.
    """
    dataset = make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        shuffle=randomize_input,
        num_epochs=num_epochs,
        shuffle_buffer_size=capacity,
    )
    return dataset.make_one_shot_iterator().get_next()
