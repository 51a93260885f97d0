"""Functions that are called later."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tensorfleet_service.threads.deadlines import MAX_SECONDS, Deadlines

SECONDS = 20.0


@pytest.fixture
def deadlines() -> Iterator[Deadlines]:
    made = Deadlines()
    yield made
    made.close()


@pytest.mark.parametrize("seconds", [1e15, 1e300, float("inf"), float("nan")])
def test_a_time_that_no_clock_takes_keeps_no_other_from_expiring(
    deadlines: Deadlines, seconds: float
) -> None:
    """As a client may give one for its step, or for its collective; then the thread waits for that alone."""
    late = deadlines.after(seconds, lambda: None)
    with deadlines._changed:
        deadlines._changed.notify()
    expired = threading.Event()
    deadlines.after(0.05, expired.set)
    assert expired.wait(SECONDS)
    assert late.pending
    assert deadlines._thread is not None
    assert deadlines._thread.is_alive()
    assert late.time <= threading.TIMEOUT_MAX
    assert MAX_SECONDS < threading.TIMEOUT_MAX


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("-inf")])
def test_a_time_that_has_passed(deadlines: Deadlines, seconds: float) -> None:
    expired = threading.Event()
    deadlines.after(seconds, expired.set)
    assert expired.wait(SECONDS)


def test_a_cancelled_one_is_not_called(deadlines: Deadlines) -> None:
    called: list[int] = []
    cancelled = deadlines.after(0.05, lambda: called.append(1))
    cancelled.cancel()
    expired = threading.Event()
    deadlines.after(0.1, expired.set)
    assert expired.wait(SECONDS)
    assert not called
    assert not cancelled.pending
