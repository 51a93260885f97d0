"""Sequences of features, and ids that are out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

contrib = tf.contrib.feature_column


def _run(tensors: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(tensors)


def test_sequences_side_by_side() -> None:
    words = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["b", "a", "z"], [4, 2])
    prices = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.5, 2.5, 3.5], [4, 2])
    vocabulary = contrib.sequence_categorical_column_with_vocabulary_list("word", ["a", "b"])
    columns = [contrib.sequence_numeric_column("price"), tf.feature_column.indicator_column(vocabulary)]
    made, lengths = contrib.sequence_input_layer({"word": words, "price": prices}, columns)
    values, counts = _run([made, lengths])
    assert counts.tolist() == [2, 0, 1, 0]
    assert values.tolist() == [
        [[1.5, 0.0, 1.0], [2.5, 1.0, 0.0]],
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        [[3.5, 0.0, 0.0], [0.0, 0.0, 0.0]],
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    ]
    assert made.name == "sequence_input_layer/concat:0"


def test_embedded_sequences_have_the_table_of_their_column() -> None:
    ids = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [2, 0, 1], [2, 2])
    column = contrib.sequence_categorical_column_with_identity("id", 3)
    table = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    embedded = tf.feature_column.embedding_column(column, 2, initializer=lambda *_, **__: tf.constant(table))
    made, lengths = contrib.sequence_input_layer({"id": ids}, [embedded])
    (variable,) = tf.get_collection(tf.GraphKeys.MODEL_VARIABLES)
    assert variable.name == "sequence_input_layer/id_embedding/embedding_weights:0"
    values, counts = _run([made, lengths])
    assert counts.tolist() == [1, 2]
    assert values.tolist() == [[[5.0, 6.0], [0.0, 0.0]], [[1.0, 2.0], [3.0, 4.0]]]


def test_several_ids_at_one_time_are_combined() -> None:
    ids = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [0, 1, 0]], [2, 0, 1], [1, 2, 2])
    column = tf.feature_column.indicator_column(contrib.sequence_categorical_column_with_identity("id", 3))
    values, counts = _run(contrib.sequence_input_layer({"id": ids}, [column]))
    assert values.tolist() == [[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]]
    assert counts.tolist() == [2]


@pytest.mark.parametrize(
    ("indices", "shape", "lengths"),
    [
        ([[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]], [2, 4], [2, 1]),
        ([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1]], [2, 2, 2], [2, 1]),
    ],
)
def test_sequences_of_vectors(indices: Any, shape: Any, lengths: list[int]) -> None:
    feature = tf.SparseTensor(indices, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape)
    column = contrib.sequence_numeric_column("v", shape=2, default_value=-1.0)
    values, counts = _run(contrib.sequence_input_layer({"v": feature}, [column]))
    assert counts.tolist() == lengths
    assert values.tolist() == [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [-1.0, -1.0]]]


def test_sequences_of_different_lengths_fail_in_a_step() -> None:
    features = {
        "a": tf.SparseTensor([[0, 0]], [1.0], [1, 2]),
        "b": tf.SparseTensor([[0, 0], [0, 1]], [1.0, 2.0], [1, 2]),
    }
    columns = [contrib.sequence_numeric_column(key) for key in features]
    with pytest.raises(tf.errors.InvalidArgumentError):
        _run(contrib.sequence_input_layer(features, columns))


def test_only_columns_of_sequences_make_sequences() -> None:
    with pytest.raises(ValueError, match="must be of type SequenceDenseColumn"):
        contrib.sequence_input_layer({"x": [1.0]}, [tf.feature_column.numeric_column("x")])
    column = tf.feature_column.indicator_column(tf.feature_column.categorical_column_with_identity("x", 3))
    with pytest.raises(ValueError, match="categorical_column must be of type SequenceCategoricalColumn"):
        contrib.sequence_input_layer({"x": tf.SparseTensor([[0, 0]], [1], [1, 1])}, [column])


@pytest.mark.parametrize(("value", "message"), [(3, "exceeds number of buckets"), (-2, "Negative bucket")])
def test_ids_out_of_range_fail_where_no_default_is_given(value: int, message: str) -> None:
    """As in TensorFlow 1.15; its successors no longer look."""
    column = tf.feature_column.indicator_column(tf.feature_column.categorical_column_with_identity("x", 3))
    fed = tf.placeholder(tf.int64, [None])
    made = tf.feature_column.input_layer({"x": fed}, [column])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(made, {fed: np.array([value])})


def test_equal_columns_of_two_kinds_are_told_apart() -> None:
    """Columns are tuples, of which two kinds may have the same elements."""
    ids = tf.feature_column.categorical_column_with_identity("x", 3)
    indicator = tf.feature_column.indicator_column(ids)
    inner = contrib.sequence_categorical_column_with_identity("x", 3)
    assert indicator == inner
    weighted = tf.feature_column.weighted_categorical_column(inner, "w")
    features = {"x": [[1]], "w": [[2.0]]}
    assert _run(tf.feature_column.linear_model(features, [indicator, weighted])).tolist() == [[0.0]]
