"""Batches by queues: `tf.train.batch`, `tf.train.shuffle_batch` and their forms for several inputs.

Each makes a queue, and the runner that fills it once `tf.train.start_queue_runners` has started it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.train.input_producers import fullness, summarize_fullness
from tensorfleet.train.queue_runners import QueueRunner, add_queue_runner


class _Tensors:
    """The tensors of a batch, given as a list or a dict."""

    def __init__(self, given: Any, caller: str) -> None:
        self._keys = sorted(given) if isinstance(given, dict) else None
        listed = [given[key] for key in self._keys] if self._keys is not None else given
        self.tensors: list[Tensor] = [convert_to_tensor(tensor) for tensor in listed]
        if not self.tensors:
            raise ValueError(f"Expected at least one tensor in {caller}().")

    @property
    def types(self) -> list[dtypes.DType]:
        return [tensor.dtype.base for tensor in self.tensors]

    def like(self, dequeued: Any) -> Any:
        """The dequeued tensors: in a dict with the keys of `given`; one tensor is never in a list."""
        if self._keys is None:
            return dequeued
        flat = list(dequeued) if isinstance(dequeued, (list, tuple)) else [dequeued]
        return dict(zip(self._keys, flat, strict=True))


def _shapes(parts: list[_Tensors], shapes: Any, enqueue_many: bool) -> list[Any]:
    """The shape of an element's components: those given, or what is true of all parts."""
    if shapes is not None:
        return list(shapes)
    merged = []
    for column in zip(*(part.tensors for part in parts), strict=True):
        dims = []
        for tensor in column:
            if tensor.dims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
            dims.append(tensor.dims[1:] if enqueue_many else tensor.dims)
        known = dims[0]
        for other in dims[1:]:
            if len(other) != len(known):
                raise ValueError(f"Shapes {TensorShape(known)} and {TensorShape(other)} have different ranks")
            known = tuple(a if a == b else None for a, b in zip(known, other, strict=True))
        merged.append(TensorShape(known))
    return merged


def _parts(tensors_list: Sequence[Any], caller: str) -> list[_Tensors]:
    parts = [_Tensors(tensors, caller) for tensors in tensors_list]
    if not parts:
        raise ValueError(f"Expected at least one set of tensors in {caller}().")
    for part in parts[1:]:
        if part.types != parts[0].types:
            raise TypeError(f"Expected types to be consistent: {parts[0].types} vs. {part.types}.")
    return parts


def _fill(queue: QueueBase, parts: list[_Tensors], enqueue_many: bool) -> None:
    enqueue = queue.enqueue_many if enqueue_many else queue.enqueue
    add_queue_runner(QueueRunner(queue, [enqueue(part.tensors) for part in parts]))


def _take(queue: QueueBase, part: _Tensors, batch_size: Any, smaller: bool, name: str | None) -> Any:
    dequeue = queue.dequeue_up_to if smaller else queue.dequeue_many
    return part.like(dequeue(batch_size, name=name))


def _batch(
    parts: list[_Tensors],
    batch_size: Any,
    capacity: int,
    enqueue_many: bool,
    shapes: Any,
    dynamic_pad: bool,
    smaller: bool,
    shared_name: str | None,
    name: str,
) -> Any:
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    queue = kind(capacity, parts[0].types, _shapes(parts, shapes, enqueue_many), shared_name=shared_name)
    _fill(queue, parts, enqueue_many)
    summarize_fullness(fullness(capacity), queue.size(), capacity)
    return _take(queue, parts[0], batch_size, smaller, name)


def batch(
    tensors: Any,
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
    """Batches of what tensors give in many runs (`tf.train.batch`).

    Args:
        tensors: a list or dict of tensors; the result has the same form, but of one tensor is no list.
        num_threads: how many threads fill the queue; with more than one, the order is not certain.
        enqueue_many: whether the tensors are batches of elements already.
        shapes: of an element's components, where the tensors' static shapes do not say them.
        dynamic_pad: fills up elements whose shapes differ within a batch.
        allow_smaller_final_batch: whether the last batch may be smaller; else what is left is dropped.

    Raises:
        ValueError: there are no tensors, or one of unknown rank.
    """
    part = _Tensors(tensors, "batch")
    with framework.name_scope(name, "batch", part.tensors) as scope:
        return _batch(
            [part] * num_threads,
            batch_size,
            capacity,
            enqueue_many,
            shapes,
            dynamic_pad,
            allow_smaller_final_batch,
            shared_name,
            scope,
        )


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `batch`, of several sets of tensors, each with a thread of its own (`tf.train.batch_join`)."""
    parts = _parts(tensors_list, "batch_join")
    with framework.name_scope(name, "batch_join", [t for part in parts for t in part.tensors]) as scope:
        return _batch(
            parts,
            batch_size,
            capacity,
            enqueue_many,
            shapes,
            dynamic_pad,
            allow_smaller_final_batch,
            shared_name,
            scope,
        )


def _shuffled(
    parts: list[_Tensors],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None,
    enqueue_many: bool,
    shapes: Any,
    smaller: bool,
    shared_name: str | None,
    name: str,
) -> Any:
    if capacity <= min_after_dequeue:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")
    queue = RandomShuffleQueue(
        capacity,
        min_after_dequeue,
        parts[0].types,
        _shapes(parts, shapes, enqueue_many),
        seed=seed,
        shared_name=shared_name,
    )
    _fill(queue, parts, enqueue_many)
    summarize_fullness(
        f"fraction_over_{min_after_dequeue}_of_{capacity - min_after_dequeue}_full",
        maximum(0, queue.size() - min_after_dequeue),
        capacity - min_after_dequeue,
    )
    return _take(queue, parts[0], batch_size, smaller, name)


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `batch`, in random order (`tf.train.shuffle_batch`).

    Args:
        min_after_dequeue: how many elements stay in the queue for the next draw, until the input ends.

    Raises:
        ValueError: there are no tensors, one of unknown rank, or no room beside `min_after_dequeue`.
    """
    part = _Tensors(tensors, "shuffle_batch")
    with framework.name_scope(name, "shuffle_batch", part.tensors) as scope:
        return _shuffled(
            [part] * num_threads,
            batch_size,
            capacity,
            min_after_dequeue,
            seed,
            enqueue_many,
            shapes,
            allow_smaller_final_batch,
            shared_name,
            scope,
        )


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `shuffle_batch`, of several sets of tensors, each with a thread of its own
    (`tf.train.shuffle_batch_join`).
    """
    parts = _parts(tensors_list, "shuffle_batch_join")
    names = [t for part in parts for t in part.tensors]
    with framework.name_scope(name, "shuffle_batch_join", names) as scope:
        return _shuffled(
            parts,
            batch_size,
            capacity,
            min_after_dequeue,
            seed,
            enqueue_many,
            shapes,
            allow_smaller_final_batch,
            shared_name,
            scope,
        )
