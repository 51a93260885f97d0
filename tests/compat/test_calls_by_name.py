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
