"""Errors of steps that did not end in time, however client and tasks are connected."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import tensorfleet as tf
from tests.cluster.conftest import MakeCluster
from tests.cluster.processes import Cluster
from tests.cluster.signals import stopped

pytestmark = pytest.mark.cluster

LIMIT = tf.ConfigProto(operation_timeout_in_ms=1000)


@pytest.fixture
def queue() -> tf.FIFOQueue:
    with tf.device("/job:ps/task:0"):
        return tf.FIFOQueue(2, [tf.float32], [[]], shared_name="letters", name="letters")


@pytest.fixture
def session(shared: Cluster) -> Iterator[tf.Session]:
    with tf.Session(shared.target(), config=LIMIT) as made:
        yield made


def late(session: tf.Session, fetch: object) -> str:
    with pytest.raises(tf.errors.DeadlineExceededError, match="did not end within 1 s") as caught:
        session.run(fetch)
    return caught.value.message


def test_an_empty_queue_and_the_tensors_that_wait_for_it(session: tf.Session, queue: tf.FIFOQueue) -> None:
    with tf.device("/job:ps/task:0"):
        taken = queue.dequeue(name="take")
    with tf.device("/job:worker/task:1"):
        doubled = tf.multiply(taken, 2.0, name="doubled")
    with tf.device("/job:worker/task:0"):
        result = doubled + 1.0
    text = late(session, result)
    assert re.search(r"/job:ps/task:0 waits: FIFOQueue 'letters' is empty \[take\]", text), text
    ps_to_1 = (
        r"/job:worker/task:1 waits for tensor take \(edge \d+\) from /job:ps/task:0 to /job:worker/task:1"
    )
    assert re.search(ps_to_1, text), text
    assert re.search(
        r"/job:worker/task:0 waits for tensor doubled \(edge \d+\) from /job:worker/task:1", text
    )


def test_a_full_queue_and_a_lacking_batch(session: tf.Session, queue: tf.FIFOQueue) -> None:
    with tf.device("/job:ps/task:0"):
        fill, size = queue.enqueue_many([[1.0, 2.0]]), queue.size()
        more, three = queue.enqueue(3.0), queue.dequeue_many(3)
    session.run(fill)
    assert "FIFOQueue 'letters' is full (2 of 2 elements)" in late(session, more)
    assert "FIFOQueue 'letters' has 2 of 3 elements wanted" in late(session, three)
    assert session.run(size) == 2
    session.run(queue.dequeue_many(2))


def test_an_accumulator(session: tf.Session) -> None:
    with tf.device("/job:ps/task:0"):
        accumulator = tf.ConditionalAccumulator(tf.float32, [], shared_name="gradients")
        mean = accumulator.take_grad(3)
    assert "the accumulator 'gradients' has 0 of 3 gradients" in late(session, mean)


def test_an_endless_loop_is_named_by_what_it_computes(session: tf.Session) -> None:
    with tf.device("/job:worker/task:1"):
        loop = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [0])
    assert re.search(r"/job:worker/task:1 computes \w+ \[while/", late(session, loop))


def test_a_task_that_is_stopped(cluster: MakeCluster) -> None:
    tasks = cluster("grpc+stream", ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        value = tf.identity(tf.placeholder_with_default(1.0, []))
    with tf.Session(tasks.target(), config=LIMIT) as session:
        session.run(value)
        with stopped(tasks["ps", 0].pid):
            assert "/job:ps/task:0 has not answered, and gives no reason" in late(session, value)


def test_a_partial_run(shared: Cluster, queue: tf.FIFOQueue) -> None:
    with tf.device("/job:ps/task:0"):
        taken = queue.dequeue(name="take")
    with tf.Session(shared.target(), config=LIMIT) as session:
        handle = session.partial_run_setup([taken], [])
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"'letters' is empty \[take\]"):
            session.partial_run(handle, taken)


def test_a_late_step_takes_no_element(shared: Cluster, queue: tf.FIFOQueue) -> None:
    with tf.device("/job:ps/task:0"):
        taken, put = queue.dequeue(), queue.enqueue(5.0)
    with tf.Session(shared.target(), config=tf.ConfigProto(operation_timeout_in_ms=100)) as session:
        for _ in range(3):
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(taken)
    with tf.Session(shared.target()) as session:
        for _ in range(3):
            session.run(put)
            assert session.run(taken) == 5.0
