"""Nested values: lists, tuples, dicts, and what consists of several tensors.

The elements of datasets are nested as well, but there a list is a value, for a tensor: `ELEMENTS`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_composites: dict[type, Callable[[Any], list[Any]]] = {}
_makers: dict[type, Callable[[Any, Sequence[Any]], Any]] = {}


def register_composite(
    kind: type,
    parts: Callable[[Any], list[Any]],
    make: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> None:
    """Registers a class whose objects consist of several values.

    Args:
        parts: the values of an object.
        make: an object like the one given, of other values; by default `kind(*values)`.
    """
    _composites[kind] = parts
    if make is not None:
        _makers[kind] = make


class Nesting:
    """One notion of nested values: which are leaves, and which have parts."""

    def __init__(self, lists: bool = True, composites: bool = True) -> None:
        """Makes a notion in which tuples and dicts are nested.

        Args:
            lists: whether lists are, too.
            composites: whether objects of registered classes are, too.
        """
        self._lists = lists
        self._composites = composites
        self._whole: set[type] = set()

    def keep_whole(self, kind: type) -> None:
        """Lets the tuples of a class be leaves."""
        self._whole.add(kind)

    def items(self, value: Any) -> list[Any] | None:
        """The parts of a structure in TensorFlow's order, by sorted keys for a dict; None for a leaf."""
        if isinstance(value, dict):
            return [value[key] for key in sorted(value)]
        if isinstance(value, tuple) or (self._lists and isinstance(value, list)):
            return None if type(value) in self._whole else list(value)
        if self._composites and type(value) in _composites:
            return _composites[type(value)](value)
        return None

    def flatten(self, structure: Any) -> list[Any]:
        """The leaves of a structure, from left to right; a leaf alone is its own structure."""
        items = self.items(structure)
        if items is None:
            return [structure]
        return [leaf for item in items for leaf in self.flatten(item)]

    def pack(self, structure: Any, leaves: Sequence[Any]) -> Any:
        """A structure like the one given, with these leaves in place of its own."""
        rest = iter(leaves)
        packed = self._pack(structure, rest)
        if next(rest, rest) is not rest:
            raise ValueError("Structure had fewer elements than the flat sequence.")
        return packed

    def _pack(self, structure: Any, leaves: Iterator[Any]) -> Any:
        items = self.items(structure)
        if items is None:
            return next(leaves)
        packed = [self._pack(item, leaves) for item in items]
        kind = type(structure)
        if isinstance(structure, dict):
            made = dict(zip(sorted(structure), packed, strict=True))
            pairs = ((key, made[key]) for key in structure)
            return (
                kind(structure.default_factory, pairs) if isinstance(structure, defaultdict) else kind(pairs)
            )
        if kind in _makers:
            return _makers[kind](structure, packed)
        if kind in _composites or hasattr(structure, "_fields"):
            return kind(*packed)
        return kind(packed)

    def map_structure(self, function: Callable[..., Any], *structures: Any) -> Any:
        """The structure of what `function` makes of the leaves of the structures, which must be alike."""
        for other in structures[1:]:
            self.assert_same_structure(structures[0], other)
        columns = zip(*map(self.flatten, structures), strict=True)
        return self.pack(structures[0], [function(*leaves) for leaves in columns])

    def assert_same_structure(self, first: Any, second: Any) -> None:
        """Raises ValueError where structures have different parts, TypeError where other kinds of them."""
        a, b = self.items(first), self.items(second)
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
            self.assert_same_structure(x, y)

    def flatten_up_to(self, shallow: Any, structure: Any) -> list[Any]:
        """The parts of `structure` that stand where `shallow` has leaves.

        Raises:
            TypeError, ValueError: `structure` has not the structure of `shallow` so far.
        """
        items = self.items(shallow)
        if items is None:
            return [structure]
        if isinstance(structure, list):
            structure = tuple(structure)
        others = self.items(structure)
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
        return [
            leaf
            for item, other in zip(items, others, strict=True)
            for leaf in self.flatten_up_to(item, other)
        ]


VALUES = Nesting()
PLAIN = Nesting(composites=False)
"""The notion in which what consists of several tensors is a leaf."""

ELEMENTS = Nesting(lists=False, composites=False)
"""The notion of nesting of dataset elements."""

flatten = VALUES.flatten
pack = VALUES.pack
map_structure = VALUES.map_structure
assert_same_structure = VALUES.assert_same_structure


def is_nested(value: Any) -> bool:
    """Whether it is a list, a tuple or a dict."""
    return isinstance(value, (list, tuple, dict))
