"""Turns of clients: who computes next where more want to than there are cores."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from tensorfleet_service.threads import turns
from tensorfleet_service.threads.turns import Share, Turns
from tests.until import Call, until


def queue_up(order: Turns, wanted: list[tuple[str, Share]], went: list[str]) -> list[threading.Thread]:
    """Threads that wait for a turn, one after the other, and say when they have had it."""

    def wait(name: str, share: Share) -> None:
        began = order.take(share)
        went.append(name)
        order.give(share, began)

    threads = []
    for name, share in wanted:
        before = len(order._waiting)
        threads.append(threading.Thread(target=wait, args=(name, share)))
        threads[-1].start()
        until(partial(_longer, order, before))
    return threads


def _longer(order: Turns, before: int) -> bool:
    return len(order._waiting) > before


def test_nobody_waits_while_there_is_room() -> None:
    order = Turns(2)
    one, other = order.share("a"), order.share("b")
    assert order.share("a") is one
    for _ in range(3):
        assert order.take(one) == order.take(other) == 0.0
        order.give(one, 0.0)
        order.give(other, 0.0)
    assert len(order._free) == 2
    assert one.used == 0.0


def test_whoever_has_had_less_is_next_and_then_who_came_first() -> None:
    order = Turns(1)
    shares = {name: order.share(name) for name in "abc"}
    first = order.share("x")
    shares["a"].used = 3.0
    order.take(first)
    went: list[str] = []
    wanted = [("a", "a1"), ("b", "b1"), ("c", "c1"), ("b", "b2")]
    threads = queue_up(order, [(name, shares[client]) for client, name in wanted], went)
    order.give(first, 0.0)
    for thread in threads:
        thread.join(20)
    assert went == ["b1", "c1", "b2", "a1"]
    assert len(order._free) == 1


def test_whoever_was_away_has_saved_up_nothing() -> None:
    order = Turns(1)
    busy, late, first = order.share("busy"), order.share("late"), order.share("x")
    busy.used = 100.0
    order.take(first)
    threads = queue_up(order, [("busy", busy)], [])
    order.give(first, 0.0)
    threads[0].join(20)
    order.take(first)
    for thread in queue_up(order, [("late", late)], []):
        order.give(first, 0.0)
        thread.join(20)
    assert late.used >= 100.0


def test_a_turn_that_does_not_end_keeps_nobody_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.05)
    order = Turns(1)
    stuck, other = order.share("stuck"), order.share("other")
    order.take(stuck)
    began = Call(lambda: order.take(other)).result()
    order.give(other, began)
    order.give(stuck, 0.0)
    assert len(order._free) == 1
    order.take(other)  # the place in the queue that it gave up is passed over
    order.give(other, 0.0)
    assert (len(order._free), order._waiting) == (1, [])


def test_turns_of_many_threads_are_even() -> None:
    order = Turns(2)
    shares = [order.share(str(i)) for i in range(12)]
    counts = [0] * len(shares)
    end = time.monotonic() + 2

    def run(i: int) -> None:
        while time.monotonic() < end:
            began = order.take(shares[i])
            sum(range(3000))
            counts[i] += 1
            order.give(shares[i], began)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(shares))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(order._free), order._waiting) == (2, [])
    assert max(counts) < 2 * min(counts)
