"""A thread that looks for an answer before it sleeps: how long, and for whom it makes room."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tensorfleet_service.threads import spin
from tensorfleet_service.threads.spin import Spinner

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    first, second = socket.socketpair()
    with first, second:
        yield first, second


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that nobody else wants, whatever else runs on this machine, and time enough."""
    monkeypatch.setattr(spin, "LONGEST_SECONDS", 20.0)
    monkeypatch.setattr(spin, "WANTED_SECONDS", 20.0)


@pytest.mark.usefixtures("patience")
def test_an_answer_is_seen_when_it_comes(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    offers = 0

    def offer() -> None:
        nonlocal offers
        offers += 1
        if offers == 5:
            pair[1].send(b"x")

    monkeypatch.setattr(os, "sched_yield", offer)
    assert Spinner().spin(pair[0])
    assert offers == 5


@pytest.mark.usefixtures("patience")
def test_an_answer_that_is_there_and_the_end_of_the_connection(pair: Pair) -> None:
    pair[1].send(b"x")
    assert Spinner().spin(pair[0])
    pair[0].recv(1)
    pair[1].close()
    assert Spinner().spin(pair[0])


def test_no_answer(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spin, "WANTED_SECONDS", 20.0)
    monkeypatch.setattr(spin, "LONGEST_SECONDS", 0.05)
    begin = time.monotonic()
    assert not Spinner().spin(pair[0])
    assert time.monotonic() - begin >= 0.05


def test_never(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spin, "LONGEST_SECONDS", 0.0)
    pair[1].send(b"x")
    assert not Spinner().spin(pair[0])


def test_who_wants_the_core_gets_it(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spin, "LONGEST_SECONDS", 20.0)
    offers = []

    def offer() -> None:
        offers.append(1)
        time.sleep(0.001)  # another thread ran

    monkeypatch.setattr(os, "sched_yield", offer)
    spinner = Spinner()
    assert not spinner.spin(pair[0])
    assert len(offers) == 1
    for _ in range(spin.SKIPPED_SPINS):
        assert not spinner.spin(pair[0])
    assert len(offers) == 1, "nobody spins the next times"
    assert not spinner.spin(pair[0])
    assert len(offers) == 2


@pytest.mark.usefixtures("patience")
def test_a_connection_that_was_closed_meanwhile(pair: Pair) -> None:
    pair[0].close()
    assert not Spinner().spin(pair[0])


@pytest.mark.usefixtures("patience")
def test_one_thread_spins_at_a_time(pair: Pair) -> None:
    spinner = Spinner()
    offered = threading.Event()
    results = []

    def spin() -> None:
        results.append(spinner.spin(pair[0]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_yield", offered.set)
        thread = threading.Thread(target=spin)
        thread.start()
        try:
            assert offered.wait(20)
            assert not spinner.spin(pair[0])
        finally:
            pair[1].send(b"x")
            thread.join(20)
    assert results == [True]
    assert spinner.spin(pair[0])
