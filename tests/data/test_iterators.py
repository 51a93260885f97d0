"""Iterators in sessions: steps that wait, what runs in the background, and how it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

Dataset: Any = tf.data.Dataset
SECONDS = 20.0


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits for what comes by itself."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"{what} did not come within {SECONDS} s"
        time.sleep(0.005)


class Source:
    """A generator that tells how far it has come, and gives what it is allowed to."""

    def __init__(self, allowed: int = 10**9) -> None:
        self.made = 0
        self._allowed = threading.Semaphore(allowed) if allowed < 10**9 else None

    def allow(self, count: int = 1) -> None:
        assert self._allowed is not None
        self._allowed.release(count)

    def __call__(self) -> Iterator[int]:
        while True:
            if self._allowed is not None:
                assert self._allowed.acquire(timeout=SECONDS)
            self.made += 1
            yield self.made

    def dataset(self) -> Any:
        return Dataset.from_generator(self, tf.int64, [])


def compute_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("compute")}


def begun(dataset: Any, session: Any) -> tuple[Any, Any]:
    """An iterator at the beginning of a dataset, and its next element."""
    iterator = tf.data.make_initializable_iterator(dataset)
    following = iterator.get_next()
    session.run(iterator.initializer)
    return iterator, following


def test_prefetch_makes_so_many_ahead_and_no_more() -> None:
    source = Source()
    with tf.Session() as session:
        _, following = begun(source.dataset().prefetch(3), session)
        assert source.made == 0
        assert session.run(following) == 1
        until(lambda: source.made == 4, "a full buffer")
        assert [session.run(following) for _ in range(10)] == list(range(2, 12))
        until(lambda: source.made >= 12, "more elements")
        assert source.made <= 14


def test_parallel_calls_overlap_and_keep_the_order() -> None:
    together = threading.Barrier(3)

    def slow(x: Any) -> Any:
        together.wait(SECONDS)  # passes when three calls run at a time
        return x * 10

    with tf.Session() as session:
        dataset = Dataset.range(6).map(lambda x: tf.py_func(slow, [x], tf.int64), num_parallel_calls=3)
        _, following = begun(dataset, session)
        assert [session.run(following) for _ in range(6)] == [0, 10, 20, 30, 40, 50]


def test_the_errors_of_a_buffered_map_come_in_their_place() -> None:
    with tf.Session() as session:
        dataset = Dataset.range(4).map(lambda x: 10 // (x - 1), num_parallel_calls=2).prefetch(2)
        _, following = begun(dataset, session)
        assert session.run(following) == -10
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)division.*floordiv") as raised:
            session.run(following)
        assert raised.value.op.type == "IteratorGetNext"
        assert [session.run(following) for _ in range(2)] == [10, 5]
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                session.run(following)


@pytest.mark.parametrize("buffer", [0, 2])
def test_a_step_that_waits_can_be_given_up_and_loses_nothing(buffer: int) -> None:
    source = Source(allowed=1)
    with tf.Session() as session:
        _, following = begun(source.dataset().prefetch(buffer), session)
        assert session.run(following) == 1
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(following, options=tf.RunOptions(timeout_in_ms=100))
        source.allow(2)
        assert [session.run(following) for _ in range(2)] == [2, 3]
        source.allow(2)


@pytest.mark.parametrize("buffer", [0, 2])
def test_steps_that_wait_get_elements_in_turn(buffer: int) -> None:
    source = Source(allowed=0)
    got: list[int] = []
    with tf.Session() as session:
        _, following = begun(source.dataset().prefetch(buffer), session)
        threads = [threading.Thread(target=lambda: got.append(int(session.run(following)))) for _ in range(4)]
        for thread in threads:
            thread.start()
        source.allow(4)
        for thread in threads:
            thread.join(SECONDS)
        assert sorted(got) == [1, 2, 3, 4]
        source.allow(buffer + 1)


def test_several_elements_in_one_step() -> None:
    with tf.Session() as session:
        iterator, first = begun(Dataset.range(10).map(lambda x: x + 1), session)
        second = iterator.get_next()
        assert sorted(session.run([first, second])) == [1, 2]
        # One tensor is one element, however often it is used.
        assert session.run([first, first * 2]) == [3, 6]


@pytest.mark.parametrize("ending", ["initialize", "reset", "close"])
def test_waiting_steps_and_threads_end_with_the_iterator(ending: str) -> None:
    before = compute_threads()
    source = Source(allowed=1)
    failed: list[BaseException] = []

    def wait() -> None:
        try:
            session.run(following)
        except (tf.errors.OpError, RuntimeError) as e:
            failed.append(e)

    session = tf.Session()
    iterator, following = begun(source.dataset().map(lambda x: x, 2).prefetch(2), session)
    other = iterator.make_initializer(Dataset.range(1))
    session.run(following)
    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    if ending == "initialize":
        session.run(other)
    elif ending == "reset":
        session._transport._worker.resources.reset(["localhost"])  # type: ignore[union-attr]
    else:
        session.close()
    waiting.join(SECONDS)
    assert len(failed) == 1
    if ending != "close":
        assert isinstance(failed[0], tf.errors.CancelledError)
    if ending == "initialize":
        assert session.run(following) == 0
    if ending == "reset":
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(following)
    source.allow(20)  # lets the generator's own call return
    session.close()
    until(lambda: compute_threads() <= before, "the end of the threads")
    assert source.made <= 4


def test_threads_end_while_a_buffer_is_full() -> None:
    before = compute_threads()
    source = Source()
    with tf.Session() as session:
        _, following = begun(source.dataset().prefetch(5).map(lambda x: x, 3).prefetch(5), session)
        session.run(following)
        until(lambda: source.made > 10, "full buffers")
    until(lambda: compute_threads() <= before, "the end of the threads")


def test_sessions_share_an_iterator_by_its_name_only_on_one_task() -> None:
    iterator = tf.data.make_initializable_iterator(Dataset.range(5), shared_name="shared")
    following = iterator.get_next()
    with tf.Session() as session, tf.Session() as another:
        session.run(iterator.initializer)
        assert session.run(following) == 0
        with pytest.raises(tf.errors.FailedPreconditionError):
            another.run(following)


def test_a_fed_array_may_change_afterwards() -> None:
    fed = np.arange(4)
    given = tf.placeholder(tf.int64, [4])
    iterator = tf.data.make_initializable_iterator(Dataset.from_tensor_slices(given))
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer, {given: fed})
        fed[:] = 100
        found = [session.run(following) for _ in range(4)]
        assert found == [0, 1, 2, 3]


def test_what_is_fetched_is_the_callers() -> None:
    with tf.Session() as session:
        _, following = begun(Dataset.from_tensors(np.zeros(4)).cache().repeat(), session)
        session.run(following)
        session.run(following)[:] = 1
        np.testing.assert_array_equal(session.run(following), np.zeros(4))


def test_a_monitored_session_trains_until_the_data_ends() -> None:
    rows = np.linspace(-1, 1, 64, dtype=np.float32)
    dataset = Dataset.from_tensor_slices((rows, 3 * rows + 1)).shuffle(64, seed=1).repeat(30).batch(16)
    x, y = tf.data.make_one_shot_iterator(dataset.prefetch(1)).get_next()
    w, b = tf.get_variable("w", []), tf.get_variable("b", [])
    loss = tf.reduce_mean(tf.square(x * w + b - y))
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.3).minimize(loss, step)
    losses = []
    with tf.train.MonitoredTrainingSession() as session:
        while not session.should_stop():
            losses.append(session.run([loss, train])[0])
    assert len(losses) == 64 * 30 // 16
    assert losses[-1] < 1e-3 < losses[0]


def test_a_gradient_does_not_go_into_the_data() -> None:
    factor = tf.Variable(2.0)
    element = tf.data.make_one_shot_iterator(Dataset.from_tensors(3.0)).get_next()
    assert tf.gradients(factor * element, [element])[0] is not None
    (gradient,) = tf.gradients(factor * element, [factor])
    with tf.Session() as session:
        session.run(factor.initializer)
        assert session.run(gradient) == 3.0


def test_placement_keeps_a_pipeline_together() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.device("/cpu:1"):
        iterator = tf.data.make_initializable_iterator(Dataset.range(2).map(lambda x: x + 1))
        following = iterator.get_next()
    with tf.device("/cpu:0"):
        doubled = following * 2
    with tf.Session(config=config) as session:
        session.run(iterator.initializer)
        assert session.run(doubled) == 2


def test_a_dataset_and_its_iterator_on_different_devices_are_refused() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.device("/cpu:0"):
        dataset = Dataset.range(3)
    with tf.device("/cpu:1"):
        initializer = tf.data.Iterator.from_structure(tf.int64, []).make_initializer(dataset)
    with (
        tf.Session(config=config) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="incompatible resource devices"),
    ):
        session.run(initializer)
