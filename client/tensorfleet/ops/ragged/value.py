"""RaggedTensorValue: the value of a fetched RaggedTensor, and nested lists as such values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes

Array = np.ndarray[Any, Any]


class RaggedTensorValue:
    """The value of a RaggedTensor (`tf.ragged.RaggedTensorValue`): what a fetch gives, and a feed takes.

    Example:
        >>> tf.ragged.constant_value([[1, 2], [3]]).row_splits
        array([0, 2, 3])
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        """Makes a value of the values of all rows, and the places where rows begin and end.

        Args:
            values: an array, or a RaggedTensorValue for rows that are ragged themselves.
            row_splits: int32 or int64 [rows + 1].

        Raises:
            TypeError: the parts have other types.
        """
        if not isinstance(row_splits, (np.ndarray, np.generic)) or row_splits.dtype not in (
            np.int64,
            np.int32,
        ):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError(
                "row_splits and values.row_splits must have the same dtype: "
                f"{row_splits.dtype} vs. {values.row_splits.dtype}."
            )
        self._values = values
        self._row_splits = row_splits

    @property
    def row_splits(self) -> Any:
        """The places in `values` where rows begin and end: [rows + 1]."""
        return self._row_splits

    @property
    def values(self) -> Any:
        """The values of all rows, one after the other."""
        return self._values

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the values."""
        return self._values.dtype

    @property
    def flat_values(self) -> Any:
        """The innermost values: an array."""
        values = self._values
        while isinstance(values, RaggedTensorValue):
            values = values.values
        return values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all ragged dimensions, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        inner = self._values.ragged_rank if isinstance(self._values, RaggedTensorValue) else 0
        return inner + 1

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape, with None for ragged dimensions."""
        rows: int = self._row_splits.size - 1
        return (rows, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        values = self._values
        items = values.to_list() if isinstance(values, RaggedTensorValue) else values.tolist()
        splits = self._row_splits.tolist()
        return [items[start:stop] for start, stop in itertools.pairwise(splits)]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """Nested lists as a RaggedTensorValue, or as an array where no dimension is ragged.

    Args:
        dtype: NumPy's dtype, or None to follow the values.
        ragged_rank: the number of ragged dimensions; by default as many as the lists allow.
        inner_shape: the shape of the innermost values.
        row_splits_dtype: int32 or int64.

    Raises:
        ValueError: the lists are of different depths, or do not fit `ragged_rank` or `inner_shape`.
    """
    if isinstance(dtype, dtypes.DType):
        dtype = dtype.as_numpy_dtype
    splits_type = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype
    splits, inner, shape = nested_parts(pylist, ragged_rank, inner_shape)
    values: Any = np.array(inner, dtype).reshape(shape)
    for each in reversed(splits):
        values = RaggedTensorValue(values, np.array(each, splits_type))
    return values


def nested_parts(
    pylist: Any, ragged_rank: int | None, inner_shape: Any
) -> tuple[list[list[int]], list[Any], tuple[int, ...]]:
    """(row splits of each ragged dimension, innermost items, the shape of these), of nested lists."""
    if ragged_rank is not None and (isinstance(ragged_rank, bool) or not isinstance(ragged_rank, int)):
        raise TypeError(f"ragged_rank must be None or an integer, got {ragged_rank!r}")
    if inner_shape is not None:
        inner_shape = tuple(inner_shape) if isinstance(inner_shape, Iterable) else (int(inner_shape),)
    if not isinstance(pylist, (list, tuple)) and np.ndim(pylist) == 0:
        if ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return [], pylist, ()
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank}: must be nonnegative")
    depth = _scalar_depth(pylist)
    deepest = _deepest_empty(pylist)
    if depth is not None:
        if deepest > depth:
            raise ValueError(
                f"Invalid pylist={pylist}: empty list nesting is greater than scalar value nesting"
            )
        if ragged_rank is not None and depth < ragged_rank + 1:
            raise ValueError(f"Invalid pylist={pylist}, ragged_rank={ragged_rank}: too few nested lists")
    if inner_shape is not None and ragged_rank is not None:
        expected = ragged_rank + 1 + len(inner_shape)
        if (depth is not None and depth != expected) or (depth is None and expected < deepest):
            raise ValueError(
                f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )
    if ragged_rank is None:
        levels = max(depth or deepest, deepest)
        ragged_rank = levels - 1 if inner_shape is None else max(0, levels - 1 - len(inner_shape))
    if inner_shape is None:
        inner_shape = _default_inner_shape(pylist, ragged_rank)
    splits: list[list[int]] = []
    items: list[Any] = [pylist]
    for _ in range(ragged_rank):
        ends, rows = [0], []
        for item in _rows(items):
            rows.append(item)
            ends.append(ends[-1] + len(item))
        splits.append(ends)
        items = rows
    values = list(_rows(items))
    if not ragged_rank:
        values = list(pylist)
    return splits, values, (len(values), *inner_shape) if values else (0, *inner_shape)


def _rows(items: list[Any]) -> Iterable[Any]:
    for item in items:
        yield from item


def _scalar_depth(value: Any) -> int | None:
    """How many lists the scalars are in; None without any. Raises ValueError where they differ."""
    if isinstance(value, np.ndarray):
        return value.ndim if value.size else None
    if not isinstance(value, (list, tuple)):
        return 0
    depths = {depth for item in value if (depth := _scalar_depth(item)) is not None}
    if len(depths) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    return depths.pop() + 1 if depths else None


def _deepest_empty(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.ndim
    if not isinstance(value, (list, tuple)):
        return 0
    return 1 + max(map(_deepest_empty, value), default=0)


def _default_inner_shape(pylist: Any, ragged_rank: int) -> tuple[Any, ...]:
    """The shape of the first innermost value, which all others must have."""

    def first(value: Any) -> tuple[Any, ...]:
        if isinstance(value, np.ndarray):
            return tuple(value.shape)
        if not isinstance(value, (list, tuple)):
            return ()
        return (len(value), *first(value[0])) if value else (0,)

    def check(value: Any, shape: tuple[int, ...]) -> None:
        if isinstance(value, np.ndarray):
            if value.shape != shape:
                raise ValueError("inner values have inconsistent shape")
        elif isinstance(value, (list, tuple)) != bool(shape) or (shape and len(value) != shape[0]):
            raise ValueError("inner values have inconsistent shape")
        elif shape:
            for item in value:
                check(item, shape[1:])

    items = [pylist]
    for _ in range(ragged_rank + 1):
        items = list(_rows(items))
    if not items:
        return ()
    shape = first(items[0])
    for item in items:
        check(item, shape)
    return shape
