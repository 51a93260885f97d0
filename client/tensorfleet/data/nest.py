"""The structure of dataset elements: tuples and dicts are nested; a list is a value, for a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


def _items(value: Any) -> list[Any] | None:
    """The parts of a structure, by sorted keys for a dict; None for a leaf."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, tuple) else None


def flatten(structure: Any) -> list[Any]:
    """The leaves of a structure, from left to right; a leaf alone is its own structure."""
    items = _items(structure)
    return [structure] if items is None else [leaf for item in items for leaf in flatten(item)]


def pack(structure: Any, leaves: Sequence[Any]) -> Any:
    """A structure like the one given, with these leaves in place of its own."""
    return _pack(structure, iter(leaves))


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    items = _items(structure)
    if items is None:
        return next(leaves)
    packed = [_pack(item, leaves) for item in items]
    if isinstance(structure, dict):
        made = dict(zip(sorted(structure), packed, strict=True))
        return type(structure)((key, made[key]) for key in structure)
    if hasattr(structure, "_fields"):
        return type(structure)(*packed)
    return tuple(packed)


def map_structure(function: Callable[..., Any], structure: Any) -> Any:
    """The structure of what `function` makes of the leaves."""
    return pack(structure, [function(leaf) for leaf in flatten(structure)])


def flatten_up_to(shallow: Any, structure: Any) -> list[Any]:
    """The parts of `structure` that stand where `shallow` has leaves.

    Raises:
        TypeError, ValueError: `structure` has not the structure of `shallow` so far.
    """
    items = _items(shallow)
    if items is None:
        return [structure]
    if isinstance(structure, list):
        structure = tuple(structure)
    others = _items(structure)
    if others is None or isinstance(shallow, dict) != isinstance(structure, dict):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(structure)}, while shallow structure has type {type(shallow)}."
        )
    if len(items) != len(others):
        raise ValueError(
            f"The two structures don't have the same number of elements: {len(items)} are expected, "
            f"{len(others)} are there."
        )
    if isinstance(shallow, dict) and set(shallow) != set(structure):
        raise ValueError(
            f"The two structures don't have the same keys: {sorted(shallow)} are expected, "
            f"{sorted(structure)} are there."
        )
    return [leaf for item, other in zip(items, others, strict=True) for leaf in flatten_up_to(item, other)]
