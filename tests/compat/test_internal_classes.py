"""Classes of TensorFlow's internal modules that programs use, beside TensorFlow's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real
from tensorflow.python.framework import function
from tensorflow.python.ops import data_flow_ops

import tensorfleet as fleet
from tensorfleet.run import internals

real.disable_v2_behavior()
BOTH = ((fleet, internals.Defun, internals.Barrier), (real, function.Defun, data_flow_ops.Barrier))


def outcome(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:
        return type(error).__name__


def same(run: Callable[..., Any]) -> Any:
    found = []
    for each in BOTH:
        with each[0].Graph().as_default():
            found.append(run(*each))
    np.testing.assert_equal(found[0], found[1])
    return found[0]


def test_functions_and_their_gradients() -> None:
    def run(tf: Any, defun: Any, _: Any) -> Any:
        x = tf.constant([1.0, 2.0])
        v = tf.Variable(3.0, use_resource=True)

        @defun(tf.float32, tf.float32)
        def both(a: Any, b: Any) -> Any:
            return a * b, a + b

        @defun(tf.float32, tf.float32)
        def slope(a: Any, grad: Any) -> Any:
            return grad * 10.0 + a

        @defun(tf.float32, grad_func=slope)
        def square(a: Any) -> Any:
            return a * a

        @defun(tf.float32, python_grad_func=lambda op, grad: grad * 100.0 + op.inputs[0])
        def cube(a: Any) -> Any:
            return a * a * a

        @defun(tf.float32)
        def scaled(a: Any) -> Any:
            return a * v

        first, second = both(x, x + 1.0)
        fetches = [first, second, square(x), cube(x), scaled(x)]
        grads = [tf.gradients(fetch, x)[0] for fetch in fetches]
        refused = outcome(lambda: both(x)), outcome(lambda: square(tf.constant(1)))
        with tf.Session() as session:
            session.run(v.initializer)
            return session.run([fetches, grads]), refused

    assert same(run)[1] == ("ValueError", "ValueError")


@pytest.mark.parametrize(("small", "closed"), [(False, False), (True, True)])
def test_barriers(small: bool, closed: bool) -> None:
    def run(tf: Any, _: Any, barrier: Any) -> Any:
        made = barrier([tf.float32, tf.int32], shapes=[[], [2]], name="b")
        first = made.insert_many(0, ["a", "b"], [1.0, 2.0])
        second = made.insert_many(1, ["b", "a"], [[3, 4], [5, 6]])
        taken = made.take_many(3 if small else 2, allow_small_batch=small)
        sizes = made.ready_size(), made.incomplete_size()
        close = made.close()
        names = [op.name for op in (first, second, taken[0].op, sizes[0].op, close)]
        with tf.Session() as session:
            session.run(first)
            found = [session.run(sizes)]
            session.run(second)
            if closed:
                session.run(close)
            found += [session.run(sizes), session.run(taken)]
        shapes = [t.shape.as_list() for t in taken[0].op.outputs]
        return found, shapes, names, made.name, outcome(lambda: barrier(tf.float32, shapes=[[0]]))

    assert same(run)[-1] == "ValueError"


def test_tables_by_subscript() -> None:
    def run(tf: Any, *_: Any) -> Any:
        keys = tf.constant(["a", "b"])
        initializer = tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2], tf.int64))
        table = tf.lookup.StaticHashTable(initializer, -1)
        mutable = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "x")
        fetches = [table[tf.constant(["b", "c"])], mutable[tf.constant(["a"])]]
        with tf.Session() as session:
            session.run(tf.tables_initializer())
            return session.run(fetches)

    same(run)
