"""Heartbeats: who is asked, who is lost, and who is not blamed."""

from __future__ import annotations

import gc
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from tensorfleet.proto.fleet_pb2 import Endpoint
from tensorfleet.wire import heartbeat
from tensorfleet.wire.heartbeat import Heart
from tests.until import until

LIMIT = 0.4
SECONDS = 20.0


class Other:
    """A connection to another process, which was heard when it was made, or is at each look."""

    def __init__(self, address: str = "other:1", lives: bool = False, incarnation: int = 7) -> None:
        self.address = address
        self.task = "/job:other"
        self.incarnation = incarnation
        self.lives = lives
        self.idle = False
        self.looks = 0
        self.lost: list[str] = []
        self._heard = time.monotonic()

    def heard(self, now: float) -> float | None:
        self.looks += 1
        if self.lives:
            self._heard = now
        return None if self.idle else self._heard

    def silent(self, why: str) -> None:
        self.lost.append(why)


class Answers:
    """The processes that answer the heart's questions, by address."""

    def __init__(self, **answers: Endpoint | str) -> None:
        self.answers = {f"{name}:1": answer for name, answer in answers.items()}
        self.asked: list[str] = []

    def __call__(self, address: str, seconds: float) -> Endpoint | str:
        assert seconds == pytest.approx(LIMIT / 4)
        self.asked.append(address)
        return self.answers[address]


def test_the_silent_are_asked_and_lost_if_they_do_not_answer() -> None:
    question = Answers(
        dead="nobody there",
        busy=Endpoint(task="/job:other", incarnation=7),
        other=Endpoint(),
        again=Endpoint(task="/job:other", incarnation=8),
        service=Endpoint(task="/job:beside", incarnation=8),
    )
    heart = Heart(LIMIT, question)
    dead, busy, other, again, service = (Other(address) for address in question.answers)
    alive, idle = Other("alive:1", lives=True), Other("idle:1")
    idle.idle = True
    watched = [dead, busy, other, again, service, alive, idle]
    for one in watched:
        heart.watch(one)
    until(lambda: dead.lost and again.lost and question.asked.count("busy:1") >= 3, SECONDS)
    heart.close()
    assert len(dead.lost) == 1
    assert "no sign of life for 0." in dead.lost[0]
    assert dead.lost[0].endswith("last error: nobody there")
    assert again.lost[0].endswith("last error: another process answers at its address: it has restarted")
    assert not any(one.lost for one in (busy, other, service, alive, idle))
    assert {"other:1", "service:1"} <= set(question.asked)  # a server of TensorFlow's, several behind a name
    assert not {"alive:1", "idle:1"} & set(question.asked)
    assert question.asked.count("dead:1") == 1  # nobody looks after it any more


def test_a_question_for_which_no_thread_could_be_started_is_asked_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, refused = threading.Thread.start, []

    def refuse_once(thread: threading.Thread) -> None:
        if "question" in thread.name and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_once)
    heart, dead = Heart(LIMIT, Answers(dead="nobody there")), Other("dead:1")
    heart.watch(dead)
    until(lambda: dead.lost, SECONDS)
    heart.close()
    assert refused


def test_the_heart_beats_later_if_no_thread_could_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    start, refused = threading.Thread.start, []

    def refuse_once(thread: threading.Thread) -> None:
        if thread.name == "heartbeat" and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_once)
    heart, first, second = Heart(LIMIT, Answers()), Other(lives=True), Other(lives=True)
    heart.watch(first)
    assert refused
    heart.watch(second)
    until(lambda: first.looks and second.looks, SECONDS)
    heart.close()


def test_a_process_that_was_stopped_itself_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """All the others are silent then, for this process has not read what they sent."""
    now = [1000.0]
    waited = threading.Semaphore(0)
    go = threading.Semaphore(0)

    clock = SimpleNamespace(
        monotonic=lambda: now[0], time=time.time, strftime=time.strftime, gmtime=time.gmtime
    )

    class Stop:
        def is_set(self) -> bool:
            return False

        def wait(self, seconds: float) -> bool:
            waited.release()
            assert go.acquire(timeout=SECONDS)
            return now[0] < 0

    monkeypatch.setattr(heartbeat, "time", clock)
    question = Answers(other="nobody there")
    heart = Heart(LIMIT, question)
    heart._stop = Stop()  # type: ignore[assignment]
    other = Other()
    other._heard = now[0]

    def tick(seconds: float) -> None:
        assert waited.acquire(timeout=SECONDS)
        now[0] += seconds
        go.release()

    heart.watch(other)
    tick(LIMIT / 10)
    tick(100.0)  # stopped
    for _ in range(6):
        tick(LIMIT / 10)
    assert waited.acquire(timeout=SECONDS)
    assert not question.asked
    waited.release()
    tick(LIMIT / 10)  # by now it had time enough
    until(lambda: question.asked, SECONDS)
    tick(-1e6)


def threads() -> set[threading.Thread]:
    return {t for t in threading.enumerate() if t.name == "heartbeat"}


@pytest.mark.parametrize("how", ["forgotten", "dropped"])
def test_the_thread_runs_while_there_is_somebody_to_look_after(how: str) -> None:
    heart = Heart(LIMIT, Answers())
    before = threads()  # of sessions of other tests
    for _ in range(2):
        other: Any = Other(lives=True)
        heart.watch(other)
        until(lambda other=other: other.looks > 2, SECONDS)
        (thread,) = threads() - before
        if how == "forgotten":
            heart.forget(other)
        else:
            del other
            gc.collect()
        until(lambda thread=thread: not thread.is_alive(), SECONDS)


def test_no_limit() -> None:
    heart = Heart(0, Answers())
    before = threads()
    heart.watch(Other())
    assert threads() <= before


def test_the_limit_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(heartbeat.VARIABLE, raising=False)
    assert heartbeat.limit() == 10
    monkeypatch.setenv(heartbeat.VARIABLE, "2.5")
    assert heartbeat.limit() == 2.5
    assert heartbeat.own() is heartbeat.own()
    assert heartbeat.own().seconds == 2.5


def test_a_fault_in_one_look_keeps_the_others_watched(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Other):
        def heard(self, now: float) -> float | None:
            raise RuntimeError("a fault of the test")

    heart = Heart(LIMIT, Answers(other="nobody there"))
    broken, other = Broken(), Other()
    heart.watch(broken)
    heart.watch(other)
    until(lambda: other.lost, SECONDS)
    heart.close()
    assert "a fault of the test" in caplog.text


def test_an_address_where_nobody_is() -> None:
    found = heartbeat.ask("127.0.0.1:1", 0.5)
    assert isinstance(found, str)
    assert "127.0.0.1:1" in found
