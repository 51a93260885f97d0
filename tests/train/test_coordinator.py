"""Threads that stop together."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable

import pytest

import tensorfleet as tf
from tests.until import SECONDS, Call, until


def started(coord: tf.train.Coordinator, target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    coord.register_thread(thread)
    thread.start()
    return thread


def test_a_request_stops_all_threads() -> None:
    coord = tf.train.Coordinator()
    turns = [0, 0]

    def work(index: int) -> None:
        while not coord.should_stop():
            turns[index] += 1

    for index in range(2):
        started(coord, lambda index=index: work(index))
    until(lambda: all(turns))
    assert not coord.should_stop()
    assert not coord.joined
    coord.request_stop()
    coord.join()
    assert coord.should_stop()
    assert coord.joined
    coord.raise_requested_exception()


def test_join_returns_when_all_threads_have_ended() -> None:
    coord = tf.train.Coordinator()
    started(coord, lambda: None)
    other = threading.Thread(target=lambda: None)
    other.start()
    begin = time.monotonic()
    coord.join([other])
    assert time.monotonic() - begin < 1
    assert not coord.should_stop()


def test_the_first_error_is_raised_by_join() -> None:
    coord = tf.train.Coordinator()

    def fail() -> None:
        with coord.stop_on_exception():
            raise KeyError("first")

    started(coord, fail)
    until(coord.should_stop)
    coord.request_stop(ValueError("second"))
    with pytest.raises(KeyError, match="first"):
        coord.raise_requested_exception()
    with pytest.raises(KeyError, match="first"):
        coord.join()


def test_an_error_may_be_given_as_an_instance_or_as_exc_info() -> None:
    for as_info in (False, True):
        coord = tf.train.Coordinator()
        try:
            raise RuntimeError("why")
        except RuntimeError as e:
            coord.request_stop(sys.exc_info() if as_info else e)
        with pytest.raises(RuntimeError, match="why"):
            coord.join()


def test_what_is_no_error_is_refused() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop("because")
    with pytest.raises(ValueError, match=r"ex must be a tuple or sys\.exc_info"):
        coord.join()


def test_clean_errors_are_not_raised() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
    assert coord.should_stop()
    coord.join()
    coord = tf.train.Coordinator(clean_stop_exception_types=(KeyError,))
    coord.request_stop(KeyError("fine"))
    coord.join()
    coord = tf.train.Coordinator(clean_stop_exception_types=())
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
    with pytest.raises(tf.errors.OutOfRangeError):
        coord.join()


def test_threads_that_do_not_stop() -> None:
    coord = tf.train.Coordinator()
    release = threading.Event()
    thread = started(coord, lambda: release.wait(SECONDS))
    coord.request_stop()
    with pytest.raises(RuntimeError, match=re.escape(f"still running: {thread.name}")):
        coord.join(stop_grace_period_secs=0.05)
    coord.clear_stop()
    coord.register_thread(thread)
    coord.request_stop()
    coord.join(stop_grace_period_secs=0.05, ignore_live_threads=True)
    assert thread.is_alive()
    release.set()
    thread.join(SECONDS)


def test_an_error_after_join_goes_to_its_thread() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop()
    coord.join()
    with pytest.raises(KeyError, match="late"):
        coord.request_stop(KeyError("late"))
    coord.clear_stop()
    assert not coord.should_stop()
    assert not coord.joined


def test_wait_for_stop() -> None:
    coord = tf.train.Coordinator()
    assert not coord.wait_for_stop(0.01)
    call = Call(lambda: coord.wait_for_stop(SECONDS))
    coord.request_stop()
    assert call.result() is True


def test_a_looper_calls_until_the_stop() -> None:
    coord = tf.train.Coordinator()
    calls = []
    fast = tf.train.LooperThread.loop(coord, None, calls.append, args=("fast",))
    timed = tf.train.LooperThread.loop(coord, 0.001, lambda key: calls.append(key), kwargs={"key": "timed"})
    assert fast.daemon
    until(lambda: calls.count("fast") > 5 and calls.count("timed") > 5)
    coord.request_stop()
    coord.join()
    assert not fast.is_alive()
    assert not timed.is_alive()


def test_a_looper_with_methods_and_an_error() -> None:
    order = []

    class Looper(tf.train.LooperThread):
        def start_loop(self) -> None:
            order.append("start")

        def run_loop(self) -> None:
            order.append("run")
            if len(order) > 3:
                raise KeyError("enough")

        def stop_loop(self) -> None:
            order.append("stop")

    coord = tf.train.Coordinator()
    Looper(coord, 0).start()
    with pytest.raises(KeyError, match="enough"):
        coord.join()
    assert order == ["start", "run", "run", "run"]


def test_wrong_arguments_of_a_looper() -> None:
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator"):
        tf.train.LooperThread(None, 1)
    with pytest.raises(ValueError, match="also pass 'target'"):
        tf.train.LooperThread(tf.train.Coordinator(), 1, args=(1,))
