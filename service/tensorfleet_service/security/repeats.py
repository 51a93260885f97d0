"""Repeats: which of many events of one kind are written in full, and how many more there were.

Strangers can be refused thousands of times a second: a line for each would fill the disk, and hide the
others.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass

SPAN_SECONDS = 10.0
MAX_OF_PLACE = 20
"""Limit on the events of one place that are written in a span."""

MAX_OF_ALL = 200
"""Limit on the events of all places together that are written in a span."""

MAX_PLACES = 256
"""Limit on the places that are counted one by one."""

OTHERS = "others"


@dataclass(frozen=True)
class Left:
    """Events of one place that were not written.

    Attributes:
        place: where they came from; OTHERS for all that are not counted one by one.
        count: how many.
        seconds: the time in which they came.
    """

    place: str
    count: int
    seconds: float


class Repeats:
    """Counts events by place, in spans of time. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = time.monotonic()
        self._counts: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._written = 0

    def note(self, place: str) -> bool:
        """Counts an event; returns whether it should be written."""
        with self._lock:
            if place not in self._counts and len(self._counts) >= MAX_PLACES:
                place = OTHERS
            self._counts[place] += 1
            if self._counts[place] <= MAX_OF_PLACE and self._written < MAX_OF_ALL:
                self._written += 1
                return True
            self._left[place] += 1
            return False

    def take(self, now: float | None = None, at_once: bool = False) -> list[Left]:
        """What was not written in a span that is over, and begins the next one; [] while it goes on.

        Args:
            now: by `time.monotonic`.
            at_once: whether the span ends now.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            seconds = now - self._since
            if seconds < SPAN_SECONDS and not at_once:
                return []
            left = self._left
            self._since, self._written = now, 0
            self._counts, self._left = Counter(), Counter()
        return [Left(place, count, seconds) for place, count in left.items()]
