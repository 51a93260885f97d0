"""Queues: FIFOQueueV2 and its kin, QueueEnqueueV2, QueueDequeueManyV2, …, and their older forms."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import check_handle, own, type_text
from tensorfleet_service.state import philox
from tensorfleet_service.state.queues import (
    Element,
    PaddingFIFOQueue,
    PriorityQueue,
    Queue,
    RandomShuffleQueue,
    shapes_text,
)
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.future import Future

QUEUE = "queue"
"""The kind of queues among a task's resources."""

_private = itertools.count()
_COUNTERS = 64  # counter values of a random stream that are computed at a time


@kernel(
    "FIFOQueueV2",
    "FIFOQueue",
    "PaddingFIFOQueueV2",
    "PaddingFIFOQueue",
    "RandomShuffleQueueV2",
    "RandomShuffleQueue",
    "PriorityQueueV2",
    "PriorityQueue",
)
def queue(node: KernelNode) -> Kernel:
    attrs = node.attrs
    shared = attrs["shared_name"].decode()
    if not shared:
        # A queue without a name for others is the session's own.
        made = _make(node, f"_{next(_private)}_{node.name}")
        return lambda: made
    container, resources = attrs["container"].decode(), node.resources

    def handle() -> Queue:
        found = resources.get_or_create(container, QUEUE, shared, lambda: _make(node, shared))
        _check_same(node, found, shared)
        return found

    return handle


def _make(node: KernelNode, name: str) -> Queue:
    attrs = node.attrs
    types, shapes, capacity = list(attrs["component_types"]), list(attrs["shapes"]), attrs["capacity"]
    match node.op.removesuffix("V2"):
        case "RandomShuffleQueue":
            draw = _numbers(attrs["seed"], attrs["seed2"]).__next__
            least, seeds = attrs["min_after_dequeue"], (attrs["seed"], attrs["seed2"])
            if least < 0:
                raise errors.InvalidArgumentError(None, None, f"min_after_dequeue {least} must be >= 0")
            if 0 <= capacity <= least:
                text = f"min_after_dequeue {least} must be < capacity {capacity}"
                raise errors.InvalidArgumentError(None, None, text)
            return RandomShuffleQueue(name, types, shapes, capacity, least, draw, seeds)
        case "PaddingFIFOQueue":
            return PaddingFIFOQueue(name, types, shapes, capacity)
        case "PriorityQueue":
            return PriorityQueue(
                name, [dtypes.int64, *types], [(), *shapes] if shapes or not types else [], capacity
            )
    return Queue(name, types, shapes, capacity)


def _numbers(seed: int, seed2: int) -> Iterator[int]:
    """The numbers by which TensorFlow's queue with these seeds picks its elements."""
    stream = philox.seeded_stream(seed or secrets.randbits(63) if not seed2 else seed, seed2)
    while True:
        yield from stream.reserve(_COUNTERS).numbers(_COUNTERS).ravel().tolist()


def _check_same(node: KernelNode, found: Queue, name: str) -> None:
    """Raises InvalidArgumentError if the node asks for another queue than the one of this name."""
    attrs = node.attrs
    op = node.op.removesuffix("V2") + "V2"
    text = ""
    types, shapes = list(attrs["component_types"]), list(attrs["shapes"])
    if op == PriorityQueue.op:
        types, shapes = [dtypes.int64, *types], [(), *shapes]
    if found.op != op:
        text = f"Expected {found.op.removesuffix('V2')}, found {node.op}"
    elif found.capacity != attrs["capacity"]:
        text = (
            f"Shared queue '{name}' has capacity {found.capacity} but requested capacity was "
            f"{attrs['capacity']}"
        )
    elif isinstance(found, RandomShuffleQueue) and found.min_after_dequeue != attrs["min_after_dequeue"]:
        text = (
            f"Shared queue '{name}' has min_after_dequeue {found.min_after_dequeue} but requested "
            f"min_after_dequeue was {attrs['min_after_dequeue']}."
        )
    elif isinstance(found, RandomShuffleQueue) and found.seeds != (attrs["seed"], attrs["seed2"]):
        text = (
            f"Shared queue '{name}' has random seeds {found.seeds} but requested seeds are "
            f"{(attrs['seed'], attrs['seed2'])}."
        )
    elif found.dtypes != types:
        text = (
            f"Shared queue '{name}' has component types {_types_text(found.dtypes)} but requested component "
            f"types were {_types_text(types)}"
        )
    elif found.shapes != shapes:
        text = (
            f"Shared queue '{name}' has component shapes {shapes_text(found.shapes)} but requested component "
            f"shapes were {shapes_text(shapes)}"
        )
    if text:
        raise errors.InvalidArgumentError(None, None, text)


def _types_text(types: list[dtypes.DType]) -> str:
    return ", ".join(map(type_text, types))


@kernel("QueueEnqueueV2", "QueueEnqueue", blocking=True)
def enqueue(node: KernelNode) -> AsyncKernel:
    check_types = _type_check(node.input_types[1:])

    def run(queue: Queue, *components: Any) -> Future | None:
        check_types(queue)
        queue.check(components, batch=False)
        return queue.enqueue([tuple(map(own, components))])

    return AsyncKernel(run)


@kernel("QueueEnqueueManyV2", "QueueEnqueueMany", blocking=True)
def enqueue_many(node: KernelNode) -> AsyncKernel:
    check_types = _type_check(node.input_types[1:])

    def run(queue: Queue, *components: Any) -> Future | None:
        check_types(queue)
        queue.check(components, batch=True)
        return queue.enqueue(_elements([unlocked.rows(own(value)) for value in components]))

    return AsyncKernel(run)


def _elements(rows: list[list[Any]]) -> list[Element]:
    """The elements of a batch, from the rows of each component."""
    found = unlocked.Listed()
    for begin in range(0, len(rows[0]), unlocked.LISTED):
        found += zip(*(column[begin : begin + unlocked.LISTED] for column in rows), strict=True)
    return found


def _type_check(types: list[dtypes.DType]) -> Callable[[Queue], None]:
    types = [t.base for t in types]

    def check(queue: Queue) -> None:
        check_handle(queue, Queue)
        if queue.dtypes != types:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected component types {_types_text(queue.dtypes)}, got {_types_text(types)}",
            )

    return check


def _outputs(components: Element) -> Any:
    """As kernels return outputs: one alone, or a tuple of several."""
    return components if len(components) != 1 else components[0]


@kernel("QueueDequeueV2", "QueueDequeue", blocking=True)
def dequeue(node: KernelNode) -> AsyncKernel:
    check_types = _type_check(node.output_types)

    def first(elements: list[Element]) -> Any:
        return _outputs(elements[0])

    def run(queue: Queue) -> Any:
        check_types(queue)
        found = queue.dequeue(1)
        return found.then(first) if type(found) is Future else first(found)  # type: ignore[arg-type]

    return AsyncKernel(run)


@kernel("QueueDequeueManyV2", "QueueDequeueMany", "QueueDequeueUpToV2", "QueueDequeueUpTo", blocking=True)
def dequeue_many(node: KernelNode) -> AsyncKernel:
    check_types = _type_check(node.output_types)
    name, xp = node.op.removeprefix("Queue").removesuffix("V2"), node.xp
    small = name == "DequeueUpTo"

    def run(queue: Queue, n: Any) -> Any:
        count = int(n)
        check_types(queue)
        queue.check_batch(count, name)
        if not count:
            return _outputs(queue.batch([], xp))

        def batch(elements: list[Element]) -> Any:
            return _outputs(queue.batch(elements, xp))

        found = queue.dequeue(count, small)
        return found.then(batch) if type(found) is Future else batch(found)  # type: ignore[arg-type]

    return AsyncKernel(run)


@kernel("QueueCloseV2", "QueueClose", blocking=True)
def close(node: KernelNode) -> AsyncKernel:
    cancel_pending = node.attrs["cancel_pending_enqueues"]

    def run(queue: Queue) -> Future | None:
        check_handle(queue, Queue)
        return queue.close(cancel_pending)

    return AsyncKernel(run)


@kernel("QueueSizeV2", "QueueSize")
def size(node: KernelNode) -> Kernel:
    def run(queue: Queue) -> Any:
        check_handle(queue, Queue)
        return np.int32(queue.size)

    return run


@kernel("QueueIsClosedV2", "QueueIsClosed")
def is_closed(node: KernelNode) -> Kernel:
    def run(queue: Queue) -> Any:
        check_handle(queue, Queue)
        return np.bool_(queue.closed)

    return run
