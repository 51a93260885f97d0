"""Loops and their gradients over several tasks: each task goes round as often as the others."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.cluster import ops
from tests.cluster.conftest import MakeCluster, Way
from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster

TIMEOUT = 20.0
TASKS = ("/job:worker/task:0", "/job:worker/task:1", "/job:ps/task:0")

On = Callable[[int], AbstractContextManager[Any]]


def body_elsewhere(x: Any, on: On) -> Any:
    def body(i: Any, a: Any) -> Any:
        with on(1):
            a = a * x
        return i + 1, a

    with on(0):
        return tf.while_loop(lambda i, a: i < 5, body, [0, x])[1]


def three_tasks(x: Any, on: On) -> Any:
    def cond(i: Any, a: Any) -> Any:
        with on(2):
            return i < 5

    def body(i: Any, a: Any) -> Any:
        with on(1):
            a = tf.sin(a * x)
        with on(2):
            a = a + tf.cos(a)
        return i + 1, a

    with on(0):
        return tf.while_loop(cond, body, [0, x])[1]


def nested(x: Any, on: On) -> Any:
    def inner(j: Any, b: Any) -> Any:
        with on(1):
            b = tf.sin(b * x)
        return j + 1, b

    def body(i: Any, a: Any) -> Any:
        with on(2):
            a = a + 1.0
        a = tf.while_loop(lambda j, b: j < i + 1, inner, [0, a])[1]
        with on(1):
            a = a * x
        return i + 1, a

    with on(0):
        return tf.while_loop(lambda i, a: i < 4, body, [0, x])[1]


def branches(x: Any, on: On) -> Any:
    def body(i: Any, a: Any) -> Any:
        def odd() -> Any:
            with on(1):
                return a * x

        def even() -> Any:
            with on(2):
                return tf.sin(a)

        return i + 1, tf.cond(i % 2 > 0, odd, even)

    with on(0):
        return tf.while_loop(lambda i, a: i < 5, body, [0, x])[1]


def on_a_branch(x: Any, on: On) -> Any:
    def no() -> Any:
        with on(1):
            return x * 2.0

    with on(0):
        return tf.cond(x > 0.0, lambda: nested(x, on), no) + tf.cond(x > 9.0, lambda: nested(x, on), no)


CASES = [body_elsewhere, three_tasks, nested, branches, on_a_branch]


def values(build: Callable[[Any, On], Any], target: str, on: On) -> list[float]:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [])
        y = build(x, on)
        fetches = [y, tf.gradients(y, x)[0], tf.gradients(y, x, colocate_gradients_with_ops=True)[0]]
        with tf.Session(target) as session:
            return [session.run(fetch, {x: value}) for fetch in fetches for value in (1.1, 0.4, 1.1)]


@pytest.mark.parametrize("build", CASES)
def test_loops_and_gradients_are_those_of_one_task(shared: Cluster, build: Any) -> None:
    expected = values(build, "", lambda task: tf.device(None))
    np.testing.assert_allclose(
        values(build, shared.target(), lambda i: tf.device(TASKS[i])), expected, rtol=1e-12
    )


def test_variables_on_a_ps_are_trained_by_a_loop_on_a_worker(shared: Cluster) -> None:
    with tf.Graph().as_default():
        with tf.device(TASKS[2]):
            w = tf.get_variable("trained_in_a_loop", initializer=tf.constant(0.5, tf.float64))
        with tf.device(TASKS[1]):
            steps = tf.constant(np.linspace(-1, 1, 7))
            y = tf.scan(lambda a, row: tf.tanh(a * w + row), steps, initializer=tf.constant(0.1, tf.float64))
            loss = tf.reduce_sum(tf.square(y))
        train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
        with tf.Session(shared.target()) as session:
            session.run(w.initializer)
            losses = [session.run([loss, train])[0] for _ in range(20)]
    assert all(later < earlier for earlier, later in itertools.pairwise(losses))


def test_many_iterations_each_with_its_tensors(shared: Cluster) -> None:
    with tf.Graph().as_default():

        def body(i: Any, total: Any) -> Any:
            with tf.device(TASKS[1]):
                square = i * i
            return i + 1, total + square

        with tf.device(TASKS[0]):
            total = tf.while_loop(lambda i, _: i < 300, body, [0, 0])[1]
        with tf.Session(shared.target()) as session:
            assert session.run(total) == sum(i * i for i in range(300))


def test_an_error_in_an_iteration_names_the_op(shared: Cluster) -> None:
    with tf.Graph().as_default():

        def body(i: Any, a: Any) -> Any:
            with tf.device(TASKS[1]):
                a = tf.check_numerics(a / tf.cast(3 - i, tf.float32), "too far", name="checked")
            return i + 1, a

        x = tf.placeholder(tf.int32, [])
        with tf.device(TASKS[0]):
            result = tf.while_loop(lambda i, _: i < x, body, [0, 1.0])[1]
        with tf.Session(shared.target()) as session:
            for _ in range(2):
                with pytest.raises(tf.errors.InvalidArgumentError, match="too far") as caught:
                    session.run(result, {x: 10})
                assert caught.value.node_def.name == "while/checked"
                assert session.run(result, {x: 3}) == pytest.approx(1 / 6)


def test_a_task_killed_in_the_middle_of_a_loop(way: Way, cluster: MakeCluster) -> None:
    tasks = cluster(way.tasks, worker=2)
    with tf.Graph().as_default():

        def body(i: Any) -> Any:
            with tf.device(TASKS[1]):
                return ops.block(i, "gate") + 1.0

        with tf.device(TASKS[1]):
            entered = ops.entered("gate")
        with tf.device(TASKS[0]):
            result = tf.while_loop(lambda i: i < 3.0, body, [tf.constant(0.0)])
        session = tf.Session(tasks.target())
        caught: list[tf.errors.OpError] = []

        def run() -> None:
            with pytest.raises(tf.errors.OpError) as error:
                session.run(result)
            caught.append(error.value)

        thread = threading.Thread(target=run)
        thread.start()
        session.run(entered)
        tasks["worker", 1].kill()
        thread.join(TIMEOUT)
        assert isinstance(caught[0], tf.errors.UnavailableError)
        assert "/job:worker/replica:0/task:1" in caught[0].message
        session.close()
