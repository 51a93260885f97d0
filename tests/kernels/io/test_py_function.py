"""tf.py_function: Python functions that get values with the method `numpy`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def test_values_look_like_eager_tensors() -> None:
    def function(x: Any, name: Any) -> list[Any]:
        assert isinstance(x.numpy(), np.ndarray)
        assert type(x.numpy()) is np.ndarray
        assert x.dtype == np.float32
        return [x * 2.0, x.numpy().sum(), name.numpy() + b"!"]

    doubled, total, text = tf.py_function(
        function, [tf.constant([1.0, 2.0]), tf.constant("hey")], [tf.float32, tf.float32, tf.string]
    )
    assert total.dtype is tf.float32
    results = run([doubled, total, text])
    assert [list(results[0]), *results[1:]] == [[2.0, 4.0], 3.0, b"hey!"]


def test_plain_results_take_the_dtype_that_is_asked_for() -> None:
    assert run(tf.py_function(lambda: 3, [], tf.float32)) == np.float32(3.0)
    assert run(tf.py_function(lambda: [1, 2], [], tf.int64)).dtype == np.int64
    assert run(tf.py_function(lambda x: bool(x.numpy() > 2), [3], tf.bool))
    assert run(tf.py_function(lambda: [], [], [])) is None


def test_functions_for_their_effect() -> None:
    seen: list[Any] = []
    operation = tf.py_function(lambda x: seen.append(x.numpy()), [tf.constant(5)], None)
    assert isinstance(operation, tf.Operation)
    run(operation)
    assert seen == [5]


def test_results_are_checked() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="returns 1 values, but Tout has 2"):
        run(tf.py_function(lambda: [1], [], [tf.int32, tf.int32]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="is double, but expects float"):
        run(tf.py_function(lambda: np.array([1.0]), [], tf.float32))


def test_gradients_by_the_operations_of_the_function() -> None:
    calls: list[type] = []

    def function(x: Any, y: Any, number: Any) -> list[Any]:
        calls.append(type(x))
        scale = float(x.numpy().max())  # a number, by which the gradient knows nothing of x
        return [tf.sin(x) * y + tf.to_float(number), x * x * scale, np.ones(3, np.float32)]

    x, y = tf.constant([1.0, 2.0]), tf.placeholder(tf.float32, [2])
    sines, squares, ones = tf.py_function(function, [x, y, tf.constant(3)], [tf.float32] * 3)
    sines.set_shape([2])
    total = tf.reduce_sum(sines * 2.0) + tf.reduce_sum(squares) + tf.reduce_sum(ones)
    by_x, by_y = tf.gradients(total, [x, y])
    assert by_x.shape.as_list() == [2]
    found = run([sines, squares, by_x, by_y], {y: [3.0, 4.0]})
    values = np.array([1.0, 2.0], "f")
    np.testing.assert_allclose(found[0], np.sin(values) * [3, 4] + 3, rtol=1e-6)
    np.testing.assert_allclose(found[1], values**2 * 2)
    np.testing.assert_allclose(found[2], 2 * np.cos(values) * [3, 4] + 4 * values, rtol=1e-6)
    np.testing.assert_allclose(found[3], 2 * np.sin(values), rtol=1e-6)
    assert len(calls) == 2


def test_gradients_of_what_numpy_computes_are_zero() -> None:
    x = tf.constant([1.0, 2.0])
    squared = tf.py_function(lambda value: value.numpy() ** 2, [x], tf.float32)
    np.testing.assert_array_equal(run(tf.gradients(squared + x, x)[0]), [1.0, 1.0])
    assert tf.gradients(tf.py_function(lambda n: n + 1, [tf.constant(2)], tf.int32), x) == [None]


def test_training_through_a_function() -> None:
    v = tf.get_variable("v", initializer=[3.0, -2.0])
    loss = tf.py_function(lambda value: tf.reduce_sum(tf.square(value - 1.0)), [v], tf.float32)
    step = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(12):
            session.run(step)
        np.testing.assert_allclose(session.run(v), [1.0, 1.0], atol=1e-2)


def test_operations_in_functions_leave_the_graph_as_it_is() -> None:
    total = tf.py_function(lambda value: tf.reduce_sum(value), [[1.0, 2.0]], tf.float32)
    before = len(tf.get_default_graph().get_operations())
    assert run(total) == 3.0
    assert len(tf.get_default_graph().get_operations()) == before
    outside = tf.constant(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="give it to the function as an input"):
        run(tf.py_function(lambda: outside, [], tf.float32))


def _changes(x: Any) -> Any:
    total = x
    total += x * 2.0
    total *= x
    array = x.numpy()
    array[0] = 100.0
    np.asarray(x)[1:1] = 0.0
    return total


@pytest.mark.parametrize("kind", ["constant", "reference", "resource"])
def test_a_function_changes_no_tensors(kind: str) -> None:
    """What it adds to a value is its own, as with eager tensors: inputs, gradients, later steps are right."""
    with tf.Graph().as_default():
        initial = tf.constant([1.0, 2.0])
        x = initial if kind == "constant" else tf.Variable(initial, use_resource=kind == "resource")
        y = tf.py_function(_changes, [x], tf.float32)
        (slope,) = tf.gradients(y, x)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                np.testing.assert_array_equal(session.run(y), [3.0, 12.0])
                np.testing.assert_array_equal(session.run(slope), [6.0, 12.0])
                np.testing.assert_array_equal(session.run(x), [1.0, 2.0])


def test_numpy_functions_that_fill_arrays_of_the_same_class() -> None:
    values = tf.constant([1.0, 2.0, 4.0])
    with tf.Session() as session:
        rolled = session.run(tf.py_function(lambda x: np.roll(x, 1) + np.gradient(x), [values], tf.float32))
    np.testing.assert_array_equal(rolled, [5.0, 2.5, 4.0])


@pytest.mark.parametrize("value", [b"a\0\0", b"\0", b""])
def test_single_strings_keep_their_zeros(value: bytes) -> None:
    assert run(tf.py_function(lambda x: x.numpy(), [tf.constant(value)], tf.string)) == value
    assert run(tf.py_function(lambda x: x, [tf.constant(value)], tf.string)) == value
    assert run(tf.py_function(lambda x: tf.identity(x), [tf.constant(value)], tf.string)) == value
    assert run(tf.py_function(lambda x: len(x.numpy()), [tf.constant(value)], tf.int32)) == len(value)
