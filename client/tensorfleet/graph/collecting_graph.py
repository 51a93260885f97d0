"""CollectingGraph: the collections of a graph, which can be added to until the graph is finalized."""

from __future__ import annotations

import re
from typing import Any

from tensorfleet.graph.scoped_graph import ScopedGraph


class CollectingGraph(ScopedGraph):
    """The part of `Graph` that keeps collections: lists of anything, by name (`tf.GraphKeys` and others)."""

    def __init__(self) -> None:
        super().__init__()
        self._collections: dict[Any, list[Any]] = {}
        self._finalized = False

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Adds a value to a collection, which may be new; it may be in it more than once."""
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Adds a value to each of the collections, once to each."""
        names = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself: changes to the list are changes to the collection."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the collection; with `scope`, the items whose names match that regular expression."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[Any]:
        """The names of the collections that are named by text."""
        return [key for key in self._collections if isinstance(key, str)]

    @property
    def collections(self) -> list[Any]:
        """The names of the collections."""
        return list(self._collections)

    def clear_collection(self, name: Any) -> None:
        """Removes a collection with all that is in it."""
        self._collections.pop(name, None)

    def finalize(self) -> None:
        """Makes the graph read-only."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    @property
    def finalized(self) -> bool:
        """Whether the graph is finalized: nothing can be added to it."""
        return self._finalized

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
