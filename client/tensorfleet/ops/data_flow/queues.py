"""Queues: `tf.FIFOQueue`, `tf.RandomShuffleQueue`, `tf.PaddingFIFOQueue`, `tf.PriorityQueue`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core.dtypes import DType, as_dtype
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.seeds import get_seed
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow.queue_base import QueueBase


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
