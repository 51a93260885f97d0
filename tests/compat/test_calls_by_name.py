"""Functions that TensorFlow's client calls by their names, on our servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function

from tests.compat.cluster import Cluster

tf.disable_v2_behavior()

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


def one_call() -> Any:
    @function.Defun(tf.float32, tf.float32)
    def product(x: Any, y: Any) -> Any:
        return x * y + x

    return product(tf.constant(2.0), tf.constant(3.0))


def calls_in_calls() -> Any:
    @function.Defun(tf.float32)
    def both(x: Any) -> Any:
        return x * x, x + 1.0

    @function.Defun(tf.float32)
    def outer(x: Any) -> Any:
        first, second = both(x)
        third, fourth = both(second)
        return first + fourth, third

    return outer(tf.constant([2.0, 3.0]))


def captured_variable() -> Any:
    v = tf.Variable(3.0, use_resource=True)

    @function.Defun(tf.float32)
    def scaled(x: Any) -> Any:
        return x * v

    return scaled(tf.constant(2.0)), scaled(tf.constant(5.0))


def call_with_effects() -> Any:
    v = tf.Variable(3.0, use_resource=True)

    @function.Defun(tf.float32)
    def changed(x: Any) -> Any:
        with tf.control_dependencies([v.assign_add(x)]):
            return v.read_value()

    return changed(tf.constant(2.0))


@pytest.mark.parametrize(
    "program",
    [one_call, calls_in_calls, captured_variable, call_with_effects],
    ids=lambda program: program.__name__,
)
def test_call_by_name(local: Cluster, program: Callable[[], Any]) -> None:
    """A graph that grows after its first run has the same functions again."""
    with tf.Graph().as_default() as graph:
        fetches = program()
        results = []
        for target in ("", local.target("local")):
            with tf.Session(target) as session:
                session.run(tf.global_variables_initializer())
                first = session.run(fetches)
                again = tf.reduce_sum(tf.stack(fetches))
                results.append((*np.atleast_1d(first), session.run(again)))
        assert any(op.type in graph._functions for op in graph.get_operations())
    for ours, theirs in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(ours, theirs)


# Gradients through functions: SymbolicGradient


def two_results() -> Any:
    @function.Defun(tf.float32, tf.float32)
    def f(x: Any, y: Any) -> Any:
        return tf.matmul(x, y) * 2 + x, tf.reduce_sum(x * y)

    a, b = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[5.0, 6.0], [7.0, 8.0]])
    first, second = f(a, b)
    return [*tf.gradients([first, second], [a, b]), *tf.gradients(first * 3, [a, b])]


def gradients_of_calls_in_calls() -> Any:
    @function.Defun(tf.float32)
    def inner(x: Any) -> Any:
        return tf.square(x) * 3

    @function.Defun(tf.float32)
    def outer(x: Any) -> Any:
        return inner(x) + tf.sin(inner(x))

    x = tf.constant([1.0, 2.0])
    return tf.gradients(outer(x), x)


def function_with_a_gradient_of_its_own() -> Any:
    @function.Defun(tf.float32, tf.float32)
    def gradient(x: Any, dy: Any) -> Any:
        return dy * 100 + x

    @function.Defun(tf.float32, grad_func=gradient)
    def f(x: Any) -> Any:
        return x * 2

    @function.Defun(tf.float32)
    def outer(x: Any) -> Any:
        return f(x) * 3

    x = tf.constant([1.0, 2.0])
    return [*tf.gradients(f(x), x), *tf.gradients(outer(x), x)]


def results_that_are_arguments() -> Any:
    @function.Defun(tf.float32, tf.float32)
    def f(x: Any, y: Any) -> Any:
        return x, tf.floor(y)

    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    return tf.gradients(list(f(x, y)), [x, y])


@pytest.mark.parametrize(
    "program",
    [
        two_results,
        gradients_of_calls_in_calls,
        function_with_a_gradient_of_its_own,
        results_that_are_arguments,
    ],
    ids=lambda program: program.__name__,
)
def test_gradients_through_functions(local: Cluster, program: Callable[[], Any]) -> None:
    with tf.Graph().as_default():
        fetches = program()
        results = []
        for target in ("", local.target("local")):
            with tf.Session(target) as session:
                results.append(session.run(fetches))
    for ours, theirs in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_gradient_of_a_slice_and_of_an_op_without_one(local: Cluster) -> None:
    """TensorFlow has no gradient of GatherV2 in functions; here, functions have those of graphs."""

    @function.Defun(tf.float32, tf.int32)
    def rows(x: Any, i: Any) -> Any:
        return tf.gather(x, i)

    @function.Defun(tf.float32)
    def without(x: Any) -> Any:
        return tf.raw_ops.MatrixSquareRoot(input=x)

    x, matrix = tf.constant([[1.0], [2.0], [3.0]]), tf.eye(2)
    (gathered,) = tf.gradients(rows(x, tf.constant([1, 1])), x)
    (refused,) = tf.gradients(tf.reduce_sum(without(matrix)), matrix)
    with tf.Session(local.target("local")) as session:
        np.testing.assert_array_equal(session.run(gathered), [[0], [2], [0]])
        with pytest.raises(tf.errors.NotFoundError, match="has no gradient"):
            session.run(refused)
