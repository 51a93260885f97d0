"""`slim.parallel_reader` and `slim.prefetch_queue`: records and batches by queues."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes, file_io
from tensorfleet.graph import framework
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.data_flow.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from tensorfleet.ops.io.summary import scalar as summary_scalar
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.train.input_producers import string_input_producer
from tensorfleet.train.queue_runners import QueueRunner, add_queue_runner


class ParallelReader:
    """Several readers, whose records come into one queue (`slim.parallel_reader.ParallelReader`).

    Args:
        reader_class: such as `tf.TFRecordReader`.
        common_queue: a queue of pairs of strings.

    Raises:
        TypeError: the queue's elements are others.
    """

    def __init__(
        self, reader_class: Any, common_queue: Any, num_readers: int = 4, reader_kwargs: Any = None
    ) -> None:
        if len(common_queue.dtypes) != 2 or any(
            not dtype.is_compatible_with(dtypes.string) for dtype in common_queue.dtypes
        ):
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._queue = common_queue

    @property
    def common_queue(self) -> Any:
        """The queue of records."""
        return self._queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """The key and the value of the next record of the files in `queue`."""
        self._fill(queue)
        return self._queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: int, name: str | None = None) -> Any:
        """The keys and the values of up to so many records."""
        self._fill(queue)
        return self._queue.dequeue_up_to(num_records, name)

    def num_records_produced(self, name: str | None = None) -> Any:
        """How many records all readers have read."""
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """How many files all readers have read."""
        return add_n([reader.num_work_units_completed() for reader in self._readers], name=name)

    def _fill(self, queue: Any) -> None:
        enqueued = [self._queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._queue, enqueued))


def get_data_files(data_sources: Any) -> list[str]:
    """The files of names and patterns (`slim.parallel_reader.get_data_files`).

    Raises:
        ValueError: there are none.
    """
    if isinstance(data_sources, (list, tuple)):
        files = [file for source in data_sources for file in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        files = file_io.glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files


def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Any = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """The key and the value of the next record of several files (`slim.parallel_reader.parallel_read`).

    Args:
        shuffle: whether files and records are shuffled.
        min_after_dequeue: how many records remain to choose from.
    """
    files = get_data_files(data_sources)
    kinds = dtypes or ["string", "string"]
    with framework.name_scope(scope, "parallel_read"):
        names = string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        if shuffle:
            queue: Any = RandomShuffleQueue(
                capacity=capacity,
                min_after_dequeue=min_after_dequeue,
                dtypes=kinds,
                seed=seed,
                name="common_queue",
            )
        else:
            queue = FIFOQueue(capacity=capacity, dtypes=kinds, name="common_queue")
        summary_scalar(f"fraction_of_{capacity}_full", cast(queue.size(), "float32") * (1.0 / capacity))
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(
    data_sources: Any, reader_class: Any, reader_kwargs: Any = None, scope: str | None = None
) -> Any:
    """The key and the value of the next record, each file read once in order
    (`slim.parallel_reader.single_pass_read`)."""
    with framework.name_scope(scope, "single_pass_read"):
        names = string_input_producer(
            get_data_files(data_sources), num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(names)


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """A queue that is filled with the values of tensors (`slim.prefetch_queue.prefetch_queue`).

    Args:
        tensors: a list, or a dict.
        dynamic_pad: whether their shapes may vary.
    """
    names = sorted(tensors) if isinstance(tensors, dict) else None
    listed = [tensors[key] for key in names] if names is not None else tensors
    with framework.name_scope(name, "prefetch_queue", listed):
        queue = (PaddingFIFOQueue if dynamic_pad else FIFOQueue)(
            capacity=capacity,
            dtypes=[t.dtype for t in listed],
            shapes=[t.shape for t in listed],
            names=names,
            shared_name=shared_name,
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue(tensors)] * num_threads))
        summary_scalar(f"fraction_of_{capacity}_full", cast(queue.size(), "float32") * (1.0 / capacity))
        return queue
