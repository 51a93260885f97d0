"""Sets in the last dimension of tensors: their sizes, unions, intersections, differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.sparse import (
    Array,
    check,
    check_inside,
    distinct,
    elements,
    is_in,
    linear,
    ranked,
    sizes_of,
    starts_of,
    unravel,
)
from tensorfleet_service.kernels.values import host_kernel, invalid, shape_text
from tensorfleet_service.threads import unlocked

_Sets = tuple[Array, Array, list[int]]
"""The row of each element, the elements, and the sizes of the dimensions of rows."""


def _of_sparse(indices: Any, values: Any, shape: Any, validate: bool) -> _Sets:
    """Raises InvalidArgumentError where the indices are outside, or are to be in order and are not."""
    check(indices, values, shape)
    sizes = sizes_of(shape)
    if len(sizes) < 2:
        raise invalid(f"Shape {shape_text(sizes)} has rank {len(sizes)} < 2")
    check_inside(indices, shape)
    if validate:
        places = linear(indices, sizes)
        wrong = np.flatnonzero(places[1:] <= places[:-1])
        if len(wrong):
            i = int(wrong[0]) + 1
            text = ",".join(str(int(x)) for x in indices[i])
            kind = (
                "repeated"
                if places[i] == places[i - 1]
                else "out of order. Many sparse ops require sorted indices."
            )
            raise invalid(f"indices[{i}] = [{text}] is {kind}")
    return linear(indices[:, :-1], sizes[:-1]), values, sizes[:-1]


def _of_dense(values: Any) -> _Sets:
    if values.ndim < 2:
        raise invalid(f"Shape {shape_text(values.shape)} has rank {values.ndim} < 2")
    sizes = list(values.shape[:-1])
    return unlocked.repeat(np.arange(elements(sizes)), values.shape[-1]), values.reshape(-1), sizes


@host_kernel("SetSize")
def set_size(node: KernelNode) -> Kernel:
    validate = node.attrs["validate_indices"]

    def run(indices: Any, values: Any, shape: Any) -> Any:
        rows, found, sizes = _of_sparse(indices, values, shape, validate)
        result = np.zeros(elements(sizes), np.int32)
        if len(rows):
            values, numbers = ranked(found)
            places, of_rows = np.unique(rows, return_inverse=True)
            pairs = distinct(of_rows.reshape(-1) * len(values) + numbers)
            result[places] = np.bincount(pairs // len(values), minlength=len(places))
        return result.reshape(sizes)

    return run


# Of numbers in ascending order, each there once.
_OPERATIONS: dict[str, Callable[[Array, Array], Any]] = {
    "a-b": lambda a, b: a[~is_in(a, b)],
    "b-a": lambda a, b: b[~is_in(b, a)],
    "intersection": lambda a, b: a[is_in(a, b)],
    "union": lambda a, b: distinct(np.concatenate([a, b])),
}


def _operated(node: KernelNode, a: _Sets, b: _Sets) -> Any:
    """The parts of the SparseTensor with the operation's result for each row, in order."""
    if a[2] != b[2]:
        raise invalid(f"Mismatched shapes {shape_text(a[2])} vs {shape_text(b[2])} of groups")
    sizes = a[2]
    values, numbers = ranked(np.concatenate([a[1], b[1]]))
    places, rows = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    # One number for each pair of a row and an element, less than the product of their numbers.
    pairs = rows.reshape(-1) * max(len(values), 1) + numbers
    count = len(a[0])
    operation = _OPERATIONS[node.attrs["set_operation"].decode().lower()]
    kept = operation(distinct(pairs[:count]), distinct(pairs[count:]))
    found, element = np.divmod(kept, max(len(values), 1))
    starts = starts_of(found)
    lengths = np.diff(np.append(starts, len(found)))
    column = np.arange(len(found)) - unlocked.repeat(starts, lengths)
    indices = np.concatenate([unravel(places[found], sizes), column[:, None]], axis=1).astype(np.int64)
    longest = int(lengths.max()) if len(lengths) else 0
    return indices, values[element], np.array([*sizes, longest], np.int64)


def _check_operation(node: KernelNode) -> None:
    operation = node.attrs["set_operation"].decode().lower()  # TensorFlow takes any case
    if operation not in _OPERATIONS:
        raise invalid(f"Invalid set_operation {operation}.")


@host_kernel("DenseToDenseSetOperation")
def dense_to_dense(node: KernelNode) -> Kernel:
    _check_operation(node)
    return lambda a, b: _operated(node, _of_dense(a), _of_dense(b))


@host_kernel("DenseToSparseSetOperation")
def dense_to_sparse(node: KernelNode) -> Kernel:
    _check_operation(node)
    validate = node.attrs["validate_indices"]

    def run(a: Any, indices: Any, values: Any, shape: Any) -> Any:
        return _operated(node, _of_dense(a), _of_sparse(indices, values, shape, validate))

    return run


@host_kernel("SparseToSparseSetOperation")
def sparse_to_sparse(node: KernelNode) -> Kernel:
    _check_operation(node)
    validate = node.attrs["validate_indices"]

    def run(ai: Any, av: Any, ashape: Any, bi: Any, bv: Any, bshape: Any) -> Any:
        return _operated(node, _of_sparse(ai, av, ashape, validate), _of_sparse(bi, bv, bshape, validate))

    return run
