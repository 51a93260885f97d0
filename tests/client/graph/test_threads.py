"""Several threads build one graph at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

THREADS = 8


@pytest.fixture
def many_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    together = threading.Barrier(THREADS)

    def begin(i: int) -> Any:
        together.wait(60)
        return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


@pytest.mark.usefixtures("many_switches")
def test_workers_that_build_their_networks() -> None:
    """As programs with asynchronous workers in threads do: own scopes, one optimizer, shared variables."""
    with tf.Graph().as_default() as graph:
        optimizer = tf.train.RMSPropOptimizer(0.01)
        shared = tf.get_variable("shared", [3, 3], initializer=tf.ones_initializer())

        def build(i: int) -> Any:
            device = f"/device:CPU:{i}"
            with graph.as_default(), tf.device(device), tf.variable_scope(f"worker{i}"):
                x = hidden = tf.placeholder(tf.float32, [None, 3])
                for k in range(3):
                    hidden = tf.layers.dense(hidden, 3, tf.nn.relu, name=f"dense{k}")
                _, looped = tf.while_loop(
                    lambda n, _: n < 3,
                    lambda n, y: (n + 1, tf.cond(n < 2, lambda: y * 2.0, lambda: y)),
                    [0, hidden],
                )
                with tf.name_scope("loss"), tf.control_dependencies([hidden]):
                    loss = tf.reduce_mean(tf.square(looped @ shared))
                own = tf.trainable_variables(f"worker{i}/")
                gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, own), 40.0)
                step = optimizer.apply_gradients(zip(gradients, own, strict=True))
                assert len(own) == 6
                assert loss.name == f"worker{i}/loss/Mean:0"
                assert loss.device == device
                assert tf.get_variable_scope().name == f"worker{i}"
            return x, step, loss

        built = at_once(build)
        names = [op.name for op in graph.get_operations()]
        assert len(set(names)) == len(names)
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(tf.global_variables_initializer())
            for x, step, loss in built:
                _, value = session.run([step, loss], {x: np.ones((2, 3))})
                assert np.isfinite(value)


def test_a_thread_starts_with_the_devices_but_not_the_names() -> None:
    with tf.Graph().as_default() as graph:
        first = tf.no_op()

        def build(_: int) -> Any:
            with graph.as_default():
                return tf.constant(1), tf.get_variable_scope()

        with (
            tf.variable_scope("outer"),
            tf.name_scope("names"),
            tf.device("/cpu:1"),
            tf.control_dependencies([first]),
        ):
            for op, scope in at_once(build):
                assert op.device == "/device:CPU:1"
                assert op.op.control_inputs == [first]
                assert "/" not in op.name
                assert scope.name == ""
            assert tf.constant(1).name == "outer/names/Const:0"


def test_all_threads_have_the_same_default_graph() -> None:
    graphs = at_once(lambda _: tf.get_default_graph())
    assert len(set(map(id, graphs))) == 1
