"""Queues that repeat their input for several epochs: `tf.train.string_input_producer`, ….

Each makes a queue and the runner that fills it; `tf.train.start_queue_runners` starts the runner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range as range_of
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.shaping import shape as shape_of, size as size_of
from tensorfleet.ops.data_flow.queues import FIFOQueue
from tensorfleet.ops.io import summary
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.io.readers import matching_files
from tensorfleet.ops.math.comparison import greater
from tensorfleet.ops.random.random_ops import random_shuffle
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.queue_runners import QueueRunner, add_queue_runner

_NO_STRINGS = "string_input_producer requires a non-null input tensor"


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """The tensor in the first `num_epochs` runs, then OutOfRangeError (`tf.train.limit_epochs`).

    The counter of epochs is a local variable, which `tf.local_variables_initializer` initializes.

    Raises:
        ValueError: `num_epochs` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with framework.name_scope(name, "limit_epochs", [tensor]) as name:
        epochs = Variable(
            constant(0, dtypes.int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        with framework.control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=name)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of the rows of a tensor, repeated for several epochs (`tf.train.input_producer`).

    Args:
        element_shape: the shape of a row, if it is not static.
        num_epochs: the number of epochs; None for no limit.
        shuffle: whether to shuffle the rows in each epoch, depending on `seed`.
        summary_name: the name of a summary of the filled fraction of the queue.
        cancel_op: the operation to run if the queue is closed early.

    Raises:
        ValueError: the shape of a row is not known.
    """
    with framework.name_scope(name, "input_producer", [input_tensor]):
        tensor = convert_to_tensor(input_tensor, name="input_tensor")
        element_shape = tensor.shape[1:].merge_with(TensorShape(element_shape))
        if not element_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            tensor = random_shuffle(tensor, seed=seed)
        tensor = limit_epochs(tensor, num_epochs)
        queue = FIFOQueue(capacity, [tensor.dtype.base], [element_shape], shared_name=shared_name, name=name)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([tensor])], cancel_op=cancel_op))
        if summary_name is not None:
            summarize_fullness(summary_name, queue.size(), capacity)
        return queue


def summarize_fullness(name: str, elements: Tensor, room: int) -> None:
    """A summary of the filled fraction of a queue."""
    summary.scalar(name, cast(elements, dtypes.float32) * (1.0 / room))


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of strings, such as file names (`tf.train.string_input_producer`).

    Arguments are those of `input_producer`.

    Raises:
        ValueError: there are no strings; InvalidArgumentError in a run, if not known before.
    """
    if not isinstance(string_tensor, Tensor) and not string_tensor:
        raise ValueError(_NO_STRINGS)
    with framework.name_scope(name, "input_producer", [string_tensor]) as name:
        tensor = convert_to_tensor(string_tensor, dtypes.string)
        with framework.control_dependencies([Assert(greater(size_of(tensor), 0), [_NO_STRINGS])]):
            tensor = identity(tensor)
        return input_producer(
            tensor, [], num_epochs, shuffle, seed, capacity, shared_name, fullness(capacity), name, cancel_op
        )


def fullness(capacity: int) -> str:
    """The name of the summary of a queue with this capacity."""
    return f"fraction_of_{capacity}_full"


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """A queue of the integers below `limit` (`tf.train.range_input_producer`); see `input_producer`."""
    with framework.name_scope(name, "input_producer", [limit]) as name:
        return input_producer(
            range_of(limit), [], num_epochs, shuffle, seed, capacity, shared_name, fullness(capacity), name
        )


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """A row of each tensor, at the same index (`tf.train.slice_input_producer`); see `input_producer`.

    Raises:
        ValueError: the list is empty.
    """
    with framework.name_scope(name, "input_producer", list(tensor_list)):
        tensors = [convert_to_tensor(tensor) for tensor in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        rows = shape_of(tensors[0])[0]
        index = range_input_producer(rows, num_epochs, shuffle, seed, capacity, shared_name).dequeue()
        return [gather(tensor, index) for tensor in tensors]


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """A local variable of the names of files that match a pattern, or one of several, at the time of its
    initialization (`tf.train.match_filenames_once`).
    """
    with framework.name_scope(name, "matching_filenames", [pattern]) as name:
        return Variable(
            name=name,
            initial_value=matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
