"""`tf.QueueBase`: the operations on a queue."""

from __future__ import annotations

from functools import reduce
from typing import Any

from tensorfleet.core import dtypes as types
from tensorfleet.core.dimension import Dimension
from tensorfleet.core.dims import concatenate, merge
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow import queue_ops  # noqa: F401  the ops register themselves
from tensorfleet.ops.shape_rules import with_rank_at_least


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
