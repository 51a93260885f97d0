"""Kernels of `tensorfleet.ops.array.sets`: the rows of a group are its elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid

Groups = dict[tuple[int, ...], set[Any]]

_OPERATIONS: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": set.difference,
    "b-a": lambda a, b: b - a,
    "intersection": set.intersection,
    "union": set.union,
}


def _dense(values: Any) -> tuple[Groups, tuple[int, ...]]:
    array = host_array(values)
    if array.ndim < 2:
        raise invalid(f"Invalid input shape {list(array.shape)}: expected rank >= 2.")
    shape = array.shape[:-1]
    rows = array.reshape(-1, array.shape[-1]).tolist() if array.size else [[]] * int(np.prod(shape))
    places = itertools.product(*map(range, shape))
    return {place: set(row) for place, row in zip(places, rows, strict=True)}, shape


def _sparse(indices: Any, values: Any, shape: Any, validates: bool) -> tuple[Groups, tuple[int, ...]]:
    places, items = host_array(indices), host_array(values)
    sizes = tuple(host_array(shape).ravel().tolist())
    if places.ndim != 2 or items.ndim != 1 or len(places) != len(items) or places.shape[1] != len(sizes):
        raise invalid(
            f"Indices of shape {list(places.shape)}, values of shape {list(items.shape)} and {len(sizes)} "
            "dimensions make no sparse tensor."
        )
    if len(sizes) < 2:
        raise invalid(f"Invalid input shape {list(sizes)}: expected rank >= 2.")
    listed = places.tolist()
    if validates:
        for index, place in enumerate(listed):
            if any(not 0 <= at < size for at, size in zip(place, sizes, strict=True)):
                raise invalid(f"indices[{index}] = {place} is out of bounds: need 0 <= index < {list(sizes)}")
            if index and place <= listed[index - 1]:
                what = "repeated" if place == listed[index - 1] else "out of order"
                raise invalid(
                    f"indices[{index}] = {place} is {what}. Many sparse ops require sorted indices."
                )
    groups: Groups = {}
    for place, item in zip(listed, items.tolist(), strict=True):
        groups.setdefault(tuple(place[:-1]), set()).add(item)
    return groups, sizes[:-1]


@kernel("DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation")
def set_operation(node: KernelNode) -> Kernel:
    name = node.attrs["set_operation"].decode().lower()
    operation = _OPERATIONS.get(name)
    if operation is None:
        raise invalid(f"Invalid set_operation {name}.")
    validates, dtype = node.attrs["validate_indices"], node.output_types[1].np
    kinds = node.op.removesuffix("SetOperation").split("To")

    def run(*inputs: Any) -> Any:
        given = iter(inputs)
        sets = [
            _dense(next(given))
            if kind == "Dense"
            else _sparse(next(given), next(given), next(given), validates)
            for kind in kinds
        ]
        (first, shape), (second, other) = sets
        if shape != other:
            raise invalid(f"Mismatched group shapes: {list(shape)} and {list(other)}")
        found = {}
        for place in sorted(first.keys() | second.keys()):
            made = operation(first.get(place, set()), second.get(place, set()))
            if made:
                found[place] = sorted(made)
        most = max(map(len, found.values()), default=0)
        indices = [(*place, i) for place, items in found.items() for i in range(len(items))]
        values = [item for items in found.values() for item in items]
        return (
            np.array(indices, np.int64).reshape(-1, len(shape) + 1),
            np.array(values, dtype),
            np.array([*shape, most], np.int64),
        )

    return run


@kernel("SetSize")
def set_size(node: KernelNode) -> Kernel:
    validates = node.attrs["validate_indices"]

    def run(indices: Any, values: Any, shape: Any) -> Any:
        groups, sizes = _sparse(indices, values, shape, validates)
        counts = np.zeros(sizes, np.int32)
        for place, items in groups.items():
            counts[place] = len(items)
        return counts

    return run
