"""Queues as programs use them."""

from __future__ import annotations

import pytest

import tensorfleet as tf

pytest.importorskip("tensorfleet_service")


def test_a_queue_is_chosen_when_the_step_runs() -> None:
    with tf.Graph().as_default():
        index = tf.placeholder(tf.int32, [])
        queues = [tf.FIFOQueue(10, tf.int32, shapes=[[]]) for _ in range(3)]
        chosen = tf.QueueBase.from_list(index, queues)
        fill = [queue.enqueue(10 * i) for i, queue in enumerate(queues)]
        more, first, size = chosen.enqueue(7), chosen.dequeue(), chosen.size()
        with tf.Session() as session:
            session.run(fill)
            assert [session.run(first, {index: i}) for i in (2, 0, 1)] == [20, 0, 10]
            session.run(more, {index: 1})
            assert [session.run(size, {index: i}) for i in range(3)] == [0, 1, 0]
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices = 3 is not in \[0, 3\)"):
                session.run(size, {index: 3})


def test_what_queues_of_a_list_have_in_common() -> None:
    with tf.Graph().as_default():
        queues = [tf.FIFOQueue(10, tf.int32, shapes=[s]) for s in ([2, 3], [2, 4])]
        assert tf.QueueBase.from_list(0, queues).shapes[0].as_list() == [2, None]
        with pytest.raises(TypeError, match="matching component dtypes"):
            tf.QueueBase.from_list(0, [queues[0], tf.FIFOQueue(10, tf.float32)])
        with pytest.raises(TypeError, match="A list of queues expected"):
            tf.QueueBase.from_list(0, [])


@pytest.mark.parametrize(
    ("least", "message"),
    [(-1, "min_after_dequeue -1 must be >= 0"), (5, "min_after_dequeue 5 must be < capacity 5")],
)
def test_a_shuffling_queue_holds_more_than_it_keeps(least: int, message: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        size = tf.RandomShuffleQueue(5, least, tf.float32).size()
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(size)
