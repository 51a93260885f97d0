"""`tf.data.experimental`: transformations in the form that `Dataset.apply` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.data.dataset import Dataset

Transformation = Callable[[Dataset], Dataset]


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """`shuffle`, then `repeat` (`tf.data.experimental.shuffle_and_repeat`)."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """`map` in parallel, then `batch` (`tf.data.experimental.map_and_batch`).

    Args:
        num_parallel_batches: how many batches' worth of calls run at a time.
        num_parallel_calls: how many calls run at a time, in place of `num_parallel_batches`.

    Raises:
        ValueError: both are given.
    """
    if num_parallel_calls is not None and num_parallel_batches is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls`."
        )
    calls = num_parallel_calls
    if calls is None:
        calls = batch_size * (1 if num_parallel_batches is None else num_parallel_batches)
    return lambda dataset: dataset.map(map_func, calls).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """`interleave` with elements made ahead (`tf.data.experimental.parallel_interleave`).

    Args:
        sloppy, buffer_output_elements, prefetch_input_elements: without effect: the order is always that of
            `interleave`.
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, cycle_length)
