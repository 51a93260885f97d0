"""`tf.train.batch_join`: sets of tensors that do not go together."""

from __future__ import annotations

import pytest

import tensorfleet as tf


def test_sets_have_the_same_keys_and_as_many_shapes_as_tensors() -> None:
    with tf.Graph().as_default():
        one = tf.constant(1)
        with pytest.raises(ValueError, match="must have the same keys"):
            tf.train.batch_join([{"a": one}, {"b": one}], 2)
        with pytest.raises(ValueError, match="must have the same keys"):
            tf.train.batch_join([{"a": one}, [one]], 2)
        with pytest.raises(ValueError, match="Queue shapes must have the same length as dtypes"):
            tf.train.batch([one], 2, shapes=[[], []])
