"""CollectiveKeys: the numbers by which the members of collectives find each other."""

from __future__ import annotations

import itertools
from weakref import WeakKeyDictionary

from tensorfleet.graph.graph import Graph, get_default_graph

FIRST_INSTANCE_KEY = 1_000_000  # programs that number their own collectives begin at small numbers

_of_graphs: WeakKeyDictionary[Graph, dict[int, CollectiveKeys]] = WeakKeyDictionary()


class CollectiveKeys:
    """Gives each collective of a group a number of its own.

    Members that make the same collectives in the same order get the same numbers. Where several members are
    in one graph, each needs an object of its own.

    Attributes:
        group_key: the group.
    """

    def __init__(self, group_key: int = 1, first_instance_key: int = FIRST_INSTANCE_KEY) -> None:
        self.group_key = group_key
        self._instances = itertools.count(first_instance_key)

    def next_instance_key(self) -> int:
        """A number that this object has not given yet."""
        return next(self._instances)

    @classmethod
    def of_graph(cls, group_key: int = 1) -> CollectiveKeys:
        """The default graph's one for a group, where the graph has a single member of it."""
        known = _of_graphs.setdefault(get_default_graph(), {})
        return known.setdefault(group_key, cls(group_key))
