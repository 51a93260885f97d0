"""CollectiveKeys: the numbers that identify collectives to their members."""

from __future__ import annotations

import itertools
from weakref import WeakKeyDictionary

from tensorfleet.graph.graph import Graph, get_default_graph

FIRST_INSTANCE_KEY = 1_000_000  # above the small numbers that programs choose themselves

_of_graphs: WeakKeyDictionary[Graph, dict[int, CollectiveKeys]] = WeakKeyDictionary()


class CollectiveKeys:
    """Numbers the collectives of a group.

    Members that make the same collectives in the same order get the same numbers. If several members are in
    one graph, each needs its own object.

    Attributes:
        group_key: the group.
    """

    def __init__(self, group_key: int = 1, first_instance_key: int = FIRST_INSTANCE_KEY) -> None:
        self.group_key = group_key
        self._instances = itertools.count(first_instance_key)

    def next_instance_key(self) -> int:
        """A new number for a collective."""
        return next(self._instances)

    @classmethod
    def of_graph(cls, group_key: int = 1) -> CollectiveKeys:
        """The keys of a group in the default graph, if the graph has a single member of it."""
        known = _of_graphs.setdefault(get_default_graph(), {})
        return known.setdefault(group_key, cls(group_key))
