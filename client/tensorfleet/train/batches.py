"""Batches by queues: `tf.train.batch`, `tf.train.shuffle_batch` and their forms for several inputs.

Each makes a queue and the runner that fills it; `tf.train.start_queue_runners` starts the runner.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.sparse_tensor import (
    SparseTensor,
    convert_to_tensor_or_sparse_tensor,
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import no_op
from tensorfleet.ops.control_flow.smart_cond import smart_cond
from tensorfleet.ops.data_flow.queue_base import QueueBase
from tensorfleet.ops.data_flow.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.train.input_producers import fullness, summarize_fullness
from tensorfleet.train.queue_runners import QueueRunner, add_queue_runner


class Inputs:
    """The tensors of a batch, given as a list or a dict. In queues, a SparseTensor is three strings."""

    def __init__(self, given: Any, caller: str) -> None:
        self.keys = sorted(given) if isinstance(given, dict) else None
        listed = [given[key] for key in self.keys] if self.keys is not None else given
        self.given: list[Any] = [convert_to_tensor_or_sparse_tensor(tensor) for tensor in listed]
        if not self.given:
            raise ValueError(f"Expected at least one tensor in {caller}().")
        self.tensors: list[Tensor] = []
        self._ranks: list[int | None] = []
        """The ranks of the SparseTensors in a batch, one more than those of the elements."""

    def store(self, enqueue_many: bool) -> None:
        """Serializes the SparseTensors for the queue; called once, in the name scope of the batch's nodes."""
        if self.tensors:
            return
        serialize = serialize_many_sparse if enqueue_many else serialize_sparse
        for value in self.given:
            rank = value.shape.ndims if isinstance(value, SparseTensor) else None
            self._ranks.append(None if rank is None else rank + (not enqueue_many))
            self.tensors.append(serialize(value) if isinstance(value, SparseTensor) else value)

    @property
    def types(self) -> list[dtypes.DType]:
        return [value.dtype.base for value in self.given]

    @property
    def kinds(self) -> list[bool]:
        """For each tensor, whether it is a SparseTensor."""
        return [isinstance(value, SparseTensor) for value in self.given]

    @property
    def stored_types(self) -> list[dtypes.DType]:
        """The dtypes of the queue's components."""
        return [tensor.dtype.base for tensor in self.tensors]

    def like(self, dequeued: Any) -> Any:
        """The dequeued tensors in the form of `given`, a list or a dict; a single tensor is not in a list."""
        is_list = isinstance(dequeued, (list, tuple))
        flat = [
            deserialize_many_sparse(found, given.dtype, rank) if isinstance(given, SparseTensor) else found
            for given, rank, found in zip(
                self.given, self._ranks, dequeued if is_list else [dequeued], strict=True
            )
        ]
        if self.keys is not None:
            return dict(zip(self.keys, flat, strict=True))
        return flat if is_list else flat[0]


def graph_tensors(parts: list[Inputs]) -> list[Any]:
    """Tensors of the graph that the batch is made in."""
    values = (value for part in parts for value in part.given)
    return [value.values if isinstance(value, SparseTensor) else value for value in values]


def element_shapes(parts: list[Inputs], shapes: Any, enqueue_many: bool) -> list[Any]:
    """The shape of an element's components: those given, or what is true of all parts."""
    if shapes is not None:
        kinds = parts[0].kinds
        if len(shapes) != len(kinds):
            raise ValueError("Queue shapes must have the same length as dtypes")
        return [[3] if is_sparse else shape for is_sparse, shape in zip(kinds, shapes, strict=True)]
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


def several_inputs(tensors_list: Sequence[Any], caller: str) -> list[Inputs]:
    parts = [Inputs(tensors, caller) for tensors in tensors_list]
    if not parts:
        raise ValueError(f"Expected at least one set of tensors in {caller}().")
    if any(part.keys != parts[0].keys for part in parts):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    for part in parts[1:]:
        if part.types != parts[0].types or part.kinds != parts[0].kinds:
            raise TypeError(f"Expected types to be consistent: {parts[0].types} vs. {part.types}.")
    return parts


def _fill(queue: QueueBase, parts: list[Inputs], enqueue_many: bool, keep: Any) -> None:
    enqueue = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep is None:
        operations = [enqueue(part.tensors) for part in parts]
    elif keep.ndim:
        # Those of a batch that are to be kept.
        places = apply_one("Reshape", where(keep), [-1])
        operations = [enqueue([gather(tensor, places) for tensor in part.tensors]) for part in parts]
    else:
        operations = [smart_cond(keep, partial(enqueue, part.tensors), no_op) for part in parts]
    add_queue_runner(QueueRunner(queue, operations))


def checked_keep(keep_input: Any, enqueue_many: bool) -> Any:
    """Whether inputs are kept, as a tensor. Raises ValueError: its rank is not that of the inputs."""
    keep = convert_to_tensor(keep_input, dtypes.bool)
    if keep.ndim is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and keep.ndim == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.ndim > 1:
        raise ValueError(f"`keep_input` must be 0 or 1 dimensions, but is {keep.ndim}.")
    return keep


def _take(queue: QueueBase, part: Inputs, batch_size: Any, smaller: bool, name: str | None) -> Any:
    dequeue = queue.dequeue_up_to if smaller else queue.dequeue_many
    return part.like(dequeue(batch_size, name=name))


def make_batch(
    parts: list[Inputs],
    batch_size: Any,
    capacity: int,
    enqueue_many: bool,
    shapes: Any,
    dynamic_pad: bool,
    smaller: bool,
    shared_name: str | None,
    name: str,
    keep: Any = None,
) -> Any:
    for part in parts:
        part.store(enqueue_many)
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    queue = kind(
        capacity, parts[0].stored_types, element_shapes(parts, shapes, enqueue_many), shared_name=shared_name
    )
    _fill(queue, parts, enqueue_many, keep)
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
    """Batches of the values of tensors in many runs (`tf.train.batch`).

    Args:
        tensors: a list or dict of tensors. The result has the same form, except that a single tensor is
            not in a list.
        num_threads: the number of threads that fill the queue; with more than one, the order may vary.
        enqueue_many: whether the tensors are batches of elements already.
        shapes: the shapes of an element's components, if the tensors' static shapes are not known.
        dynamic_pad: pad elements whose shapes differ within a batch.
        allow_smaller_final_batch: whether the last batch may be smaller; else the rest is dropped.

    Raises:
        ValueError: there are no tensors, or one of unknown rank.
    """
    part = Inputs(tensors, "batch")
    with framework.name_scope(name, "batch", graph_tensors([part])) as scope:
        return make_batch(
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
    parts = several_inputs(tensors_list, "batch_join")
    with framework.name_scope(name, "batch_join", graph_tensors(parts)) as scope:
        return make_batch(
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


def make_shuffled(
    parts: list[Inputs],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None,
    enqueue_many: bool,
    shapes: Any,
    smaller: bool,
    shared_name: str | None,
    name: str,
    keep: Any = None,
) -> Any:
    if capacity <= min_after_dequeue:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")
    for part in parts:
        part.store(enqueue_many)
    queue = RandomShuffleQueue(
        capacity,
        min_after_dequeue,
        parts[0].stored_types,
        element_shapes(parts, shapes, enqueue_many),
        seed=seed,
        shared_name=shared_name,
    )
    _fill(queue, parts, enqueue_many, keep)
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
    """`batch` in random order (`tf.train.shuffle_batch`).

    Args:
        min_after_dequeue: the number of elements to choose from that stay in the queue until the input ends.

    Raises:
        ValueError: no tensors, one of unknown rank, or a `capacity` that is not above `min_after_dequeue`.
    """
    part = Inputs(tensors, "shuffle_batch")
    with framework.name_scope(name, "shuffle_batch", graph_tensors([part])) as scope:
        return make_shuffled(
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
    """`shuffle_batch` of several sets of tensors, each with its own thread
    (`tf.train.shuffle_batch_join`).
    """
    parts = several_inputs(tensors_list, "shuffle_batch_join")
    names = graph_tensors(parts)
    with framework.name_scope(name, "shuffle_batch_join", names) as scope:
        return make_shuffled(
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
