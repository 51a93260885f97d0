"""Scopes that are given tensors, inside of functions that capture from the graph around them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tensorfleet as tf


def elements(dataset: Any) -> list[Any]:
    iterator = dataset.make_initializable_iterator()
    following, found = iterator.get_next(), []
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        session.run(iterator.initializer)
        while True:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                return found


def test_name_scope_of_captured_values() -> None:
    with tf.Graph().as_default():
        outer = tf.constant(5, tf.int64)

        def add(x: Any) -> Any:
            with tf.name_scope(None, "sum", [outer, x]) as scope:
                assert scope == "sum/"
                return outer + x

        def only_outer(x: Any) -> Any:
            with tf.name_scope(None, "twice", [outer]):
                return outer * 2 * x

        assert elements(tf.data.Dataset.range(3).map(add).map(only_outer)) == [50, 60, 70]


def test_variable_scope_of_captured_values() -> None:
    with tf.Graph().as_default():
        outer = tf.constant(5, tf.int64)

        def add(x: Any) -> Any:
            with tf.variable_scope(None, "sum", [x, outer]):
                return tf.add(outer, x, name="added")

        assert elements(tf.data.Dataset.range(2).map(add)) == [5, 6]


def test_a_table_of_the_graph_around() -> None:
    with tf.Graph().as_default():
        table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], default_value=7)
        words = tf.data.Dataset.from_tensor_slices([["b", "c"], ["a", "a"]])
        assert [e.tolist() for e in elements(words.map(table.lookup))] == [[1, 7], [0, 0]]


def test_graphs_are_left_from_the_inside() -> None:
    def leave() -> None:
        outer, inner = tf.Graph().as_default(), tf.Graph().as_default()
        outer.__enter__()
        inner.__enter__()
        with pytest.raises(AssertionError, match="Nesting violated"):
            outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)

    # Each thread has default graphs of its own, and this one's are out of order afterwards.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(leave).result(60)
