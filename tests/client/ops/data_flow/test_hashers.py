"""How tables with hash buckets hash: specs that are refused."""

from __future__ import annotations

import pytest

import tensorfleet as tf


def test_hashers_are_specs_and_keys_unsigned() -> None:
    lookup = tf.contrib.lookup
    with pytest.raises(ValueError, match="list of two integers"):
        lookup.StrongHashSpec([1])
    for key in (["a", "b"], [-1, 2]):
        with pytest.raises(TypeError, match="Must be unsigned integer values"):
            lookup.StrongHashSpec(key)
    with tf.Graph().as_default(), pytest.raises(TypeError, match="must be of type HasherSpec, got 3"):
        lookup.IdTableWithHashBuckets(None, 5, hasher_spec=3)


def test_a_vocabulary_of_small_integers_may_have_buckets() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.contrib.lookup.index_table_from_tensor([42, 1], num_oov_buckets=1, dtype=tf.int32)
        found = table.lookup(tf.constant([42, 1, 9], tf.int32))
        session.run(tf.tables_initializer())
        assert session.run(found).tolist() == [0, 1, 2]
