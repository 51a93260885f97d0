"""`tf.contrib.staging`: StagingArea and MapStagingArea."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dtypes as types
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import colocate_with, name_scope
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor


class BaseStagingArea:
    """The base class of staging areas.

    Args:
        dtypes: the dtypes of the tensors of a tuple.
        shapes: the shapes of the tensors; None if they are not known.
        names: the names of the tensors, or None. With names, tuples are dictionaries.
        shared_name: the name under which sessions share the area; unique by default.
        capacity: the greatest number of tuples; 0 for no limit.
        memory_limit: the greatest size of all tuples together, in bytes; 0 for no limit.

    Raises:
        ValueError: the arguments do not fit each other.
    """

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        kind = type(self).__name__
        self._name = get_default_graph().unique_name(kind) if shared_name is None else shared_name
        self._dtypes = [types.as_dtype(dtype) for dtype in dtypes]
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._shapes = [TensorShape(s) for s in (shapes if shapes is not None else [None] * len(dtypes))]
        self._names = list(names) if names else None
        self._capacity, self._memory_limit = max(capacity, 0), max(memory_limit, 0)
        # All ops of the area are colocated with this one.
        with name_scope(f"{self._name}_root"):
            self._coloc_op: Operation = apply_op("NoOp")

    @property
    def name(self) -> str:
        """The name under which sessions share the area."""
        return self._name

    @property
    def dtypes(self) -> list[types.DType]:
        """The dtype of each tensor of a tuple."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each tensor of a tuple."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of the tensors; None if they have none."""
        return self._names

    @property
    def capacity(self) -> int:
        """The greatest number of tuples; 0 for no limit."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The greatest size of all tuples together, in bytes; 0 for no limit."""
        return self._memory_limit

    def _apply(self, op_type: str, *inputs: Any, name: str | None, **attrs: Any) -> Any:
        with colocate_with(self._coloc_op):
            return apply_op(
                op_type,
                *inputs,
                shared_name=self._name,
                capacity=self._capacity,
                memory_limit=self._memory_limit,
                name=name,
                **attrs,
            )

    def _count(self, op_type: str, name: str | None, what: str) -> Tensor:
        result: Tensor = self._apply(op_type, name=name or f"{self._name}_{what}", dtypes=self._dtypes)
        return result

    def _checked(self, vals: Any, indices: Sequence[int] | None) -> tuple[list[Tensor], list[int]]:
        """The tensors of a tuple or of a part of it, and their indices, after checks."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"{sorted(vals)} Queue: {sorted(self._names)}"
                )
            places = [self._names.index(key) for key in vals]
            vals = list(vals.values())
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            vals = list(vals) if isinstance(vals, (list, tuple)) else [vals]
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            places = list(indices)
        if len(places) != len(vals):
            raise ValueError("Number of indices doesn't match number of values")
        if any(not 0 <= place < len(self._dtypes) for place in places):
            raise ValueError(f"Indices {places} are not all in [0, {len(self._dtypes)})")
        tensors = []
        for value, place in zip(vals, places, strict=True):
            tensor = convert_to_tensor(value, self._dtypes[place], f"component_{place}")
            if not tensor.get_shape().is_compatible_with(self._shapes[place]):
                raise ValueError(f"Expected shape {self._shapes[place]}, got {tensor.get_shape()}")
            tensors.append(tensor)
        return tensors, places

    def _given(self, tensors: Any, places: Sequence[int]) -> Any:
        listed = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        for tensor, place in zip(listed, places, strict=True):
            tensor.set_shape(self._shapes[place])
        if self._names:
            return {self._names[place]: tensor for tensor, place in zip(listed, places, strict=True)}
        return listed


def _values(vals: Any) -> list[Any]:
    if isinstance(vals, dict):
        return list(vals.values())
    return list(vals) if isinstance(vals, (list, tuple)) else [vals]


class StagingArea(BaseStagingArea):
    """A first-in, first-out store on a device of tuples of tensors that one step leaves for another
    (`tf.contrib.staging.StagingArea`).

    A `put` into a full area, and a `get` from an empty one, wait for another step.

    Args:
        dtypes, shapes, names: those of the tensors of a tuple.
        shared_name: the name under which sessions share the area.
        capacity: the greatest number of tuples; 0 for no limit.
        memory_limit: the greatest size of all tuples together, in bytes; 0 for no limit.

    Example:
        >>> area = tf.contrib.staging.StagingArea([tf.float32], shapes=[[2]])
        >>> put, [value] = area.put([[1.0, 2.0]]), area.get()
        >>> with tf.Session() as session:
        ...     session.run(put)
        ...     session.run(value)
        array([1., 2.], dtype=float32)
    """

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Adds a tuple, once there is room.

        Raises:
            ValueError: the tuple does not fit the area's dtypes, shapes or names.
            ResourceExhaustedError: in a run, the tuple alone exceeds the memory limit.
        """
        with name_scope(name, f"{self._name}_put", _values(values)) as scope:
            count = len(_values(values))
            if count != len(self._dtypes):
                raise ValueError(f"A tuple of the area has {len(self._dtypes)} tensors, got {count}")
            tensors, places = self._checked(values, list(range(count)))
            ordered = [tensor for _, tensor in sorted(zip(places, tensors, strict=True), key=lambda p: p[0])]
            made: Operation = self._apply("Stage", ordered, name=scope)
            return made

    def get(self, name: str | None = None) -> Any:
        """Removes and returns the first tuple, once there is one: a list of tensors or a dictionary."""
        made = self._apply("Unstage", dtypes=self._dtypes, name=name or f"{self._name}_get")
        return self._given(made, range(len(self._dtypes)))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """The tuple at an index, once there is one, without removing it."""
        made = self._apply("StagePeek", index, dtypes=self._dtypes, name=name or f"{self._name}_peek")
        return self._given(made, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Tensor:
        """The number of tuples: int32, rank 0."""
        return self._count("StageSize", name, "size")

    def clear(self, name: str | None = None) -> Operation:
        """Drops all tuples."""
        made: Operation = self._apply("StageClear", dtypes=self._dtypes, name=name or f"{self._name}_clear")
        return made


class MapStagingArea(BaseStagingArea):
    """Tuples of tensors by key, whose tensors may be added and removed one by one
    (`tf.contrib.staging.MapStagingArea`).

    A tuple is complete, and can be taken, once all of its tensors have been added.

    Args:
        dtypes, shapes, names: those of the tensors of a tuple.
        shared_name: the name under which sessions share the area.
        ordered: whether a `get` without a key gives the smallest key.
        capacity: the greatest number of tuples; 0 for no limit.
        memory_limit: the greatest size of all tuples together, in bytes; 0 for no limit.
    """

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "Ordered" if ordered else ""

    def put(
        self, key: Any, vals: Any, indices: Sequence[int] | None = None, name: str | None = None
    ) -> Operation:
        """Adds a tuple, or parts of one, once there is room.

        Args:
            key: int64, rank 0.
            vals: the tensors: a list, or a dictionary by name.
            indices: the positions in the tuple of the tensors of a list.

        Raises:
            ValueError: the tensors do not fit the area's dtypes, shapes or names.
            InvalidArgumentError: in a run, a part is there already.
            ResourceExhaustedError: in a run, the tensors alone exceed the memory limit.
        """
        with name_scope(name, f"{self._name}_put", _values(vals)) as scope:
            if indices is None and not isinstance(vals, dict) and len(_values(vals)) == len(self._dtypes):
                indices = list(range(len(self._dtypes)))
            tensors, places = self._checked(vals, indices)
            made: Operation = self._apply(
                f"{self._prefix}MapStage",
                key,
                convert_to_tensor(places, types.int32),
                tensors,
                dtypes=self._dtypes,
                name=scope,
            )
            return made

    def _places(self, indices: Sequence[Any] | None) -> list[int]:
        if indices is None:
            return list(range(len(self._dtypes)))
        names = self._names or []
        places = [names.index(index) if isinstance(index, str) else int(index) for index in indices]
        if any(not 0 <= place < len(self._dtypes) for place in places):
            raise ValueError(f"Indices {places} are not all in [0, {len(self._dtypes)})")
        return places

    def _take(
        self, op_type: str, inputs: Sequence[Any], places: list[int], name: str | None, what: str
    ) -> Any:
        return self._apply(
            f"{self._prefix}{op_type}",
            *inputs,
            convert_to_tensor(places, types.int32),
            dtypes=[self._dtypes[place] for place in places],
            name=name or f"{self._name}_{what}",
        )

    def get(self, key: Any = None, indices: Sequence[Any] | None = None, name: str | None = None) -> Any:
        """Removes and returns a tuple, or parts of it, once it is complete: (key, tensors).

        Args:
            key: the key; by default that of the next tuple.
            indices: the positions or names of the tensors; by default all.
        """
        places = self._places(indices)
        if key is None:
            key, made = self._take("MapUnstageNoKey", [], places, name, "get_nokey")
        else:
            made = self._take("MapUnstage", [key], places, name, "pop")
        return key, self._given(made, places)

    def peek(self, key: Any, indices: Sequence[Any] | None = None, name: str | None = None) -> Any:
        """A tuple, or parts of it, once it is complete, without removing it."""
        places = self._places(indices)
        return self._given(self._take("MapPeek", [key], places, name, "peek"), places)

    def size(self, name: str | None = None) -> Tensor:
        """The number of complete tuples: int32, rank 0."""
        return self._count(f"{self._prefix}MapSize", name, "size")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """The number of incomplete tuples: int32, rank 0."""
        return self._count(f"{self._prefix}MapIncompleteSize", name, "incomplete_size")

    def clear(self, name: str | None = None) -> Operation:
        """Drops all tuples."""
        made: Operation = self._apply(
            f"{self._prefix}MapClear", dtypes=self._dtypes, name=name or f"{self._name}_clear"
        )
        return made
