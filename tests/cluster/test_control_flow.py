"""Conditionals and queues over two tasks: dead values travel, and elements go to those who wait, once."""

from __future__ import annotations

import multiprocessing
import threading
import time
from typing import Any

import pytest

import tensorfleet as tf
from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster

TIMEOUT = 20.0
HERE, THERE = "/job:worker/task:0", "/job:worker/task:1"


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_on_another_task(shared: Cluster, taken: bool) -> None:
    with tf.Graph().as_default():
        x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])

        def on(device: str, factor: float) -> Any:
            with tf.device(device):
                y = tf.square(x)
            with tf.device("/job:ps/task:0"):
                return y * factor

        with tf.device(HERE):
            result = tf.cond(p, lambda: on(THERE, 10.0), lambda: on(HERE, -1.0))
        with tf.device(THERE):
            result = result + 1.0
        with tf.Session(shared.target()) as session:
            for _ in range(3):
                assert session.run(result, {x: 3.0, p: taken}) == (91.0 if taken else -8.0)


def test_a_variable_on_a_ps_is_changed_on_a_branch(shared: Cluster) -> None:
    with tf.Graph().as_default():
        p = tf.placeholder(tf.bool, [])
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(1, name="changed_on_a_branch")
        with tf.device(THERE):
            step = tf.cond(p, lambda: tf.assign_add(v, 5), lambda: tf.identity(v))
        with tf.Session(shared.target()) as session:
            session.run(v.initializer)
            assert [session.run(step, {p: taken}) for taken in (True, False, True)] == [6, 6, 11]


def test_a_loop_on_another_task(shared: Cluster) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [])
        with tf.device(THERE):
            result = tf.while_loop(lambda i: i < 10, lambda i: i + 3, [x])
        with tf.device(HERE):
            result = -result
        with tf.Session(shared.target()) as session:
            assert session.run(result, {x: 0}) == -12


def queue(name: str, device: str = "/job:ps/task:0") -> tf.FIFOQueue:
    with tf.device(device):
        return tf.FIFOQueue(10, tf.int32, shapes=[[]], shared_name=name)


def test_a_dequeue_is_served_by_another_session(shared: Cluster) -> None:
    with tf.Graph().as_default() as graph:
        q = queue("served")
        taken, value = q.dequeue(), tf.placeholder(tf.int32, [])
        put = q.enqueue(value)
        with tf.device(HERE):
            result = taken * 2
        results: list[int] = []

        def consume() -> None:
            with tf.Session(shared.target("worker", 1), graph) as session:
                results.extend(int(session.run(result)) for _ in range(5))

        threads = [threading.Thread(target=consume) for _ in range(3)]
        for thread in threads:
            thread.start()
        with tf.Session(shared.target()) as session:
            for i in range(15):
                session.run(put, {value: i})
        for thread in threads:
            thread.join(TIMEOUT)
        assert sorted(results) == [2 * i for i in range(15)]


def test_a_closed_queue_ends_those_who_wait(shared: Cluster) -> None:
    with tf.Graph().as_default() as graph:
        q = queue("closed")
        taken, close = q.dequeue(), q.close()
        ended: list[tf.errors.OpError] = []

        def consume() -> None:
            with tf.Session(shared.target("worker", 1), graph) as session:
                try:
                    session.run(taken)
                except tf.errors.OpError as e:
                    ended.append(e)

        thread = threading.Thread(target=consume)
        thread.start()
        with tf.Session(shared.target()) as session:
            session.run(close)
            thread.join(TIMEOUT)
            (error,) = ended
            assert isinstance(error, tf.errors.OutOfRangeError)
            assert (
                "'closed' is closed and has insufficient elements (requested 1, current size 0)"
                in error.message
            )
            with pytest.raises(tf.errors.CancelledError):
                session.run(q.enqueue(1))


def _wait_for_an_element(target: str, name: str, started: Any) -> None:
    with tf.Graph().as_default():
        taken = queue(name).dequeue_many(2)
        with tf.Session(target) as session:
            session.run(queue(name).size())
            started.set()
            session.run(taken)


def test_a_client_that_is_killed_loses_no_element(shared: Cluster) -> None:
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    client = context.Process(
        target=_wait_for_an_element, args=(shared.target(), "killed", started), daemon=True
    )
    with tf.Graph().as_default():
        q = queue("killed")
        put, size, both = q.enqueue(7), q.size(), q.dequeue_many(2)
        with tf.Session(shared.target("worker", 1)) as session:
            session.run(put)
            client.start()
            assert started.wait(TIMEOUT)
            # The client's step takes the first element, and waits for the second one.
            wait_for_size(session, size, 0)
            client.kill()
            client.join(TIMEOUT)
            wait_for_size(session, size, 1)
            session.run(put)
            assert session.run(both).tolist() == [7, 7]


def wait_for_size(session: tf.Session, size: tf.Tensor, expected: int) -> None:
    end = time.monotonic() + TIMEOUT
    while session.run(size) != expected:
        assert time.monotonic() < end
