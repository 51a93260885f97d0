"""Functional loops and conditionals of TensorFlow's client, with gradients, on our servers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import control_flow_util, functional_ops

from tests.compat.cluster import Cluster

tf.disable_v2_behavior()

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


def conditional() -> Any:
    x = tf.placeholder_with_default(np.float32([1, -2, 3]), [3])
    y = tf.cond(x[0] > 0, lambda: x * x, lambda: tf.exp(x))
    return [y, *tf.gradients(y, x)]


def conditional_in_a_conditional() -> Any:
    x = tf.placeholder_with_default(np.float32(2), [])
    y = tf.cond(x > 0, lambda: tf.cond(x > 1, lambda: x**3, lambda: x), lambda: -x)
    return [y, *tf.gradients(y, x)]


def case() -> Any:
    x = tf.placeholder_with_default(np.float32(2), [])
    y = tf.switch_case(tf.cast(x, tf.int32), [lambda: x, lambda: x * 2, lambda: x**4])
    return [y, *tf.gradients(y, x)]


def loop() -> Any:
    x = tf.placeholder_with_default(np.float32([1, 2]), [2])
    _, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.sin(y) * x + y), [0, x])
    return [y, *tf.gradients(y, x)]


def loop_over_a_matrix() -> Any:
    x = tf.placeholder_with_default(np.float32([[1, 0.2], [0.3, 1]]), [2, 2])
    y = tf.while_loop(lambda y: tf.reduce_sum(y) < 100, lambda y: tf.matmul(y, x) + y, [x])
    return [y, *tf.gradients(y, x)]


def loop_in_a_loop() -> Any:
    x = tf.placeholder_with_default(np.float32(1.1), [])

    def outer(i: Any, y: Any) -> Any:
        return i + 1, tf.while_loop(lambda j, z: j < 3, lambda j, z: (j + 1, z * x), [0, y])[1]

    _, y = tf.while_loop(lambda i, y: i < 4, outer, [0, x])
    first = tf.gradients(y, x)[0]
    return [y, first, *tf.gradients(first, x)]


def tensor_array() -> Any:
    x = tf.placeholder_with_default(np.float32([[1, 2], [3, 4], [5, 6]]), [3, 2])
    rows = tf.TensorArray(tf.float32, 3).unstack(x)

    def body(i: Any, state: Any, made: Any) -> Any:
        state = tf.tanh(rows.read(i) + state)
        return i + 1, state, made.write(i, state)

    made = tf.TensorArray(tf.float32, 3)
    _, last, made = tf.while_loop(lambda i, s, m: i < 3, body, [0, tf.zeros([2]), made])
    y = made.stack()
    return [y, last, *tf.gradients([y, last], x)]


def map_and_scan() -> Any:
    x = tf.placeholder_with_default(np.float32([1, 2, 3]), [3])
    y = tf.scan(lambda a, b: a * b, tf.map_fn(lambda item: item**2 + 1, x))
    return [y, *tf.gradients(y, x)]


def conditional_in_a_loop() -> Any:
    x = tf.placeholder_with_default(np.float32(0.5), [])

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x + 1, lambda: tf.exp(-y))

    _, y = tf.while_loop(lambda i, y: i < 6, body, [0, x])
    return [y, *tf.gradients(y, x)]


def variable_in_a_loop() -> Any:
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(1.0), use_resource=True)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * v + v), [0, tf.constant(2.0)])
    return [y, *tf.gradients(y, v)]


PROGRAMS: list[Callable[[], Any]] = [
    *(conditional, conditional_in_a_conditional, case, loop, loop_over_a_matrix, loop_in_a_loop),
    *(tensor_array, map_and_scan, conditional_in_a_loop, variable_in_a_loop),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("tasks", [1, 2])
def test_functional_control_flow(
    local: Cluster, monkeypatch: pytest.MonkeyPatch, program: Callable[[], Any], tasks: int
) -> None:
    """With nodes on one task, and the inputs and outputs of functions on two."""
    monkeypatch.setattr(control_flow_util, "ENABLE_CONTROL_FLOW_V2", True)
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        fetches = program()
        types = {op.type for op in graph.get_operations()}
        assert types & {"If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase"}
        assert "Merge" not in types
        # Initial values by a generator of random numbers are not the same elsewhere.
        values = tf.trainable_variables()
        results = []
        for target in ("", local.target("local")):
            if target and tasks == 2:
                _spread(graph)
            with tf.Session(target) as session:
                session.run(tf.global_variables_initializer())
                if not results:
                    kept = session.run(values)
                for variable, value in zip(values, kept, strict=True):
                    variable.load(value, session)
                results.append(session.run(fetches))
    for ours, theirs in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def _spread(graph: Any) -> None:
    """Puts what programs begin with on the second task."""
    for op in graph.get_operations():
        if op.type in ("Const", "PlaceholderWithDefault") and op.outputs[0].dtype.is_floating:
            op._set_device("/job:local/task:1")


@pytest.mark.parametrize("bounds", [(0, 5, 1), (5, 0, -2), (3, 3, 0), (0, 5, -1), (0, 5, 0)])
def test_a_for_loop(local: Cluster, bounds: tuple[int, int, int]) -> None:
    with tf.Graph().as_default():

        @function.Defun(tf.int32, tf.int32, tf.float32)
        def body(i: Any, total: Any, y: Any) -> Any:
            return total * 10 + i, y + tf.cast(i, tf.float32)

        results = functional_ops.For(*bounds, [tf.constant(7), tf.constant(0.5)], body)
        found: list[Any] = []
        for target in ("", local.target("local")):
            with tf.Session(target) as session:
                try:
                    found.append([value.tolist() for value in session.run(results)])
                except tf.errors.InvalidArgumentError as error:
                    found.append(type(error).__name__)
    assert found[0] == found[1]


@pytest.mark.parametrize("as_while", [False, True])
@pytest.mark.parametrize("target", ["", "local"])
def test_a_for_loop_that_waits(local: Cluster, target: str, as_while: bool) -> None:
    """Its body captures a queue, so TensorFlow wraps it in a function that calls it by name."""
    with tf.Graph().as_default(), tf.Session(local.target(target) if target else "") as session:
        queue = tf.FIFOQueue(10, [tf.float32], [[]])
        fill = queue.enqueue_many([[1.0, 2.0, 3.0]])

        @function.Defun(tf.int32, tf.float32)
        def body(i: Any, total: Any) -> Any:
            return total + tf.cast(i, tf.float32) * queue.dequeue()

        [total] = functional_ops.For(
            tf.constant(0),
            tf.constant(3),
            tf.constant(1),
            [tf.constant(2.0)],
            body,
            rewrite_with_while=as_while or None,
        )
        later = threading.Timer(0.1, session.run, [fill])
        later.start()
        assert session.run(total) == 10
        later.join(60)
