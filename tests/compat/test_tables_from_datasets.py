"""Datasets that fill tables, end with a mask or go into files, beside TensorFlow's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()

Make = Callable[[Any], Any]


def outcome(function: Callable[[], Any]) -> Any:
    """What a function returns, or the type of its exception."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__


def same(function: Make) -> Any:
    """What a function gives with both libraries, in graphs of their own, which is the same."""

    def run(tf: Any) -> Any:
        with tf.Graph().as_default():
            return function(tf)

    ours, theirs = (outcome(functools.partial(run, tf)) for tf in (fleet, real))
    np.testing.assert_equal(ours, theirs)
    return ours


def found(tf: Any, table: Any, keys: Any) -> Any:
    values = table.lookup(tf.constant(keys))
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(values)


def pairs(tf: Any, keys: Any = ("a", "b"), values: Any = (1, 2)) -> Any:
    return tf.data.Dataset.from_tensor_slices((list(keys), np.array(values)))


TABLES: dict[str, Make] = {
    "numbers": lambda tf: found(tf, tf.data.experimental.table_from_dataset(pairs(tf)), ["b", "c", "a"]),
    "default": lambda tf: found(
        tf,
        tf.data.experimental.table_from_dataset(pairs(tf, values=(0.5, 2.0)), default_value=7.0),
        ["b", "c"],
    ),
    "first": lambda tf: found(
        tf, tf.data.experimental.table_from_dataset(pairs(tf), vocab_size=1), ["a", "b"]
    ),
    "initializer": lambda tf: found(
        tf,
        tf.lookup.StaticHashTable(
            tf.data.experimental.DatasetInitializer(pairs(tf, np.array([4, 5]), [0.5, 0.25])), -1.0
        ),
        np.array([5, 6, 4]),
    ),
    "indices": lambda tf: found(
        tf,
        tf.data.experimental.index_table_from_dataset(tf.data.Dataset.from_tensor_slices(["x", "y"])),
        ["y", "z", "x"],
    ),
    "buckets": lambda tf: found(
        tf,
        tf.data.experimental.index_table_from_dataset(
            tf.data.Dataset.from_tensor_slices(["x", "y"]), num_oov_buckets=3
        ),
        ["y", "z", "w", "v"],
    ),
    "texts": lambda tf: found(
        tf,
        tf.data.experimental.table_from_dataset(
            tf.data.Dataset.from_tensor_slices((["a"], ["p"])), default_value="none"
        ),
        ["a", "b"],
    ),
    "too few": lambda tf: found(tf, tf.data.experimental.table_from_dataset(pairs(tf), vocab_size=3), ["a"]),
    "no pairs": lambda tf: tf.data.experimental.table_from_dataset(tf.data.Dataset.range(3)),
    "vectors": lambda tf: tf.data.experimental.DatasetInitializer(pairs(tf, values=[[1], [2]])),
    "no default": lambda tf: tf.data.experimental.table_from_dataset(
        tf.data.Dataset.from_tensor_slices((["a"], ["p"]))
    ),
    "buckets below 0": lambda tf: tf.data.experimental.table_from_dataset(pairs(tf), -1),
    "no words": lambda tf: tf.data.experimental.table_from_dataset(pairs(tf), vocab_size=0),
    "float keys": lambda tf: tf.data.experimental.table_from_dataset(pairs(tf), key_dtype=tf.float32),
    "other types": lambda tf: tf.data.experimental.DatasetInitializer(pairs(tf)).initialize(
        tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer([1], [2], tf.int64, tf.int64), -1
        )
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_a_table(case: str) -> None:
    same(TABLES[case])


def test_a_key_with_two_values() -> None:
    """TensorFlow's own ends the process here."""
    with fleet.Graph().as_default(), pytest.raises(fleet.errors.FailedPreconditionError, match="same key"):
        found(fleet, fleet.data.experimental.table_from_dataset(pairs(fleet, "aba", (1, 2, 3))), ["a"])


@pytest.mark.parametrize("size", [2, 4])
def test_padding_to_a_number_of_elements(size: int) -> None:
    def run(tf: Any) -> Any:
        parts = {"a": [1, 2], "b": [[1.0, 2.0], [3.0, 4.0]], "c": ["x", "y"]}
        padded = tf.data.Dataset.from_tensor_slices(parts).apply(
            tf.data.experimental.pad_to_cardinality(size, "ok")
        )
        element = tf.data.make_one_shot_iterator(padded.batch(size + 1)).get_next()
        with tf.Session() as session:
            return session.run(element)

    assert same(run)["ok"].tolist() == [True, True, False, False][:size]
    refused = same(lambda tf: tf.data.experimental.pad_to_cardinality(size)(tf.data.Dataset.range(3)))
    assert refused == "ValueError"


@pytest.mark.parametrize("kind", [None, "", "GZIP", "ZLIB"])
def test_records(kind: str | None, tmp_path: Path) -> None:
    def run(tf: Any) -> Any:
        path = tf.placeholder(tf.string, [])
        dataset = tf.data.Dataset.from_tensor_slices(["a", "b" * 1000, ""])
        write = tf.data.experimental.TFRecordWriter(path, kind).write(dataset)
        with tf.Session() as session:
            for name in ("once", "once"):
                session.run(write, {path: str(tmp_path / name)})
            missing = outcome(lambda: session.run(write, {path: str(tmp_path / "none" / "file")}))
        return list(real.io.tf_record_iterator(str(tmp_path / "once"), kind)), missing

    assert same(run) == ([b"a", b"b" * 1000, b""], "NotFoundError")


def written(tf: Any, dataset: Any) -> Any:
    return tf.data.experimental.TFRecordWriter("file").write(dataset)


def test_what_is_no_records() -> None:
    assert same(lambda tf: written(tf, 3)) == "TypeError"
    assert same(lambda tf: written(tf, tf.data.Dataset.range(3))) == "TypeError"
    assert same(lambda tf: written(tf, tf.data.Dataset.from_tensors(["a"]))) == "TypeError"
    with fleet.Graph().as_default(), pytest.raises(TypeError, match="scalar"):
        written(fleet, fleet.data.Dataset.from_tensors(("a",)))


def test_what_only_eager_mode_has() -> None:
    assert same(lambda tf: tf.data.Dataset.range(3).as_numpy_iterator()) == "RuntimeError"
    assert same(lambda tf: tf.data.NumpyIterator(tf.data.Dataset.range(3))) == "RuntimeError"
    assert same(lambda tf: tf.data.experimental.enable_debug_mode()) == "ValueError"


def test_the_older_name_of_a_ragged_spec() -> None:
    def run(tf: Any) -> Any:
        spec = tf.data.experimental.RaggedTensorStructure(tf.int32, [2, None, None], 2)
        return isinstance(spec, tf.RaggedTensorSpec), str(spec._shape), spec._dtype.name, spec._ragged_rank

    assert same(run)[0]
