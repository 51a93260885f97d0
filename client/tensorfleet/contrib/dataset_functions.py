"""Transformations of `tf.contrib.data` that later became arguments of Dataset's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core.shapes import TensorShape
from tensorfleet.core.structures import ELEMENTS
from tensorfleet.data.dataset import Dataset
from tensorfleet.data.experimental import Reducer, make_batched_features_dataset, parallel_interleave
from tensorfleet.data.files import TFRecordDataset
from tensorfleet.graph import framework
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import rank, shape
from tensorfleet.ops.debugging.checks import assert_equal

Transformation = Callable[[Dataset], Dataset]


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """Elements whose tensors have these shapes, which are checked where they are not known
    (`tf.contrib.data.assert_element_shape`).

    Args:
        expected_shapes: shapes in the structure of the elements; sizes of None take any.

    Raises:
        ValueError: where it is applied, if known shapes are others.
        InvalidArgumentError: in a run, if an element has another shape.
    """

    def apply(dataset: Dataset) -> Dataset:
        known = ELEMENTS.flatten(dataset.output_shapes)
        wanted = [
            TensorShape(each) for each in ELEMENTS.flatten_up_to(dataset.output_shapes, expected_shapes)
        ]
        for have, want in zip(known, wanted, strict=True):
            TensorShape(have).merge_with(want)

        def checked(*elements: Any) -> Any:
            whole = elements if len(elements) > 1 else elements[0]
            tensors = [
                tensor if want.ndims is None else _of_shape(want, tensor)
                for want, tensor in zip(wanted, ELEMENTS.flatten(whole), strict=True)
            ]
            return ELEMENTS.pack(whole, tensors)

        return dataset.map(checked)

    return apply


def _of_shape(wanted: TensorShape, tensor: Any) -> Any:
    """The tensor, whose sizes a run compares with those of `wanted` that are known."""
    if not tensor.shape.is_fully_defined():
        sizes = [-1 if size is None else size for size in wanted.as_list()]
        found = shape(tensor)
        ranks = assert_equal(rank(tensor), len(sizes), message=f"Wrong rank for {tensor.name}.")
        with framework.control_dependencies([ranks]):
            found = where_v2([size < 0 for size in sizes], sizes, found)
        check = assert_equal(found, sizes, message=f"Wrong shape for {tensor.name}.")
        with framework.control_dependencies([check]):
            tensor = identity(tensor)
    tensor.set_shape(wanted)
    return tensor


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
