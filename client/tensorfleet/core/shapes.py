"""Shapes as programs see them: `tf.TensorShape` and `tf.Dimension`, as TensorFlow 1.x behaves.

Shape rules use the plain form instead, `Dims`, whose functions are reachable from here as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex, overload

from tensorfleet.core.dimension import Dimension, as_dimension, as_size, dimension_value
from tensorfleet.core.dims import (
    Dims,
    broadcast,
    compatible,
    concatenate,
    format_dims,
    merge,
    normalize_axis,
    num_elements,
)
from tensorfleet.proto.tensor_shape_pb2 import TensorShapeProto

__all__ = [
    "Dimension",
    "Dims",
    "TensorShape",
    "as_dimension",
    "as_dims",
    "as_shape",
    "broadcast",
    "compatible",
    "concatenate",
    "dimension_at_index",
    "dimension_value",
    "format_dims",
    "from_proto",
    "merge",
    "normalize_axis",
    "num_elements",
    "to_proto",
    "unknown_shape",
]


class TensorShape:
    """The shape of a tensor as far as it is known (`tf.TensorShape`).

    Made from sizes (integers, None or `Dimension`), one size, None for an unknown rank, a
    `TensorShapeProto` or another shape. Indexing and iterating give `Dimension` objects.
    Raises TypeError or ValueError for anything else.

    Example:
        >>> tf.TensorShape([None, 3]).is_compatible_with([2, 3])
        True
    """

    __slots__ = ("_dims",)

    _dims: Dims

    def __init__(self, dims: Any) -> None:
        self._dims = as_dims(dims)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | None:
        """The sizes, or None while the rank is unknown."""
        return None if self._dims is None else [Dimension(size) for size in self._dims]

    def as_list(self) -> list[int | None]:
        """The sizes as integers and None. Raises ValueError while the rank is unknown."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> TensorShapeProto:
        """The shape as a message; unknown sizes are -1."""
        return to_proto(self._dims)

    def num_elements(self) -> int | None:
        """The number of elements of a tensor of this shape; None while any size is unknown."""
        return num_elements(self._dims)

    def is_fully_defined(self) -> bool:
        """Whether every size is known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """Whether one tensor could have both shapes."""
        return compatible(self._dims, as_dims(other))

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError unless one tensor could have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The most that is true of both: sizes where they agree, unknown where they do not."""
        dims = as_dims(other)
        if self._dims is None or dims is None or len(self._dims) != len(dims):
            return unknown_shape()
        return TensorShape([a if a == b else None for a, b in zip(self._dims, dims, strict=True)])

    def assert_same_rank(self, other: Any) -> None:
        """Raises ValueError where both ranks are known and differ."""
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError where the rank is known and is not `rank`."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, its rank now known. Raises ValueError where it is another."""
        self.assert_has_rank(rank)
        return self.merge_with(unknown_shape(rank))

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError where its rank is known and smaller."""
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError where its rank is known and greater."""
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def merge_with(self, other: Any) -> TensorShape:
        """The shape with everything known of either. Raises ValueError where they contradict."""
        other = as_shape(other)
        try:
            return TensorShape(merge(self._dims, other._dims))
        except ValueError:
            raise ValueError(f"Shapes {self} and {other} are not compatible") from None

    def concatenate(self, other: Any) -> TensorShape:
        """These dimensions followed by those of `other`; unknown if either rank is."""
        return TensorShape(concatenate(self._dims, as_dims(other)))

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return as_shape(other).concatenate(self)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Dimension: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: SupportsIndex | slice) -> Dimension | TensorShape:
        if self._dims is not None:
            return TensorShape(self._dims[key]) if isinstance(key, slice) else Dimension(self._dims[key])
        if not isinstance(key, slice):
            return Dimension(None)
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        start = key.start or 0
        if key.stop is None or start < 0 or key.stop < 0:
            return unknown_shape()
        return unknown_shape(max(key.stop - start, 0))

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return map(Dimension, self._dims)

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == as_dims(other)
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        sizes = ["?" if size is None else str(size) for size in self._dims]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self._dims,)


def as_dims(shape: Any) -> Dims:
    """The plain form of anything that `TensorShape` can be made from. Raises TypeError or ValueError."""
    if shape is None:
        return None
    if isinstance(shape, (tuple, list)):
        return tuple([as_size(size) for size in shape])
    if isinstance(shape, TensorShape):
        return shape._dims
    if isinstance(shape, TensorShapeProto):
        return from_proto(shape)
    try:
        sizes = iter(shape)
    except TypeError:
        return (as_size(shape),)
    return tuple([_iterated_size(size, shape) for size in sizes])


def _iterated_size(size: Any, shape: Any) -> int | None:
    try:
        return as_size(size)
    except TypeError as error:
        raise TypeError(
            f"Failed to convert '{shape!r}' to a shape: '{size!r}'could not be converted to a dimension. "
            "A shape should either be single dimension (e.g. 10), or an iterable of dimensions "
            "(e.g. [1, 10, None])."
        ) from error


def as_shape(shape: Any) -> TensorShape:
    """`shape` itself if it is a TensorShape, else the TensorShape made from it."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None) -> TensorShape:
    """A shape with `rank` unknown sizes, or of unknown rank."""
    return TensorShape(None if rank is None else (None,) * rank)


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """One size of `shape`, unknown if its rank is (`tf.dimension_at_index`)."""
    return shape[index]


def to_proto(d: Dims) -> TensorShapeProto:
    """The message of a plain shape; unknown sizes are -1."""
    if d is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=-1 if size is None else size) for size in d])


def from_proto(p: TensorShapeProto) -> Dims:
    """The plain shape of a message. Sizes other than -1 are taken as they are, so check untrusted ones."""
    return None if p.unknown_rank else tuple([None if d.size == -1 else d.size for d in p.dim])
