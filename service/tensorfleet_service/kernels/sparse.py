"""Common work of kernels on the parts of SparseTensors: checks, order, groups."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np

from tensorfleet_service.kernels.values import ints, invalid, shape_text, string_vector
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

Array = np.ndarray[Any, Any]
_LIMIT = (1 << 63) - 1

PART = 1 << 14
"""Number of strings that one call sorts or takes out of an array, which keeps the interpreter."""


def numbered(*values: Any) -> list[Any]:
    """For arrays of strings the numbers of their elements, [0, n) in the order of first appearance.

    Strings are compared, sorted and searched by NumPy without a pause in which another thread would get the
    interpreter; numbers without the interpreter.
    """
    known: dict[bytes, int] = {}
    found = []
    for x in values:
        flat, numbers = x.reshape(-1), np.empty(x.size, np.int64)
        for begin in range(0, x.size, PART):
            check_step()
            part = slice(begin, begin + PART)
            numbers[part] = [known.setdefault(item, len(known)) for item in flat[part].tolist()]
        found.append(numbers.reshape(x.shape))
    return found


def distinct(values: Any) -> Any:
    """The different numbers of a vector in ascending order, by sorting.

    NumPy's `unique`, asked for nothing else, and all that rests on it, fill a hash table while they keep the
    interpreter: seconds for some millions, and more for values that were chosen for it.
    """
    ordered = np.sort(values)
    new = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def is_in(values: Any, known: Any) -> Any:
    """Whether each element of a vector of numbers is in another one; for why not by NumPy, see `distinct`."""
    if not known.size:
        return np.zeros(values.size, np.bool_)
    ordered = np.sort(known)
    places = np.searchsorted(ordered, values)
    np.minimum(places, ordered.size - 1, out=places)
    return ordered[places] == values


def ranked(values: Any) -> tuple[Any, Any]:
    """The different elements of an array in ascending order, and the place there of each element, [n]."""
    if values.dtype != object:
        found, _, places, _ = unlocked.unique(values.reshape(-1))
        return found, places
    (numbers,) = numbered(values.reshape(-1))
    different: list[bytes] = list(dict.fromkeys(values.reshape(-1).tolist()))
    ordered = list(heapq.merge(*(sorted(different[i : i + PART]) for i in range(0, len(different), PART))))
    ranks = {item: rank for rank, item in enumerate(ordered)}
    of_numbers = np.array([ranks[item] for item in different], np.int64)
    return string_vector(ordered), of_numbers[numbers]


_MOST_COLUMNS = 64


def row_numbers(rows: Any) -> Array:
    """A number for each row of an array, [n], equal for equal rows.

    Up to _MOST_COLUMNS numbers a row, in their order. NumPy compares rows while it keeps the interpreter.
    """
    columns = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    if columns.shape[1] > _MOST_COLUMNS:
        plain = np.ascontiguousarray(
            columns if columns.dtype.kind == "b" else columns + columns.dtype.type(0)
        )
        numbers: Array = numbered(plain.view(f"V{plain.itemsize * plain.shape[1]}").reshape(-1))[0]
        unequal = (columns != columns).any(1)  # NaNs, of which each is another one
        numbers[unequal] = -1 - np.flatnonzero(unequal)
        return numbers
    numbers = np.zeros(len(columns), np.int64)
    for i in range(columns.shape[1]):
        check_step()
        _, _, places, _ = unlocked.unique(columns[:, i])
        _, _, numbers, _ = unlocked.unique(numbers * len(columns) + places)
    return numbers


def check_ranks(indices: Any, values: Any, shape: Any, name: str = "Input") -> None:
    """Raises InvalidArgumentError where the parts of a SparseTensor are not a matrix and two vectors."""
    if indices.ndim != 2:
        raise invalid(f"{name} indices should be a matrix but received shape {shape_text(indices.shape)}")
    if values.ndim != 1:
        raise invalid(f"{name} values should be a vector but received shape {shape_text(values.shape)}")
    if shape.ndim != 1:
        raise invalid(f"{name} shape should be a vector but received shape {shape_text(shape.shape)}")


def check(indices: Any, values: Any, shape: Any, name: str = "Input") -> None:
    """Raises InvalidArgumentError where the parts are not those of one SparseTensor."""
    check_ranks(indices, values, shape, name)
    if len(indices) != len(values):
        raise invalid(
            f"Number of values must match first dimension of indices. Got {len(values)} values, "
            f"indices shape: {shape_text(indices.shape)}"
        )
    if indices.shape[1] != len(shape):
        raise invalid(
            f"Number of dimensions must match second dimension of indices. Got {len(shape)} dimensions, "
            f"indices shape: {shape_text(indices.shape)}"
        )


def sizes_of(shape: Any) -> list[int]:
    """A shape as integers. Raises InvalidArgumentError where one is negative."""
    sizes = ints(np.asarray(shape))
    for i, size in enumerate(sizes):
        if size < 0:
            raise invalid(f"Shape dimension {i} must be non-negative, but is {size}")
    return sizes


def check_inside(indices: Any, shape: Any) -> None:
    """Raises InvalidArgumentError where an index is outside of the shape."""
    outside = ((indices < 0) | (indices >= np.asarray(shape, np.int64))).any(1)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        place = ",".join(str(int(x)) for x in indices[i])
        text = ",".join(str(int(x)) for x in shape)
        raise invalid(f"indices[{i}] = [{place}] is out of bounds: need 0 <= index < [{text}]")


def elements(sizes: list[int]) -> int:
    """The number of elements of a shape. Raises InvalidArgumentError where no int64 holds it."""
    count = math.prod(sizes)
    if count > _LIMIT:
        raise invalid(f"The shape {shape_text(sizes)} has too many elements")
    return count


def linear(indices: Any, sizes: list[int]) -> Array:
    """The place of each index in row-major order: an int64 for each row of `indices`."""
    elements(sizes)
    places = np.zeros(len(indices), np.int64)
    for column, size in enumerate(sizes):
        places *= size
        places += indices[:, column]
    return places


def unravel(places: Array, sizes: list[int]) -> Array:
    """The inverse of `linear`: [n, rank]."""
    result = np.empty((len(places), len(sizes)), np.int64)
    for column in range(len(sizes) - 1, -1, -1):
        size = max(sizes[column], 1)
        result[:, column] = places % size
        places = places // size
    return result


def keys(*parts: Any) -> list[Array]:
    """A number for each row of several matrices of indices, in row-major order, equal for equal rows."""
    rows = np.concatenate(parts)
    if not rows.shape[1]:
        numbers = np.zeros(len(rows), np.int64)
    else:
        sizes = [int(size) + 1 for size in rows.max(0)] if len(rows) else [1] * rows.shape[1]
        if math.prod(sizes) <= _LIMIT and not (len(rows) and rows.min() < 0):
            numbers = linear(rows, sizes)
        else:
            numbers = row_numbers(rows)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return list(np.split(numbers, ends))


def in_order(indices: Any) -> Array:
    """The permutation that brings indices into row-major order; equal ones stay as they are."""
    if not indices.shape[1]:
        return np.arange(len(indices))
    return np.lexsort(indices.T[::-1])


def starts_of(sorted_keys: Any) -> Array:
    """Where runs of equal keys begin."""
    if not len(sorted_keys):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], sorted_keys[1:] != sorted_keys[:-1])))
