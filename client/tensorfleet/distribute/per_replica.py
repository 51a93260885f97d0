"""Values that differ from replica to replica."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.sparse_tensor import SparseTensor


class DistributedValues:
    """One value for each replica (`tf.distribute`'s `DistributedValues`).

    Attributes:
        values: the values, by the numbers of the replicas.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)

    def __repr__(self) -> str:
        listed = ", ".join(f"{number}: {value!r}" for number, value in enumerate(self.values))
        return f"{type(self).__name__}({{{listed}}})"


class PerReplica(DistributedValues):
    """Values that replicas have computed, each its own."""


class Mirrored(DistributedValues):
    """The same value on each replica's device."""


def mapped(function: Callable[[list[Any]], Any], structures: Sequence[Any]) -> Any:
    """A structure of lists, tuples and dicts, whose leaves are `function` of the leaves of equal structures.

    Raises:
        ValueError: the structures differ.
    """
    first = structures[0]
    if isinstance(first, (list, tuple)) and not isinstance(first, (IndexedSlices, SparseTensor)):
        if any(type(other) is not type(first) or len(other) != len(first) for other in structures):
            raise ValueError(f"The replicas' results have different structures: {list(structures)}")
        parts = [mapped(function, part) for part in zip(*structures, strict=True)]
        if hasattr(first, "_fields"):
            return type(first)(*parts)
        return type(first)(parts)
    if isinstance(first, dict):
        if any(not isinstance(other, dict) or other.keys() != first.keys() for other in structures):
            raise ValueError(f"The replicas' results have different structures: {list(structures)}")
        # A dict of another class is made from pairs, as OrderedDict is.
        return type(first)((key, mapped(function, [other[key] for other in structures])) for key in first)
    return function(list(structures))


def regroup(values: Sequence[Any]) -> Any:
    """The replicas' results as one: a leaf that is the same object for all stays it, others are
    PerReplica."""

    def joined(leaves: list[Any]) -> Any:
        first = leaves[0]
        return first if all(leaf is first for leaf in leaves) else PerReplica(leaves)

    return mapped(joined, values)


def selected(number: int, structure: Any) -> Any:
    """A replica's part of a structure."""

    def of(leaves: list[Any]) -> Any:
        [leaf] = leaves
        return leaf.values[number] if isinstance(leaf, DistributedValues) else leaf

    return mapped(of, [structure])
