"""The threads of a task, and its deadlines."""

from __future__ import annotations

import logging
import queue
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import errors
from tensorfleet_service.threads import pool as pool_module
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.threads.pool import Pool

TIMEOUT = 20.0


class Big(np.ndarray[Any, Any]):
    """An array that can be watched."""


def big() -> Any:
    return np.zeros(100, np.float32).view(Big)


class WatchedPool(Pool):
    """A pool that tells when a thread has done its work."""

    def __init__(self) -> None:
        super().__init__("test")
        self._changed = threading.Condition()

    def _wait(self, thread: Any) -> bool:
        with self._changed:
            self._changed.notify_all()
            return super()._wait(thread)

    def settled(self, count: int) -> None:
        """Waits until so many threads are idle."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._idle) == count, TIMEOUT)


@pytest.fixture
def pool() -> Iterator[WatchedPool]:
    made = WatchedPool()
    yield made
    made.close()


def test_threads_are_used_again(pool: WatchedPool) -> None:
    idents: list[int] = []
    for _ in range(20):
        pool.submit(lambda: idents.append(threading.get_ident()))
        pool.settled(1)
    assert len(idents) == 20
    assert len(set(idents)) == 1


def test_a_function_never_waits_for_a_thread(pool: WatchedPool) -> None:
    meet = threading.Barrier(20)
    ended = threading.Semaphore(0)

    def work() -> None:
        meet.wait(TIMEOUT)  # only passes when all run at once
        ended.release()

    for _ in range(20):
        pool.submit(work)
    for _ in range(20):
        assert ended.acquire(timeout=TIMEOUT)
    pool.settled(20)


def test_without_a_new_thread_work_waits_for_one(
    pool: WatchedPool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    release, done = threading.Event(), threading.Semaphore(0)
    order: list[int] = []

    def work(number: int) -> None:
        assert release.wait(TIMEOUT)
        order.append(number)
        done.release()

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(pool_module.threading, "Thread", refused)
        with pytest.raises(RuntimeError, match="start"):
            pool.submit(work, -1)  # there is nobody to wait for
    pool.submit(work, 0)
    with monkeypatch.context() as patch:
        patch.setattr(pool_module.threading, "Thread", refused)
        for number in (1, 2, 3):
            pool.submit(work, number)
    release.set()
    for _ in range(4):
        assert done.acquire(timeout=TIMEOUT)
    pool.settled(1)
    assert order == [0, 1, 2, 3]
    assert caplog.text.count("work waits for one of 1 threads") == 1


def test_what_is_new_is_refused_where_all_threads_are_busy() -> None:
    pool = Pool("test", limit=2)
    release, done = threading.Event(), threading.Semaphore(0)
    started = threading.Semaphore(0)

    def work() -> None:
        started.release()
        assert release.wait(TIMEOUT)
        done.release()

    pool.check_room()
    for _ in range(2):
        pool.submit(work)
        assert started.acquire(timeout=TIMEOUT)
    assert not pool.has_room
    with pytest.raises(errors.ResourceExhaustedError, match=r"2 threads.*TENSORFLEET_MAX_THREADS"):
        pool.check_room()
    for _ in range(5):
        pool.submit(work)  # what goes on with something has as many again
    for _ in range(2):
        assert started.acquire(timeout=TIMEOUT)
    assert pool._made == 4
    release.set()
    for _ in range(7):
        assert done.acquire(timeout=TIMEOUT)
    assert pool._made == 4
    pool.close()


def test_closing_ends_the_threads(pool: WatchedPool) -> None:
    threads: list[threading.Thread] = []
    release, started, ended = threading.Event(), threading.Event(), threading.Event()

    def busy() -> None:
        threads.append(threading.current_thread())
        started.set()
        assert release.wait(TIMEOUT)
        ended.set()

    pool.submit(busy)
    assert started.wait(TIMEOUT)
    pool.submit(lambda: threads.append(threading.current_thread()))
    pool.settled(1)
    pool.close()
    threads[1].join(TIMEOUT)
    assert not threads[1].is_alive()
    release.set()
    threads[0].join(TIMEOUT)
    assert ended.is_set()  # its work was not cut off
    assert not threads[0].is_alive()


def test_idle_threads_end_after_a_while(pool: WatchedPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", 0.01)
    threads: queue.SimpleQueue[threading.Thread] = queue.SimpleQueue()
    pool.submit(lambda: threads.put(threading.current_thread()))
    thread = threads.get(timeout=TIMEOUT)
    thread.join(TIMEOUT)
    assert not thread.is_alive()
    assert not pool._idle


def test_errors_are_logged_and_the_thread_goes_on(
    pool: WatchedPool, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise ValueError("broken")

    idents: list[int] = []
    with caplog.at_level(logging.ERROR):
        pool.submit(broken)
        pool.settled(1)
    assert "ValueError: broken" in caplog.text
    pool.submit(lambda: idents.append(threading.get_ident()))
    pool.settled(1)
    assert idents
    assert pool._made == 1


def test_the_pool_holds_nothing_of_ended_work(pool: WatchedPool) -> None:
    value = big()
    watched = weakref.ref(value)
    pool.submit(lambda given: None, value)
    del value
    pool.settled(1)
    assert watched() is None


# ------------------------------------------------------------------------------------------------ deadlines


@pytest.fixture
def deadlines() -> Iterator[Deadlines]:
    made = Deadlines()
    yield made
    made.close()


def test_deadlines_expire_in_order(deadlines: Deadlines) -> None:
    order: list[int] = []
    last = threading.Event()
    deadlines.after(0.06, last.set)
    for i in (4, 2, 0, 3, 1):
        deadlines.after(i / 100, lambda i=i: order.append(i))  # type: ignore[misc]
    assert last.wait(TIMEOUT)
    assert order == [0, 1, 2, 3, 4]


def test_a_cancelled_deadline_does_not_expire(deadlines: Deadlines) -> None:
    called: list[str] = []
    last = threading.Event()
    cancelled = deadlines.after(0.01, lambda: called.append("cancelled"))
    deadlines.after(0.01, lambda: called.append("kept"))
    cancelled.cancel()
    deadlines.after(0.02, last.set)
    assert last.wait(TIMEOUT)
    assert called == ["kept"]


def test_a_deadline_that_fails_is_logged(deadlines: Deadlines, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> None:
        raise ValueError("broken")

    last = threading.Event()
    with caplog.at_level(logging.ERROR):
        deadlines.after(0, broken)
        deadlines.after(0.01, last.set)
        assert last.wait(TIMEOUT)
    assert "ValueError: broken" in caplog.text


def test_closed_deadlines_do_not_expire(deadlines: Deadlines) -> None:
    called: list[int] = []
    deadlines.after(0.05, lambda: called.append(1))
    thread = deadlines._thread
    assert thread is not None
    deadlines.close()
    thread.join(TIMEOUT)
    assert not thread.is_alive()
    assert not called


def test_cancelled_deadlines_do_not_pile_up(deadlines: Deadlines) -> None:
    watched = []
    for _ in range(5000):
        deadline = deadlines.after(1000, lambda: None)
        deadline.cancel()
        watched.append(deadline)
    assert len(deadlines._heap) < 2500
