"""Values that shape rules compute before any run."""

from __future__ import annotations

import tracemalloc

import pytest

import tensorfleet as tf


def test_no_value_is_computed_that_is_too_large_for_a_shape() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        tf.reshape(x, tf.pad(tf.constant([1]), [[0, 2]]))  # what is imported at the first use is not counted
        tracemalloc.start()
        try:
            y = tf.reshape(x, tf.pad(tf.constant([1]), [[0, 10**7]]))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert y.shape.ndims is None
    assert peak < 1 << 20


def test_small_values_are_computed() -> None:
    with tf.Graph().as_default():
        y = tf.reshape(tf.placeholder(tf.float32), tf.pad(tf.constant([2]), [[1, 0]], constant_values=3))
    assert y.shape.as_list() == [3, 2]


def test_equality_of_known_values() -> None:
    with tf.Graph().as_default():
        assert tf.get_static_value(tf.equal([1, 2], [1, 3])).tolist() == [True, False]
        assert not tf.get_static_value(tf.not_equal("a", "a"))
        assert tf.get_static_value(tf.equal(1, tf.placeholder(tf.int32, []))) is None


def test_rows_of_a_matrix_are_no_sizes() -> None:
    with tf.Graph().as_default():
        rows = tf.unstack(tf.constant([[0], [2]]))
        assert tf.slice(tf.zeros([3]), rows[1], [1]).shape == [1]


def test_a_slice_to_the_end_begins_within_the_tensor() -> None:
    with tf.Graph().as_default():
        assert tf.slice(tf.zeros([3]), [3], [-1]).shape == [0]
        with pytest.raises(ValueError, match="Negative dimension size"):
            tf.slice(tf.zeros([3]), [4], [-1])
