"""Nested structures of tensors: lists, tuples and dicts, and what consists of several tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorfleet.ops.indexed_slices import IndexedSlices


def is_nested(value: Any) -> bool:
    """Whether it is a list, a tuple or a dict."""
    return isinstance(value, (list, tuple, dict))


def _items(value: Any) -> list[Any] | None:
    """The parts of a structure in TensorFlow's order, by sorted keys for a dict; None for a leaf."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, IndexedSlices):
        parts = [value.values, value.indices]
        return parts if value.dense_shape is None else [*parts, value.dense_shape]
    return None


def flatten(structure: Any) -> list[Any]:
    """The leaves of a structure, from left to right; a leaf alone is its own structure."""
    items = _items(structure)
    if items is None:
        return [structure]
    return [leaf for item in items for leaf in flatten(item)]


def pack(structure: Any, leaves: Sequence[Any]) -> Any:
    """A structure like the one given, with these leaves in place of its own."""
    rest = iter(leaves)
    packed = _pack(structure, rest)
    if next(rest, rest) is not rest:
        raise ValueError("Structure had fewer elements than the flat sequence.")
    return packed


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    items = _items(structure)
    if items is None:
        return next(leaves)
    packed = [_pack(item, leaves) for item in items]
    if isinstance(structure, dict):
        made = dict(zip(sorted(structure), packed, strict=True))
        return type(structure)((key, made[key]) for key in structure)
    if isinstance(structure, IndexedSlices):
        return IndexedSlices(*packed)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*packed)
    return type(structure)(packed)


def map_structure(function: Callable[..., Any], *structures: Any) -> Any:
    """The structure of what `function` makes of the leaves of the structures, which must be alike."""
    for other in structures[1:]:
        assert_same_structure(structures[0], other)
    columns = zip(*map(flatten, structures), strict=True)
    return pack(structures[0], [function(*leaves) for leaves in columns])


def assert_same_structure(first: Any, second: Any) -> None:
    """Raises ValueError where the structures have different parts, TypeError where other kinds of them."""
    a, b = _items(first), _items(second)
    if (a is None) != (b is None) or (a is not None and b is not None and len(a) != len(b)):
        raise ValueError(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {first}\n\n"
            f"Second structure: {second}"
        )
    if a is None or b is None:
        return
    if type(first) is not type(second):
        raise TypeError(
            "The two structures don't have the same sequence type. "
            f"First structure has type {type(first)}, while second structure has type {type(second)}."
        )
    if isinstance(first, dict) and set(first) != set(second):
        raise ValueError(
            f"The two dictionaries don't have the same set of keys: {sorted(first)} and {sorted(second)}."
        )
    for x, y in zip(a, b, strict=True):
        assert_same_structure(x, y)
