"""`tensorflow.python.util.object_identity`: collections in which only one and the same object is equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are the same if they are one object."""

    def __init__(self) -> None:
        self._items: dict[int, tuple[Any, Any]] = {}

    def __getitem__(self, key: Any) -> Any:
        return self._items[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._items[id(key)] = key, value

    def __delitem__(self, key: Any) -> None:
        del self._items[id(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self._items.values()])

    def __len__(self) -> int:
        return len(self._items)


class ObjectIdentitySet(MutableSet[Any]):
    """A set whose elements are the same if they are one object."""

    def __init__(self, *args: Iterable[Any]) -> None:
        self._items = {id(element): element for given in args for element in given}

    def __contains__(self, key: Any) -> bool:
        return id(key) in self._items

    def add(self, key: Any) -> None:
        """Adds an object."""
        self._items[id(key)] = key

    def discard(self, key: Any) -> None:
        """Removes an object, if it is there."""
        self._items.pop(id(key), None)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)
