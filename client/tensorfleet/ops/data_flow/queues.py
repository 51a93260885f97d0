"""Queues: `tf.FIFOQueue`, `tf.RandomShuffleQueue`, `tf.PaddingFIFOQueue`, `tf.PriorityQueue`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from tensorfleet.core import dtypes as types
from tensorfleet.core.dims import concatenate, merge
from tensorfleet.core.dtypes import DType, as_dtype
from tensorfleet.core.shapes import Dimension, TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.seeds import get_seed
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow import queue_ops  # noqa: F401  the ops register themselves
from tensorfleet.ops.shape_rules import with_rank_at_least


def _type_list(given: Any) -> list[DType]:
    return [as_dtype(dtype) for dtype in (given if isinstance(given, (list, tuple)) else [given])]


def _shape_list(shapes: Any, partial: bool = False) -> list[TensorShape] | None:
    if partial and (
        not isinstance(shapes, Sequence)
        or not shapes
        or any(shape is None or isinstance(shape, int) for shape in shapes)
    ):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (tuple, list)):
        raise TypeError(
            f"Shapes must be a TensorShape or a list or tuple of TensorShapes, got {type(shapes)} instead."
        )
    if all(shape is None or isinstance(shape, int) for shape in shapes):
        shapes = [shapes]  # a single shape
    made = [TensorShape(shape) for shape in shapes]
    if not partial and not all(shape.is_fully_defined() for shape in made):
        raise ValueError(f"All shapes must be fully defined: {made}")
    if any(shape.dims is None for shape in made):
        raise ValueError(f"All shapes must have a defined rank: {made}")
    return made


def _name_list(names: Any, count: int) -> list[str] | None:
    if names is None:
        return None
    listed = list(names) if isinstance(names, (list, tuple)) else [names]
    if len(listed) != count:
        raise ValueError(
            "List of names must have the same length as the list of dtypes, "
            f"received len(names)={len(listed)},len(dtypes)={count}"
        )
    return listed


class QueueBase:
    """A queue of tuples of tensors, filled and drained by different steps (`tf.QueueBase`).

    Args:
        dtypes: the dtypes of the components of an element.
        shapes: the shapes of the components; None if they differ between elements.
        names: the names of the components, or None. With names, elements are dictionaries.
        queue_ref: the handle of the queue.
    """

    def __init__(self, dtypes: list[DType], shapes: Any, names: list[str] | None, queue_ref: Tensor) -> None:
        self._dtypes = dtypes
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError(
                "Queue shapes must have the same length as dtypes, "
                f"received len(shapes)={len(shapes)}, len(dtypes)={len(dtypes)}"
            )
        if names is not None and len(names) != len(dtypes):
            raise ValueError(
                "Queue names must have the same length as dtypes,"
                f"received len(names)={len(names)},len {len(dtypes)}"
            )
        self._shapes = [TensorShape(s) for s in (shapes if shapes is not None else [None] * len(dtypes))]
        self._names = names
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: list[QueueBase]) -> QueueBase:
        """The queue `queues[index]`, where `index` is a tensor.

        Raises:
            TypeError: `queues` is not a list of queues with the same dtypes and names.
        """
        from tensorfleet.ops.array.indexing import gather
        from tensorfleet.ops.array.joining import stack

        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(first.dtypes == q.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(first.names == q.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [reduce(_common, column) for column in zip(*(q.shapes for q in queues), strict=True)]
        refs = stack([q.queue_ref for q in queues])
        return QueueBase(first.dtypes, shapes, first.names, gather(refs, index))

    @property
    def queue_ref(self) -> Tensor:
        """The handle of the queue."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the op that makes the queue."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """The dtype of each component of an element."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each component of an element."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of the components; None if they have none."""
        return self._names

    def _apply(self, op_type: str, *inputs: Any, name: str | None, **attrs: Any) -> Any:
        suffix = "V2" if self._queue_ref.dtype is types.resource else ""
        return apply_op(op_type + suffix, self._queue_ref, *inputs, name=name, **attrs)

    def _as_list(self, vals: Any) -> list[Tensor]:
        """The components of an element or a batch as tensors."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: {sorted(vals)},Queue: {sorted(self._names)}"
                )
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, (list, tuple)):
            vals = [vals]
        return [
            convert_to_tensor(value, dtype, f"component_{i}")
            for i, (value, dtype) in enumerate(zip(vals, self._dtypes, strict=False))
        ]

    def _from_list(self, tensors: list[Tensor]) -> Any:
        if self._names:
            return dict(zip(self._names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else tensors

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Adds an element, once there is room.

        Args:
            vals: the components: a tensor, a list, or with names a dictionary.

        Raises:
            ValueError: a component has another shape than the queue's.
            CancelledError: in a run, the queue is closed.
        """
        with framework.name_scope(name, f"{self._name}_enqueue", _values(vals)) as scope:
            tensors = self._as_list(vals)
            for tensor, shape in zip(tensors, self._shapes, strict=False):
                tensor.get_shape().assert_is_compatible_with(shape)
            made: Operation = self._apply("QueueEnqueue", tensors, name=scope)
            return made

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Adds each element of a batch, once there is room for it.

        Raises:
            ValueError: a component has another shape than a batch of the queue's elements.
            CancelledError: in a run, the queue is closed.
        """
        with framework.name_scope(name, f"{self._name}_EnqueueMany", _values(vals)) as scope:
            tensors = self._as_list(vals)
            size = Dimension(None)
            for tensor, shape in zip(tensors, self._shapes, strict=False):
                dims = with_rank_at_least(tensor.dims, 1)
                if dims is not None:
                    size = size.merge_with(dims[0])
                    TensorShape(dims[1:]).assert_is_compatible_with(shape)
            made: Operation = self._apply("QueueEnqueueMany", tensors, name=scope)
            return made

    def dequeue(self, name: str | None = None) -> Any:
        """Removes and returns an element, once there is one: a tensor, a list, or with names a dictionary.

        Raises:
            OutOfRangeError: in a run, the queue is closed and empty.
        """
        tensors = self._apply(
            "QueueDequeue", name=name or f"{self._name}_Dequeue", component_types=self._dtypes
        )
        for tensor, shape in zip(tensors, self._shapes, strict=True):
            tensor.set_shape(shape)
        return self._from_list(tensors)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Removes and returns `n` elements as a batch, once there are that many.

        Raises:
            OutOfRangeError: in a run, the queue is closed and has fewer.
        """
        return self._dequeue_batch("QueueDequeueMany", n, name or f"{self._name}_DequeueMany")

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """`dequeue_many` that gives a smaller last batch if the queue is closed."""
        return self._dequeue_batch("QueueDequeueUpTo", n, name or f"{self._name}_DequeueUpTo")

    def _dequeue_batch(self, op_type: str, n: Any, name: str) -> Any:
        tensors = self._apply(op_type, n, name=name, component_types=self._dtypes)
        size = None
        if op_type == "QueueDequeueMany":
            value = static_value(tensors[0].op.inputs[1])
            size = None if value is None else int(value)
        for tensor, shape in zip(tensors, self._shapes, strict=True):
            tensor.dims = merge(tensor.dims, concatenate((size,), shape._dims))
        return self._from_list(tensors)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Closes the queue: no element can be added, those in it can still be removed.

        Args:
            cancel_pending_enqueues: whether enqueues that wait for room fail, instead of completing.
        """
        made: Operation = self._apply(
            "QueueClose",
            name=name or f"{self._name}_Close",
            cancel_pending_enqueues=cancel_pending_enqueues,
        )
        return made

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed: bool, rank 0."""
        result: Tensor = self._apply("QueueIsClosed", name=name or f"{self._name}_Is_Closed")
        return result

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements in the queue: int32, rank 0."""
        result: Tensor = self._apply("QueueSize", name=name or f"{self._name}_Size")
        return result


def _values(vals: Any) -> list[Any]:
    if isinstance(vals, dict):
        return list(vals.values())
    return list(vals) if isinstance(vals, (list, tuple)) else [vals]


def _common(a: TensorShape, b: TensorShape) -> TensorShape:
    if a.dims is None or b.dims is None or len(a.dims) != len(b.dims):
        return TensorShape(None)
    return TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list(), strict=True)])


def _make(op_type: str, name: str | None, shared_name: str | None, **attrs: Any) -> Tensor:
    return apply_one(op_type, name=name, shared_name=shared_name, **attrs)


class FIFOQueue(QueueBase):
    """A first-in, first-out queue (`tf.FIFOQueue`).

    Args:
        capacity: the greatest number of elements; negative for no limit.
        dtypes: the dtypes of the components of an element.
        shapes: the shapes of the components; needed for batches.
        names: the names of the components.
        shared_name: the name under which sessions share the queue.

    Example:
        >>> queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
        >>> with tf.Session() as session:
        ...     session.run(queue.enqueue_many([[1, 2, 3]]))
        ...     session.run(queue.dequeue_many(2))
        array([1, 2], dtype=int32)
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        dtypes, shapes = _type_list(dtypes), _shape_list(shapes)
        with get_default_graph().control_dependencies(None), framework.device("CPU"):
            ref = _make(
                "FIFOQueueV2",
                name,
                shared_name,
                component_types=dtypes,
                shapes=shapes,
                capacity=capacity,
            )
        super().__init__(dtypes, shapes, _name_list(names, len(dtypes)), ref)


class RandomShuffleQueue(QueueBase):
    """A queue that gives its elements in random order (`tf.RandomShuffleQueue`).

    Args:
        min_after_dequeue: the number of elements to choose from that stay in the queue until it is closed.
        seed: a seed, combined with the graph's, for the same order in each session.
        others: see FIFOQueue.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        dtypes, shapes = _type_list(dtypes), _shape_list(shapes)
        seed1, seed2 = get_seed(seed)
        if seed1 is None and seed2 is None:
            seed1, seed2 = 0, 0
        ref = _make(
            "RandomShuffleQueueV2",
            name,
            shared_name,
            component_types=dtypes,
            shapes=shapes,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed1,
            seed2=seed2,
        )
        super().__init__(dtypes, shapes, _name_list(names, len(dtypes)), ref)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose elements may differ in the dimensions that are None (`tf.PaddingFIFOQueue`).

    Batches are padded with zeros, or empty strings, to the size of their largest element.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        dtypes, shapes = _type_list(dtypes), _shape_list(shapes, partial=True) or []
        if len(dtypes) != len(shapes):
            raise ValueError(
                "Shapes must be provided for all components, "
                f"but received {len(dtypes)} dtypes and {len(shapes)} shapes."
            )
        ref = _make(
            "PaddingFIFOQueueV2",
            name,
            shared_name,
            component_types=dtypes,
            shapes=shapes,
            capacity=capacity,
        )
        super().__init__(dtypes, shapes, _name_list(names, len(dtypes)), ref)


class PriorityQueue(QueueBase):
    """A queue that gives the element with the smallest number first (`tf.PriorityQueue`).

    The first component of every element is that number, int64; `types` and `shapes` are those of the others.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        listed, shapes = _type_list(types), _shape_list(shapes)
        ref = _make(
            "PriorityQueueV2",
            name,
            shared_name,
            component_types=listed,
            shapes=shapes,
            capacity=capacity,
        )
        super().__init__(
            [as_dtype("int64"), *listed], [TensorShape(()), *shapes] if shapes else shapes, names, ref
        )
