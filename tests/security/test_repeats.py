"""Which of many events are written."""

from __future__ import annotations

import time

from tensorfleet_service.security import repeats
from tensorfleet_service.security.repeats import Left, Repeats


def test_what_is_left_is_counted_by_place() -> None:
    counts = Repeats()
    now = time.monotonic()
    assert all(counts.note("a") for _ in range(repeats.MAX_OF_PLACE))
    assert not any(counts.note("a") for _ in range(5))
    assert counts.note("b")
    assert counts.take(now + repeats.SPAN_SECONDS / 2) == []
    (left,) = counts.take(now + repeats.SPAN_SECONDS + 1)
    assert (left.place, left.count) == ("a", 5)
    assert counts.note("a")  # in a new span
    assert counts.take(at_once=True) == []


def test_many_places() -> None:
    counts = Repeats()
    places = [str(number) for number in range(4 * repeats.MAX_PLACES)]
    written = sum(counts.note(place) for place in places)
    assert written == repeats.MAX_OF_ALL
    left = counts.take(at_once=True)
    assert sum(each.count for each in left) == len(places) - written
    assert len(left) <= repeats.MAX_PLACES + 1
    assert max(left, key=lambda each: each.count) == Left(
        repeats.OTHERS, len(places) - repeats.MAX_PLACES, left[0].seconds
    )
