"""Batches of inputs of which some are dropped: `tf.train.maybe_batch` and its kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.train.batches import (
    Inputs,
    checked_keep,
    graph_tensors,
    make_batch,
    make_shuffled,
    several_inputs,
)


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `tf.train.batch`, of the inputs that are to be kept (`tf.train.maybe_batch`).

    Args:
        keep_input: bool: whether the input is kept; with `enqueue_many` a vector may say it of each element.

    Raises:
        ValueError: `keep_input` has another rank, or one that is not known.
    """
    parts = [Inputs(tensors, "maybe_batch")]
    with framework.name_scope(name, "batch", graph_tensors(parts)) as scope:
        keep = checked_keep(keep_input, enqueue_many)
        return make_batch(
            *(parts * num_threads, batch_size, capacity, enqueue_many, shapes, dynamic_pad),
            *(allow_smaller_final_batch, shared_name, scope, keep),
        )


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `tf.train.batch_join`, of the inputs that are to be kept (`tf.train.maybe_batch_join`); see
    `maybe_batch`."""
    parts = several_inputs(tensors_list, "maybe_batch_join")
    with framework.name_scope(name, "batch_join", graph_tensors(parts)) as scope:
        keep = checked_keep(keep_input, enqueue_many)
        return make_batch(
            *(parts, batch_size, capacity, enqueue_many, shapes, dynamic_pad),
            *(allow_smaller_final_batch, shared_name, scope, keep),
        )


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `tf.train.shuffle_batch`, of the inputs that are to be kept (`tf.train.maybe_shuffle_batch`); see
    `maybe_batch`."""
    parts = [Inputs(tensors, "maybe_shuffle_batch")]
    with framework.name_scope(name, "shuffle_batch", graph_tensors(parts)) as scope:
        keep = checked_keep(keep_input, enqueue_many)
        return make_shuffled(
            *(parts * num_threads, batch_size, capacity, min_after_dequeue, seed, enqueue_many, shapes),
            *(allow_smaller_final_batch, shared_name, scope, keep),
        )


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `tf.train.shuffle_batch_join`, of the inputs that are to be kept
    (`tf.train.maybe_shuffle_batch_join`); see `maybe_batch`."""
    parts = several_inputs(tensors_list, "maybe_shuffle_batch_join")
    with framework.name_scope(name, "shuffle_batch_join", graph_tensors(parts)) as scope:
        keep = checked_keep(keep_input, enqueue_many)
        return make_shuffled(
            *(parts, batch_size, capacity, min_after_dequeue, seed, enqueue_many, shapes),
            *(allow_smaller_final_batch, shared_name, scope, keep),
        )
