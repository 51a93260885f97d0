"""Shapes as shape rules handle them: plain tuples, and pure functions on those.

`Dims` is a tuple with one entry per dimension, None where a size is unknown; None alone is a shape whose
rank is unknown too.
"""

from __future__ import annotations

from math import prod

Dims = tuple[int | None, ...] | None


def merge(a: Dims, b: Dims) -> Dims:
    """The shape that has everything known of two descriptions of one shape.

    Raises ValueError where they contradict each other.
    """
    if a is None or a == b:
        return b
    if b is None:
        return a
    if len(a) != len(b):
        raise ValueError(f"Shapes must be equal rank, but are {len(a)} and {len(b)}")
    for axis, (x, y) in enumerate(zip(a, b, strict=True)):
        if x is not None and y is not None and x != y:
            raise ValueError(
                f"Dimension {axis} in both shapes must be equal, but are {x} and {y}. "
                f"Shapes are {format_dims(a)} and {format_dims(b)}."
            )
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


def broadcast(a: Dims, b: Dims) -> Dims:
    """The shape of an elementwise operation on `a` and `b`, whose missing leading dimensions count as 1.

    Raises ValueError where two sizes differ and neither is 1.
    """
    if a is None or b is None:
        return None
    if a == b and None not in a:
        return a
    rank = max(len(a), len(b))
    a = (1,) * (rank - len(a)) + a
    b = (1,) * (rank - len(b)) + b
    return tuple([_broadcast_dim(x, y) for x, y in zip(a, b, strict=True)])


def _broadcast_dim(x: int | None, y: int | None) -> int | None:
    if x == 1:
        return y
    if y == 1:
        return x
    if x is None or y is None:
        known = y if x is None else x
        # Beside an unknown size, 0 promises nothing: TensorFlow leaves the result open.
        return known or None
    if x != y:
        raise ValueError(f"Dimensions must be equal, but are {x} and {y}")
    return x


def concatenate(a: Dims, b: Dims) -> Dims:
    """The dimensions of `a` followed by those of `b`."""
    return None if a is None or b is None else a + b


def num_elements(d: Dims) -> int | None:
    """The number of elements of a tensor of this shape; None while any size is unknown."""
    if d is None or None in d:
        return None
    return prod(d)  # type: ignore[arg-type]


def compatible(a: Dims, b: Dims) -> bool:
    """Whether one tensor could have both shapes."""
    if a is None or b is None or a == b:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def format_dims(d: Dims) -> str:
    """The shape as the messages of shape rules write it: "[2,?]", or "?" for an unknown rank."""
    if d is None:
        return "?"
    return "[" + ",".join("?" if size is None else str(size) for size in d) + "]"


def normalize_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front, 0 <= result < rank. Raises ValueError outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise ValueError(
            f"Dimension ({axis}) must be in the range [{-rank}, {rank}), "
            f"where {rank} is the number of dimensions in the input."
        )
    return axis + rank if axis < 0 else axis
