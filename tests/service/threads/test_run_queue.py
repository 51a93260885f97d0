"""Which thread goes on with what a step has set off."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.pool import Pool
from tensorfleet_service.threads.run_queue import INLINE_SECONDS, resume, run_queue

TIMEOUT = 20.0
SHORT = INLINE_SECONDS / 4


class Run:
    """Notes the thread on which it is resumed."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.thread: threading.Thread | None = None
        self.future = Future(lambda future: None)
        self._resumed = threading.Event()
        self._then = then

    def resume(self, source: Future, value: Future, /) -> None:
        assert source is value is self.future
        self.thread = threading.current_thread()
        self._resumed.set()
        self._then()

    def elsewhere(self) -> bool:
        assert self._resumed.wait(TIMEOUT)
        return self.thread is not threading.current_thread()


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool("test")
    yield made
    made.close()


def test_short_runs_follow_the_block(pool: Pool) -> None:
    last = Run()
    first = Run(lambda: resume(last, last.future, SHORT, pool))
    with run_queue():
        with run_queue():
            resume(first, first.future, SHORT, pool)
        assert first.thread is None  # the inner block is part of the outer one
    assert first.thread is last.thread is threading.current_thread()


def test_the_pool_goes_on_with_what_is_long_or_too_much(pool: Pool) -> None:
    long = Run()
    short = [Run() for _ in range(5)]
    with run_queue():
        resume(long, long.future, float("inf"), pool)
        assert long.elsewhere()
        for run in short:
            resume(run, run.future, SHORT, pool)
        assert [run.thread for run in short[:3]] == [None] * 3
        assert all(run.elsewhere() for run in short[3:])
    assert not any(run.elsewhere() for run in short[:3])


def test_without_a_block_the_pool_goes_on(pool: Pool) -> None:
    run = Run()
    resume(run, run.future, 0.0, pool)
    assert run.elsewhere()


def test_what_is_left_after_an_error_is_done_all_the_same(pool: Pool) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    broken, other = Run(stop), Run()

    def block() -> None:
        with run_queue():
            resume(broken, broken.future, 0.0, pool)
            resume(other, other.future, 0.0, pool)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert not broken.elsewhere()
    assert other.elsewhere()
    again = Run()
    resume(again, again.future, 0.0, pool)
    assert again.elsewhere()
