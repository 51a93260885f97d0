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


def test_gradients_through_functions_are_refused() -> None:
    x = tf.constant([1.0, 2.0])
    squared = tf.py_function(lambda value: value * value, [x], tf.float32)
    with pytest.raises(LookupError, match="No gradient flows through"):
        tf.gradients(squared + x, x)
    np.testing.assert_array_equal(run(tf.gradients(tf.stop_gradient(squared) * x, x)[0]), [1.0, 4.0])


def test_operations_in_functions_are_refused_and_leave_the_graph_as_it_is() -> None:
    total = tf.py_function(lambda value: tf.reduce_sum(value), [[1.0, 2.0]], tf.float32)
    before = len(tf.get_default_graph().get_operations())
    with pytest.raises(tf.errors.InvalidArgumentError, match="operations are not run in it"):
        run(total)
    assert len(tf.get_default_graph().get_operations()) == before
