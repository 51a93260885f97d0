"""tf.vectorized_map: the values of a loop over the rows, by operations over all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(5, 3, 4)).astype("f")
OTHER = RNG.normal(size=(4, 2)).astype("f")
PLACES = np.array([[0, 2], [1, 1], [2, 0], [0, 0], [1, 2]])

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "elements": lambda x, i: tf.tanh(x) * 2.0 + tf.sqrt(tf.abs(x)),
    "broadcast": lambda x, i: x[0] + x * tf.reduce_max(x) - tf.constant([1.0, 2.0, 3.0, 4.0]),
    "product": lambda x, i: tf.matmul(x, OTHER),
    "products of rows": lambda x, i: tf.matmul(x, x, transpose_b=True),
    "product from the left": lambda x, i: tf.matmul(tf.ones([2, 3]), x),
    "reductions": lambda x, i: [tf.reduce_sum(x, 0), tf.reduce_mean(x, -1, keepdims=True), tf.reduce_max(x)],
    "places": lambda x, i: [tf.argmax(x, 1), tf.cumsum(x, axis=1), tf.argmin(x, -1)],
    "shapes": lambda x, i: tf.transpose(tf.reshape(x, [2, -1, 3]), [2, 0, 1]),
    "dimensions": lambda x, i: tf.squeeze(tf.expand_dims(tf.expand_dims(x, 0), -1), [0, 3]),
    "joined": lambda x, i: tf.concat([x, tf.zeros([1, 4]), x], 0),
    "stacked": lambda x, i: tf.stack([x[0], x[1], tf.ones([4])], axis=1),
    "slices": lambda x, i: [x[1:, ::2], x[..., -1], x[:, tf.newaxis, 1:3], x[2, 3]],
    "chosen": lambda x, i: [tf.gather(x, i), tf.gather(x, [2, 0]), tf.gather(tf.constant([7, 8, 9]), i)],
    "conditions": lambda x, i: tf.where(x > 0.0, x, tf.zeros_like(x)),
    "softmax": lambda x, i: [tf.nn.softmax(x), tf.cast(x > 0.5, tf.int32), tf.nn.relu(x)],
    "not of the row": lambda x, i: [tf.constant([1.0, 2.0]), x],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_a_loop(name: str) -> None:
    def function(pair: Any) -> Any:
        return FUNCTIONS[name](*pair)

    for sizes in ([5, 3, 4], [None, 3, 4]):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            rows, places = tf.placeholder(tf.float32, sizes), tf.placeholder(tf.int64, [sizes[0], 2])
            found = tf.vectorized_map(function, (rows, places), fallback_to_while_loop=False)
            assert not any(op.type in ("While", "Enter") for op in graph.get_operations())
            types = tf.nest.map_structure(lambda x: x.dtype, found)
            expected = tf.map_fn(function, (rows, places), dtype=types)
            pairs = list(zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True))
            for ours, loop in session.run(pairs, {rows: ROWS, places: PLACES}):
                np.testing.assert_allclose(ours, loop, rtol=1e-5, atol=1e-6)


def test_gradients_and_captured_variables() -> None:
    weights = tf.get_variable("weights", initializer=OTHER, use_resource=True)
    rows = tf.constant(ROWS)
    result = tf.vectorized_map(lambda x: tf.reduce_sum(tf.matmul(x, weights) ** 2), rows, False)
    expected = tf.reduce_sum(tf.einsum("nij,jk->nik", rows, weights) ** 2, [1, 2])
    gradients = [tf.gradients(value, [rows, weights]) for value in (result, expected)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, wanted = session.run([[result, *gradients[0]], [expected, *gradients[1]]])
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_a_loop_where_an_operation_needs_one() -> None:
    def draw(x: Any) -> Any:
        return x + tf.random_uniform([4])

    with pytest.raises(ValueError, match="RandomUniform has a state"):
        tf.vectorized_map(draw, tf.constant(ROWS[:, 0]), fallback_to_while_loop=False)
    with tf.Session() as session:
        drawn = session.run(tf.vectorized_map(draw, tf.constant(ROWS[:, 0]))) - ROWS[:, 0]
        assert len({tuple(row) for row in drawn.tolist()}) == 5
        unique = tf.vectorized_map(lambda x: tf.size(tf.unique(x)[0]), tf.constant([[1, 1], [2, 3]]))
        assert session.run(unique).tolist() == [1, 2]
