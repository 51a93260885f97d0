"""NumPy's functions that keep all other threads waiting, by parts of large arrays.

Most of NumPy's loops let other threads run. These do not, or not for all shapes: `repeat`, `ufunc.at`,
`ufunc.reduceat` and `ufunc.accumulate` of more than one dimension or with a conversion, the look for the
largest number in `bincount`, and products whose result is small. Nor do those that make one array of many, or
many of one, and what Python itself does to a long list, dict or deque by one call.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet_service.threads.running import check as check_step

PART = 1 << 20
"""Number of elements of a part: some milliseconds."""

LISTED = 1 << 16
"""Number of elements that one call takes out of an array."""

PLACES = 1 << 18
"""Number of elements that one call of `ufunc.at` changes; some take 60 ns each."""

SMALL_RESULT = 1 << 9
"""Number of elements up to which NumPy keeps the interpreter for a product, however long its rows are."""

Array = np.ndarray[Any, Any]


def listed(values: Array) -> list[Any]:
    """The elements of an array of any shape, made a list by parts, and dropped so.

    Raises:
        OpError: the step has ended.
    """
    flat = values.reshape(-1)
    if flat.size <= LISTED:
        return flat.tolist()
    found = Listed()
    for begin in range(0, flat.size, LISTED):
        check_step()
        found += flat[begin : begin + LISTED].tolist()
    return found


class Listed(list[Any]):
    """A list, whose items are dropped by parts when nobody refers to it any more."""

    __slots__ = ()

    def __del__(self) -> None:
        drop(self)


def drop(items: list[Any] | dict[Any, Any] | set[Any] | deque[Any]) -> None:
    """Empties a container that is not needed any more, by parts if it is long."""
    if len(items) <= LISTED:
        items.clear()
    elif isinstance(items, list):
        while items:
            del items[-LISTED:]
    else:
        take = items.popitem if isinstance(items, dict) else items.pop
        while items:
            take()


def copied(items: Sequence[Any], count: int | None = None) -> list[Any]:
    """The first `count` items, or all, as a list of their own."""
    size = len(items) if count is None else count
    if size <= LISTED:
        return list(items[:size])
    found = Listed()
    for begin in range(0, size, LISTED):
        found += items[begin : min(begin + LISTED, size)]
    return found


def rows(values: Any) -> list[Any]:
    """What an array has along its first dimension: as `list(values)`, but strings are arrays of rank 0."""
    take = _strings if values.ndim == 1 and values.dtype == object else list
    if len(values) <= LISTED:
        return take(values)
    found = Listed()
    for begin in range(0, len(values), LISTED):
        check_step()
        found += take(values[begin : begin + LISTED])
    return found


def _strings(values: Any) -> list[Any]:
    return [values[i : i + 1].reshape(()) for i in range(len(values))]


def columns(elements: Sequence[tuple[Any, ...]]) -> list[Sequence[Any]]:
    """The first components of many tuples of one size, their second ones, and so on."""
    if len(elements) <= LISTED:
        return list(zip(*elements, strict=True))
    found: list[Sequence[Any]] = [Listed() for _ in elements[0]]
    for begin in range(0, len(elements), LISTED):
        for column, part in zip(found, zip(*elements[begin : begin + LISTED], strict=True), strict=True):
            column += part  # type: ignore[operator]
    return found


def stack(values: Sequence[Any], xp: Any = np, ends_with_step: bool = True) -> Any:
    """As `numpy.stack` of arrays of one shape and dtype.

    Args:
        ends_with_step: False for values that nobody else has any more, which the end of the step would lose.

    Raises:
        OpError: the step has ended.
    """
    if xp is not np or len(values) <= LISTED:
        return xp.stack(values)
    first = values[0]
    result = np.empty((len(values), *first.shape), first.dtype)
    for begin in range(0, len(values), LISTED):
        if ends_with_step:
            check_step()
        result[begin : begin + LISTED] = np.stack(values[begin : begin + LISTED])
    return result


def concatenate(values: Sequence[Any], xp: Any = np) -> Any:
    """As `numpy.concatenate` of arrays of one dtype, along their first dimension.

    Raises:
        OpError: the step has ended.
    """
    if len(values) <= LISTED:
        return xp.concatenate(values)
    parts = []
    for begin in range(0, len(values), LISTED):
        check_step()
        parts.append(xp.concatenate(values[begin : begin + LISTED]))
    return xp.concatenate(parts)


def repeat(values: Array, counts: Any) -> Array:
    """As `numpy.repeat` of a vector."""
    if np.ndim(counts) == 0:
        return np.broadcast_to(values[:, None], (values.size, int(counts))).reshape(-1)
    ends = np.cumsum(np.asarray(counts, np.int64))
    total = int(ends[-1]) if ends.size else 0
    if total <= PART and values.size <= PART:
        return np.repeat(values, counts)
    result = np.empty(total, values.dtype)
    for begin in range(0, total, PART):
        places = np.arange(begin, min(begin + PART, total))
        result[begin : begin + PART] = values[np.searchsorted(ends, places, "right")]
    return result


def bincount(numbers: Array, least: int) -> Array:
    """As `numpy.bincount` of a vector of numbers from 0 on, with `least` as its `minlength`."""
    if numbers.size <= PART:
        return np.bincount(numbers, minlength=least)
    result = np.zeros(max(least, int(numbers.max()) + 1), np.intp)
    step = max(PART, result.size)
    for begin in range(0, numbers.size, step):
        found = np.bincount(numbers[begin : begin + step])
        result[: found.size] += found
    return result


def unique(values: Array) -> tuple[Array, Array, Array, Array]:
    """The different numbers of a vector in ascending order, and as many first places and counts.

    The third result is which of them each element is. No NaN is another one, as with `equal_nan=False`.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    new = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    inverse = np.empty(ordered.size, np.intp)
    inverse[order] = np.cumsum(new.astype(np.intp)) - 1
    return ordered[starts], order[starts], inverse, np.diff(starts, append=ordered.size)


def at(ufunc: Any, array: Any, index: Any, updates: Any) -> None:
    """As `ufunc.at(array, index, updates)`, of NumPy or CuPy; where a place comes again, in the same order.

    Args:
        index: an array, or a tuple of arrays that are broadcast, for the first dimensions.
        updates: of the shape of the index and the array's other dimensions, or a scalar.
    """
    columns = index if isinstance(index, tuple) else (index,)
    if type(array) is not np.ndarray:
        ufunc.at(array, index, updates)
        return
    inner = array.shape[len(columns) :]
    count = math.prod(np.broadcast_shapes(*(np.shape(column) for column in columns)))
    step = max(PLACES // max(math.prod(inner), 1), 1)
    if count <= step:
        ufunc.at(array, index, updates)
        return
    flat = [column.reshape(-1) for column in np.broadcast_arrays(*columns)]
    rows = updates.reshape(count, *inner) if np.ndim(updates) else updates
    for begin in range(0, count, step):
        part = slice(begin, begin + step)
        places = tuple(column[part] for column in flat)
        ufunc.at(array, places, rows[part] if np.ndim(rows) else rows)


def reduceat(ufunc: Any, rows: Array, starts: Array, dtype: Any = None) -> Array:
    """As `ufunc.reduceat(rows, starts, axis=0, dtype=dtype)`, of starts that ascend."""
    if rows.size <= PART or not starts.size:
        return ufunc.reduceat(rows, starts, axis=0, dtype=dtype)  # type: ignore[no-any-return]
    ends = np.append(starts[1:], len(rows))
    at_once = max(PART // max(math.prod(rows.shape[1:]), 1), 1)
    parts = []
    first = 0
    while first < len(starts):
        begin = int(starts[first])
        # All segments that end within a part, or a single one that is longer.
        last = max(int(np.searchsorted(ends, begin + at_once, "right")), first + 1)
        end = int(ends[last - 1])
        if last == first + 1:
            parts.append(ufunc.reduce(rows[begin:end], axis=0, dtype=dtype)[None])
        else:
            parts.append(ufunc.reduceat(rows[begin:end], starts[first:last] - begin, axis=0, dtype=dtype))
        first = last
    return np.concatenate(parts)


def accumulate(ufunc: Any, x: Array, axis: int, dtype: Any) -> Array:
    """As `ufunc.accumulate(x, axis, dtype)`, with the same roundings."""
    if x.size <= PART or (x.ndim == 1 and x.dtype == dtype):
        return ufunc.accumulate(x, axis, dtype)  # type: ignore[no-any-return]
    axis %= x.ndim
    count = x.shape[axis]
    result = np.empty(x.shape, dtype)
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    source = x.reshape(outer, count, inner)
    target = result.reshape(outer, count, inner)
    rows = max(PART // max(count * inner, 1), 1)
    columns = min(inner, PART)
    steps = max(PART // columns, 1)
    for row in range(0, outer, rows):
        for column in range(0, inner, columns):
            part = (slice(row, row + rows), slice(None), slice(column, column + columns))
            _accumulate_steps(ufunc, source[part], target[part], steps if rows == 1 else count)
    return result


def _accumulate_steps(ufunc: Any, source: Array, target: Array, steps: int) -> None:
    """Fills `target`, of [outer, count, inner], with at most so many of `count` at a time."""
    for begin in range(0, source.shape[1], steps):
        part = source[:, begin : begin + steps].astype(target.dtype)
        if begin:
            part[:, 0] = ufunc(target[:, begin - 1], part[:, 0])
        ufunc.accumulate(part, 1, out=target[:, begin : begin + steps])


def matmul(a: Array, b: Array, out: Array | None = None) -> Array:
    """As `numpy.matmul` of two matrices: `numpy.dot` computes the same, and lets go of the interpreter."""
    if a.shape[0] * b.shape[1] > SMALL_RESULT or a.shape[1] != b.shape[0]:
        return np.matmul(a, b, out=out)
    if out is None:
        return np.dot(a, b)  # type: ignore[no-any-return]
    out[...] = np.dot(a, b)
    return out
