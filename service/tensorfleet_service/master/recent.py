"""Recent: what was used last, of what may be made anew."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sized
from typing import Generic, TypeVar

from tensorfleet_service.net import limits

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A table of signatures, or of what leads to them, within the limits of a session.

    Changes are made under a lock of the caller's. `used` needs none: the entry may be gone.

    Attributes:
        entries: to be read alone; the ones that were not used for the longest time come first.
    """

    __slots__ = ("_names", "_sizes", "entries")

    def __init__(self) -> None:
        self.entries: OrderedDict[K, V] = OrderedDict()
        self._sizes: dict[K, int] = {}
        self._names = 0

    def used(self, key: K) -> None:
        """Notes the use of an entry, where room may run out."""
        if len(self.entries) * 2 > limits.MAX_SIGNATURES or self._names * 2 > limits.MAX_SIGNATURE_NAMES:
            try:
                self.entries.move_to_end(key)
            except KeyError:
                pass  # it was just dropped, and is made anew at its next use

    def put(self, key: K, value: V, names: Iterable[Sized]) -> list[tuple[K, V]]:
        """Adds or replaces an entry; those that were dropped for it."""
        self.pop(key)
        size = sum(map(len, names)) + 1
        self.entries[key] = value
        self._sizes[key] = size
        self._names += size
        dropped = []
        while len(self.entries) > max(limits.MAX_SIGNATURES, 1) or (
            self._names > limits.MAX_SIGNATURE_NAMES and len(self.entries) > 1
        ):
            oldest, found = self.entries.popitem(last=False)  # at once, as `used` may change the order
            self._names -= self._sizes.pop(oldest)
            dropped.append((oldest, found))
        return dropped

    def pop(self, key: K) -> None:
        """Drops an entry, if it is there."""
        if self.entries.pop(key, None) is not None:
            self._names -= self._sizes.pop(key)

    def clear(self) -> None:
        self.entries.clear()
        self._sizes.clear()
        self._names = 0
