"""Arrays of many strings, which are filled and dropped by parts.

An array of strings holds a reference to each, and NumPy counts and drops these while no other thread of the
process can run: a quarter of a second for ten million. In parts, each gives way to whoever waits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

PART = 1 << 16
"""Number of strings that are taken at a time: some milliseconds."""

LARGE = 1 << 18
"""Number of strings from which on an array is dropped by parts."""

Array = np.ndarray[Any, Any]

_EMPTY: Array = np.array([b""], object)


class _Memory(np.ndarray[Any, Any]):
    """Zeros. A class of its own, as NumPy passes over a base of the same class."""


class _Kept(np.ndarray[Any, Any]):
    """A large array, of which views are handed out, in memory that NumPy takes for somebody else's.

    So it neither writes all of that at once nor looks through it, and references are this class's to drop.
    """

    def __del__(self) -> None:
        if isinstance(self.base, _Memory):
            flat = self.view(np.ndarray).reshape(-1)
            for begin in range(0, flat.size, PART):
                flat[begin : begin + PART] = None


def empty(shape: int | Sequence[int]) -> Array:
    """As `numpy.empty(shape, object)`."""
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(dims)
    if size < LARGE:
        return np.empty(dims, object)
    return _Kept(dims, object, np.zeros(size, np.intp).view(_Memory)).view(np.ndarray)


def filled(shape: int | Sequence[int], value: Any, look: Callable[[], object] = bool) -> Array:
    """An array whose elements are all one string; calls `look` before each part, which may raise."""
    result = empty(shape)
    flat = result.reshape(-1)
    for begin in range(0, flat.size, PART):
        look()
        flat[begin : begin + PART] = value
    return result


def vector(items: Sequence[Any]) -> Array:
    """An array of rank 1."""
    result = empty(len(items))
    for begin in range(0, len(items), PART):
        result[begin : begin + PART] = items[begin : begin + PART]
    return result


class Gathered:
    """Strings that are found one after the other, for an array of rank 1.

    They wait in arrays: the garbage collector, which nobody else runs beside, visits all elements of lists.
    """

    def __init__(self) -> None:
        self._count = 0
        self._parts: list[Array] = []
        self._last: list[Any] = []

    def __len__(self) -> int:
        return self._count

    def add(self, items: list[Any]) -> None:
        """Adds strings."""
        self._count += len(items)
        if len(self._last) + len(items) > PART:
            self._parts.append(vector(self._last))
            self._last = []
        if len(items) > PART:
            self._parts.append(vector(items))
        else:
            self._last += items

    def taken(self) -> Array:
        """The array of all of them, which are not kept."""
        result, begin = empty(self._count), 0
        parts = [vector(self._last), *reversed(self._parts)]
        self._count, self._parts, self._last = 0, [], []
        while parts:
            part = parts.pop()
            for first in range(0, part.size, PART):
                row = part[first : first + PART]
                result[begin : begin + row.size] = row
                begin += row.size
        return result


def each(function: Callable[..., Any], *arrays: Any, dtype: Any = object) -> Any:
    """An elementwise function of arrays, which are broadcast, called with parts of them."""
    shape = np.broadcast_shapes(*(np.shape(x) for x in arrays))
    size = math.prod(shape)
    if size < LARGE:
        return function(*arrays)
    result = empty(shape) if dtype is object else np.empty(shape, dtype)
    flat = result.reshape(-1)
    columns = [_column(np.asarray(x, object), shape) for x in arrays]
    for begin in range(0, size, PART):
        flat[begin : begin + PART] = function(*(column(begin, min(begin + PART, size)) for column in columns))
    return result


def _column(x: Array, shape: tuple[int, ...]) -> Callable[[int, int], Any]:
    """Gives parts of the elements of an array that is broadcast."""
    if not x.ndim:
        return lambda begin, end: x
    if x.shape == shape and x.flags.c_contiguous:
        flat = x.reshape(-1)
        return lambda begin, end: flat[begin:end]
    return lambda begin, end: x[
        tuple(
            np.where(dim == 1, 0, place)
            for dim, place in zip(
                x.shape, np.unravel_index(np.arange(begin, end), shape)[len(shape) - x.ndim :], strict=True
            )
        )
    ]


def moved(function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """What a function gives that puts elements of its inputs elsewhere, and looks at none of the strings.

    It is called with numbers in place of the strings, of which 0 is the empty one.

    Args:
        function: gives an array, or a tuple of them.
        inputs: arrays of strings, of which there is one at least, and others.
    """
    numbered, found, count = [], [_EMPTY], 1
    for x in inputs:
        if x.dtype.kind != "O":
            numbered.append(x)
            continue
        numbered.append(np.arange(count, count + x.size).reshape(x.shape))
        found.append(x)
        count += x.size
    ends = np.cumsum([0, *(x.size for x in found)]).tolist()
    result = function(*numbered)
    made = [_taken(found, ends, places) for places in (result if isinstance(result, tuple) else (result,))]
    return tuple(made) if isinstance(result, tuple) else made[0]


def _taken(sources: Sequence[Array], ends: Sequence[int], places: Array) -> Array:
    """The elements of some arrays at places in all of them, one after the other."""
    result = empty(places.shape)
    flat, wanted = result.reshape(-1), places.reshape(-1)
    flats = [x.reshape(-1) if x.flags.c_contiguous else _flat(x) for x in sources]
    for begin in range(0, wanted.size, PART):
        part = wanted[begin : begin + PART]
        which = np.searchsorted(ends, part, side="right") - 1
        for number in np.unique(which).tolist():
            chosen = np.flatnonzero(which == number)
            flat[begin + chosen] = flats[number][part[chosen] - ends[number]]
    return result


def _flat(x: Array) -> Array:
    """The elements of an array in a row, copied by parts."""
    result = empty(x.size)
    part = _column(x, x.shape)
    for begin in range(0, x.size, PART):
        result[begin : begin + PART] = part(begin, min(begin + PART, x.size))
    return result
