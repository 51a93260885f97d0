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
