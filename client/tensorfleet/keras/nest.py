"""Nested lists, tuples and dicts of tensors; a SparseTensor is one value."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.structures import Nesting

_NESTING = Nesting(composites=False)

flatten = _NESTING.flatten
pack = _NESTING.pack
map_structure = _NESTING.map_structure


def to_list(value: Any) -> list[Any]:
    """A list or tuple as a list, None as an empty one, another value as the only element."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def unpack_single(values: Any) -> Any:
    """The only element of a list with one; else the list."""
    return values[0] if len(values) == 1 else values
