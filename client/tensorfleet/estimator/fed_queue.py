"""A queue that threads of this process fill with batches of arrays.

The arrays are fed: so they are neither in the graph, nor need the session's tasks be in this process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.graph import seeds
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.ops.array.identity import placeholder
from tensorfleet.ops.data_flow.queues import FIFOQueue
from tensorfleet.train.coordinator import Coordinator
from tensorfleet.train.queue_runners import QueueRunner, add_queue_runner


def batches(
    arrays: Mapping[str, np.ndarray[Any, Any]],
    batch_size: int,
    num_epochs: int | None,
    shuffle: bool,
    queue_capacity: int,
    num_threads: int,
) -> dict[str, Any]:
    """Tensors of the next batch of each array.

    Args:
        arrays: by name, with the same first dimension.
        batch_size: the number of rows in a batch; the last one may have fewer.
        num_epochs: how often each row comes; None: without end.
        shuffle: mix the rows of each epoch.
        queue_capacity: how many rows the queue holds, at least one batch.
        num_threads: how many threads fill it.
    """
    types = [dtypes.as_dtype(array.dtype) for array in arrays.values()]
    with get_default_graph().name_scope("enqueue_input"):
        fed = [
            placeholder(dtype, [None, *array.shape[1:]])
            for dtype, array in zip(types, arrays.values(), strict=True)
        ]
        queue = FIFOQueue(max(1, queue_capacity // batch_size), types)
        enqueue = queue.enqueue(fed)
        seed, _ = seeds.get_seed(None)
        rows = _Rows(len(next(iter(arrays.values()))), batch_size, num_epochs, shuffle, seed)
        add_queue_runner(_FeedingRunner(queue, [enqueue] * num_threads, rows, fed, list(arrays.values())))
        taken = queue.dequeue()
    tensors = taken if isinstance(taken, list) else [taken]
    length = batch_size if num_epochs is None else None
    for tensor, array in zip(tensors, arrays.values(), strict=True):
        tensor.set_shape([length, *array.shape[1:]])
    return dict(zip(arrays, tensors, strict=True))


class _Rows:
    """The numbers of the rows in each batch, over all epochs."""

    def __init__(
        self, count: int, batch_size: int, num_epochs: int | None, shuffle: bool, seed: int | None
    ) -> None:
        self._count = count
        self._batch_size = batch_size
        self._num_epochs = num_epochs
        self._shuffle = shuffle
        self._seed = seed

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        generator = np.random.default_rng(self._seed)
        left = np.empty(0, np.int64)
        epoch = 0
        while self._num_epochs is None or epoch < self._num_epochs:
            epoch += 1
            order = generator.permutation(self._count) if self._shuffle else np.arange(self._count)
            left = np.concatenate([left, order])
            while len(left) >= self._batch_size:
                yield left[: self._batch_size]
                left = left[self._batch_size :]
        if len(left):
            yield left


class _FeedingRunner(QueueRunner):
    """Feeds the enqueue operation with the rows of the next batch, from the first on in each session."""

    def __init__(
        self, queue: Any, enqueue_ops: list[Any], rows: _Rows, fed: list[Any], arrays: list[Any]
    ) -> None:
        super().__init__(queue, enqueue_ops)
        self._rows = rows
        self._fed = fed
        self._arrays = arrays
        self._feed_lock = threading.Lock()

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        self._next = iter(self._rows)
        return super().create_threads(sess, coord, daemon, start)

    def _step(self, sess: Any, enqueue_op: Any) -> Any:
        enqueue = sess.make_callable(enqueue_op, feed_list=self._fed)

        def step() -> None:
            with self._feed_lock:
                rows = next(self._next, None)
            if rows is None:
                raise errors.OutOfRangeError(None, None, "The arrays have been fed as often as was asked for")
            enqueue(*(array[rows] for array in self._arrays))

        return step

    def to_proto(self, export_scope: str | None = None) -> Any:
        """None: what is fed is in this process only."""
        return None
