"""Queues and accumulators: what they give, whom they let wait, and that nothing is lost on the way."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import dtypes, errors
from tensorfleet_service.state.accumulators import Accumulator
from tensorfleet_service.state.queues import PriorityQueue, Queue, RandomShuffleQueue
from tensorfleet_service.threads.future import Future

TIMEOUT = 20.0


def fifo(capacity: int = 3, kind: type[Queue] = Queue) -> Queue:
    return kind("q", [dtypes.int32], [()], capacity)


def elements(*values: int) -> list[tuple[Any, ...]]:
    return [(np.int32(value),) for value in values]


def numbers(taken: Any) -> list[int]:
    return [int(element[0]) for element in taken]


class Outcome:
    """The value that a future was completed with."""

    def __init__(self, future: Any) -> None:
        assert isinstance(future, Future)
        self.ended = not future.start(self._completed)
        self.future = future

    def _completed(self, future: Future) -> None:
        self.ended = True

    def result(self) -> Any:
        assert self.ended
        return self.future.result()


def test_those_who_wait_are_served_in_turn() -> None:
    queue = fifo()
    first, second = Outcome(queue.dequeue(2)), Outcome(queue.dequeue(1))
    queue.enqueue(elements(1))
    assert not first.ended
    assert not second.ended, "the second would overtake the first"
    queue.enqueue(elements(2, 3))
    assert numbers(first.result()) == [1, 2]
    assert numbers(second.result()) == [3]


def test_who_wants_more_than_fits_takes_it_bit_by_bit() -> None:
    queue = fifo(capacity=2)
    many = Outcome(queue.dequeue(5))
    assert queue.enqueue(elements(1, 2, 3, 4)) is None
    rest = queue.enqueue(elements(5, 6, 7))
    assert rest is None
    assert numbers(many.result()) == [1, 2, 3, 4, 5]
    assert queue.size == 2


def test_a_full_queue_lets_producers_wait() -> None:
    queue = fifo(capacity=2)
    waiting = Outcome(queue.enqueue(elements(1, 2, 3)))
    assert queue.size == 2
    assert numbers(queue.dequeue(1)) == [1]
    assert waiting.ended
    assert numbers(queue.dequeue(2)) == [2, 3]


def test_one_who_gives_up_gives_back_what_it_had() -> None:
    queue = fifo()
    many, one = queue.dequeue(3), Outcome(queue.dequeue(1))
    queue.enqueue(elements(1, 2))
    assert not one.ended
    assert isinstance(many, Future)
    many.cancel()
    assert numbers(one.result()) == [1]
    assert numbers(queue.dequeue(1)) == [2]


def test_a_close_waits_for_those_before_it() -> None:
    queue = fifo(capacity=1)
    queue.enqueue(elements(1))
    before, closing = Outcome(queue.enqueue(elements(2))), Outcome(queue.close(cancel_pending=False))
    after = Outcome(queue.enqueue(elements(3)))
    assert numbers(queue.dequeue(1)) == [1]
    assert before.ended
    assert closing.ended
    with pytest.raises(errors.CancelledError, match=r"FIFOQueue 'q' is closed\."):
        after.result()
    assert numbers(queue.dequeue(1)) == [2]
    with pytest.raises(errors.OutOfRangeError, match=r"requested 1, current size 0"):
        queue.dequeue(1)
    with pytest.raises(errors.CancelledError, match="already closed"):
        queue.close(cancel_pending=False)


def test_a_close_that_cancels() -> None:
    queue = fifo(capacity=1)
    queue.enqueue(elements(1))
    waiting = Outcome(queue.enqueue(elements(2)))
    queue.close(cancel_pending=True)
    with pytest.raises(errors.CancelledError, match="Enqueue operation was cancelled"):
        waiting.result()
    assert numbers(queue.dequeue(1)) == [1]


def test_a_closed_queue_ends_those_who_wait_for_too_much() -> None:
    queue = fifo()
    queue.enqueue(elements(1))
    many, few = Outcome(queue.dequeue(2)), Outcome(queue.dequeue(3, small=True))
    queue.close(cancel_pending=False)
    with pytest.raises(errors.OutOfRangeError, match=r"requested 2, current size 1"):
        many.result()
    assert numbers(few.result()) == [1]


def test_a_shuffled_queue_keeps_a_reserve_until_it_is_closed() -> None:
    queue = RandomShuffleQueue("q", [dtypes.int32], [()], 10, 2, iter(range(100)).__next__)
    queue.enqueue(elements(1, 2, 3))
    assert len(numbers(queue.dequeue(1))) == 1
    waiting = Outcome(queue.dequeue(1))
    queue.close()
    assert len(numbers(waiting.result())) == 1


def test_equal_priorities_keep_their_order() -> None:
    queue = PriorityQueue("q", [dtypes.int64, dtypes.int32], [(), ()], 10)
    queue.enqueue([(np.int64(p), np.int32(i)) for i, p in enumerate([2, 1, 2, 1])])
    assert [int(e[1]) for e in queue.dequeue(4)] == [1, 3, 0, 2]  # type: ignore[union-attr]


def test_many_producers_and_consumers_lose_and_double_nothing() -> None:
    queue = fifo(capacity=3)

    def wait(found: Any) -> Any:
        if not isinstance(found, Future):
            return found
        ended = threading.Event()
        if found.start(lambda _: ended.set()):
            assert ended.wait(TIMEOUT)
        return found.result()

    def produce(start: int) -> None:
        for i in range(start, start + 200, 4):
            wait(queue.enqueue(elements(i, i + 1, i + 2, i + 3)))

    producers = [threading.Thread(target=produce, args=(k * 200,)) for k in range(4)]
    for thread in producers:
        thread.start()
    taken: list[int] = []
    while len(taken) < 798:
        given_up = queue.dequeue(1000)  # never complete: a complete one may be past giving up
        assert isinstance(given_up, Future)
        given_up.cancel()
        taken += numbers(wait(queue.dequeue(2)))
    taken += numbers(wait(queue.dequeue(800 - len(taken))))
    for thread in producers:
        thread.join(TIMEOUT)
    assert sorted(taken) == list(range(800))


def test_an_accumulator_drops_what_is_late_and_serves_in_turn() -> None:
    accumulator = Accumulator("a", dtypes.float32, (2,), mean=True)
    first, second = Outcome(accumulator.take(2)), Outcome(accumulator.take(1))
    accumulator.apply(0, np.float32([1, 2]))
    assert not second.ended
    accumulator.apply(0, np.float32([3, 6]))
    assert accumulator.result(first.result()).tolist() == [2.0, 4.0]
    accumulator.apply(0, np.float32([100, 100]))
    assert not second.ended, "the gradient is of an earlier step"
    accumulator.apply(1, np.float32([5, 7]))
    assert accumulator.result(second.result()).tolist() == [5.0, 7.0]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_an_accumulator_leaves_the_gradients_as_they_are(count: int) -> None:
    accumulator = Accumulator("a", dtypes.float32, (2,), mean=True)
    gradients = [np.float32([i, 2 * i]) for i in range(1, count + 1)]
    kept = [gradient.copy() for gradient in gradients]
    for gradient in gradients:
        accumulator.apply(0, gradient)
    mean = accumulator.result(accumulator.take(count))
    np.testing.assert_allclose(mean, np.mean(kept, axis=0))
    np.testing.assert_array_equal(gradients, kept)


def test_an_accumulator_forgets_one_who_gives_up() -> None:
    accumulator = Accumulator("a", dtypes.float32, None, mean=False)
    gone, other = accumulator.take(3), Outcome(accumulator.take(2))
    accumulator.apply(0, np.float32(1))
    accumulator.apply(0, np.float32(2))
    assert not other.ended
    gone.cancel()
    assert accumulator.result(other.result()) == 3.0


# In sessions


def test_a_step_waits_for_another_and_a_thread_for_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
        taken, value = queue.dequeue() * 10, tf.placeholder(tf.int32, [])
        put = queue.enqueue(value)
        results: list[int] = []
        threads = [threading.Thread(target=lambda: results.append(int(session.run(taken)))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for i in range(8):
            session.run(put, {value: i})
        for thread in threads:
            thread.join(TIMEOUT)
        assert sorted(results) == [i * 10 for i in range(8)]


def test_a_step_that_failed_takes_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
        taken, put = queue.dequeue_many(2), queue.enqueue(5)
        session.run(put)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=100))
        assert session.run(queue.size()) == 1
        session.run(put)
        assert session.run(taken).tolist() == [5, 5]


def test_what_is_fed_may_change_afterwards() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(10, tf.float32, shapes=[[2]])
        value = tf.placeholder(tf.float32, [None, 2])
        fed = np.ones((3, 2), np.float32)
        session.run(queue.enqueue_many(value), {value: fed})
        fed[:] = 7
        assert session.run(queue.dequeue_many(3)).tolist() == np.ones((3, 2)).tolist()


def test_errors_name_the_node_that_waits() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(10, tf.int32, shapes=[[]], name="letters")
        taken = queue.dequeue(name="take")
        ended: list[tf.errors.OpError] = []

        def run() -> None:
            try:
                session.run(taken)
            except tf.errors.OpError as e:
                ended.append(e)

        thread = threading.Thread(target=run)
        thread.start()
        session.run(queue.close())
        thread.join(TIMEOUT)
        (error,) = ended
        assert isinstance(error, tf.errors.OutOfRangeError)
        assert error.op is taken.op
        assert (
            "_letters' is closed and has insufficient elements (requested 1, current size 0)" in error.message
        )


def test_shapes_and_types_are_checked() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
        queue = tf.FIFOQueue(3, [tf.int32, tf.int32], shapes=[[], [2]])
        one, many = queue.enqueue([a, b]), queue.enqueue_many([a, b])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"component 1\. Expected \[2\], got \[3\]"):
            session.run(one, {a: 1, b: [1, 2, 3]})
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"component 1\. Expected \[1,2\], got \[2,2\]"
        ):
            session.run(many, {a: [1], b: [[1, 2], [3, 4]]})
        shapeless = tf.FIFOQueue(3, tf.int32)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="require the components to have specified shapes"
        ):
            session.run(shapeless.dequeue_many(1))


def test_a_name_that_is_shared_is_one_queue_and_must_be_used_alike() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        first = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="shared")
        second = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="shared")
        session.run(first.enqueue(4))
        assert session.run(second.dequeue()) == 4
        other = tf.FIFOQueue(5, tf.int32, shapes=[[]], shared_name="shared")
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="has capacity 3 but requested capacity was 5"
        ):
            session.run(other.size())
        wrong = tf.PaddingFIFOQueue(3, tf.int32, [[]], shared_name="shared")
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Expected FIFOQueue, found PaddingFIFOQueueV2"
        ):
            session.run(wrong.size())


def test_the_order_of_a_seeded_queue_is_tensorflows() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.RandomShuffleQueue(10, 2, tf.int32, shapes=[[]], seed=3)
        session.run(queue.enqueue_many([[1, 2, 3, 4, 5, 6, 7]]))
        assert session.run(queue.dequeue_many(3)).tolist() == [2, 7, 1]
        assert session.run(queue.dequeue_many(2)).tolist() == [5, 3]


def test_batches_of_unequal_elements_are_padded() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], [[None], [None]])
        a, b = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.string, [None])
        session.run(queue.enqueue([a, b]), {a: [1, 2], b: ["x"]})
        session.run(queue.enqueue([a, b]), {a: [], b: ["y", "z"]})
        numbers, strings = session.run(queue.dequeue_many(2))
        assert numbers.tolist() == [[1, 2], [0, 0]]
        assert strings.tolist() == [[b"x", b""], [b"y", b"z"]]


def test_sparse_gradients_are_averaged_row_by_row() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        accumulator = tf.SparseConditionalAccumulator(tf.float32, shape=[5, 1])
        session.run(accumulator.apply_grad([1, 3], [[2.0], [4.0]], [5, 1]))
        session.run(accumulator.apply_grad([3, 4], [[6.0], [8.0]], [5, 1]))
        indices, values, shape = session.run(accumulator.take_grad(2))
        assert indices.tolist() == [1, 3, 4]
        assert values.tolist() == [[2.0], [5.0], [8.0]]
        assert shape.tolist() == [5, 1]


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (dtypes.int64, [3, -1]),
        (dtypes.bool, [True, False]),
        (dtypes.bfloat16, [0.5, 3.0]),
        (dtypes.complex64, [1j, 2.0]),
        (dtypes.string, [b"ab", b""]),
    ],
)
def test_a_batch_of_scalars_has_their_dtype(dtype: dtypes.DType, values: list[Any]) -> None:
    queue = tf.FIFOQueue(4, [dtype, tf.int32], shapes=[(), (1,)])
    put = [queue.enqueue([tf.constant(value, dtype), [i]]) for i, value in enumerate(values)]
    taken = queue.dequeue_many(2)
    with tf.Session() as session:
        for operation in put:
            session.run(operation)
        scalars, rows = session.run(taken)
    assert (scalars.dtype, scalars.shape, scalars.tolist()) == (dtype.np, (2,), values)
    assert rows.tolist() == [[0], [1]]
