"""Batches of examples that are alike, by queues (`tf.contrib.training.bucket`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from tensorfleet.core import dtypes, errors
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.control_flow.control import group, no_op
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.control_flow.smart_cond import smart_cond
from tensorfleet.ops.data_flow.queues import FIFOQueue, PaddingFIFOQueue
from tensorfleet.ops.io.summary import scalar
from tensorfleet.ops.math.comparison import equal, less_equal
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.train.batches import Inputs, checked_keep, element_shapes, graph_tensors
from tensorfleet.train.queue_runners import QueueRunner, add_queue_runner

# A closed queue ends its runner; one that is closed while it waits is cancelled.
_ENDED = (errors.OutOfRangeError, errors.CancelledError)


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of examples of one bucket (`tf.contrib.training.bucket`).

    A queue for each bucket is filled, by runners of the graph, and full batches go into one more queue, from
    which they come in the order in which they became full.

    Args:
        tensors: of one example, a list or dict; SparseTensors, too.
        which_bucket: int32, the example's bucket.
        batch_size: of batches, or a list with one for each bucket.
        num_threads: how many threads fill the buckets.
        capacity: of the queue of batches, in batches, and of each bucket, unless `bucket_capacities` says so.
        shapes: of the example's tensors, if they are not known.
        dynamic_pad: whether sizes may differ, and are padded with zeros.
        allow_smaller_final_batch: whether what is left at the end makes smaller batches.
        keep_input: bool; examples that are not kept are dropped.
        shared_name: of the queues, beyond this session.

    Returns:
        The bucket, an int32 scalar, and the batch in the form of `tensors`.

    Raises:
        ValueError: a list has not one element for each bucket, or a shape is not known.
    """
    sizes = list(batch_size) if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
    if len(sizes) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    capacities = [capacity] * num_buckets if bucket_capacities is None else list(bucket_capacities)
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets ({num_buckets}) "
            "elements."
        )
    example = Inputs(tensors, "bucket")
    with framework.name_scope(name, "bucket", graph_tensors([example])):
        keep = checked_keep(keep_input, False)
        example.store(False)
        known = element_shapes([example], shapes, False)
        place = convert_to_tensor(which_bucket, dtype=dtypes.int32, name="which_bucket")
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            kind(
                capacities[i],
                example.stored_types,
                known,
                shared_name=f"{shared_name}_{i}" if shared_name is not None else None,
                name=f"bucket_queue_{i}",
            )
            for i in range(num_buckets)
        ]
        same = not (allow_smaller_final_batch or isinstance(batch_size, (list, tuple)))
        size = static_value(convert_to_tensor(sizes[0], dtype=dtypes.int32)) if same else None
        batch = TensorShape([None if size is None else int(size)])
        top = PaddingFIFOQueue(
            capacity,
            [dtypes.int32, *example.stored_types],
            [TensorShape([]), *(batch.concatenate(TensorShape(shape)) for shape in known)],
            shared_name=shared_name,
            name="top_queue",
        )

        def fill() -> Any:
            enqueues = [
                cond(equal(place, i), partial(queue.enqueue, example.tensors), no_op)
                for i, queue in enumerate(queues)
            ]
            return group(*enqueues, name="group_enqueues")

        filled = smart_cond(keep, fill, no_op)
        moves = []
        for i, queue in enumerate(queues):
            take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
            taken = take(sizes[i], name=f"read_bucket_{i}")
            parts = list(taken) if isinstance(taken, (list, tuple)) else [taken]
            moves.append(top.enqueue([constant(i), *parts], name=f"enqueue_from_bucket_{i}"))
        # The end of the input closes the buckets; the queue of batches is closed when all of them are empty.
        ends = [group(*(q.close(cancel_pending_enqueues=now) for q in queues)) for now in (False, True)]
        add_queue_runner(QueueRunner(queues[0], [filled] * num_threads, ends[0], ends[1], _ENDED))
        add_queue_runner(QueueRunner(top, moves, queue_closed_exception_types=_ENDED))
        for queue in queues:
            scalar(f"bucket/{queue.name}/size", cast(queue.size(), dtypes.float32))
        fraction = cast(top.size(), dtypes.float32) * (1.0 / capacity)
        scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", fraction)
        found, *outputs = top.dequeue(name="dequeue_top")
        return found, example.like(list(outputs))


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of sequences of similar lengths (`tf.contrib.training.bucket_by_sequence_length`).

    Args:
        input_length: int32, the length of the example.
        bucket_boundaries: increasing lengths; a bucket begins at each, and one at 0.

    The other arguments are those of `bucket`.

    Returns:
        The lengths `[batch]`, and the batch in the form of `tensors`.

    Raises:
        TypeError: the boundaries are no list of integers.
        ValueError: there are none, or they do not increase.
    """
    if not isinstance(bucket_boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}")
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for boundary in bucket_boundaries:
        if not isinstance(boundary, int):
            raise TypeError(f"bucket boundary is not an integer: {boundary}")
    limits = list(bucket_boundaries)
    for before, after in pairwise(limits):
        if before >= after:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {before} before {after}"
            )
    with framework.name_scope(name, "bucket_by_sequence_length"):
        length = convert_to_tensor(input_length, dtype=dtypes.int32, name="input_length")
        # As many boundaries as the length has passed.
        place = reduce_sum(cast(less_equal(constant(limits, dtypes.int32), length), dtypes.int32))
        named = isinstance(tensors, dict)
        keys = sorted(tensors) if named else []
        listed = [tensors[key] for key in keys] if named else list(tensors)
        _, (lengths, *outputs) = bucket(
            [length, *listed],
            place,
            batch_size,
            len(limits) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [[], *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
        return lengths, dict(zip(keys, outputs, strict=True)) if named else outputs
